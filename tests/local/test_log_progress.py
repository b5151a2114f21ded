"""gold.progress of a log without Spark, beside what the replay of the same log reports."""

import json

import pytest

import rebalance_audit as ra
from rebalance_audit.local import log_progress
from rebalance_audit.replay.changes import OffsetCommitted
from rebalance_audit.replay.shard import Shard
from tests.cli.call import call, segments
from tests.support.log_entries import PositionedMarker, decoded, entries_of, position_of

MINUTE_MS = 60_000
Minute = tuple[str, str, int, int, int]
"""Group, topic, partition, minute since 1970 and log partition."""


def replayed(name: str) -> dict[Minute, int]:
    """The committed offset at the end of each minute in which one began to count."""
    shards: dict[int, Shard] = {}
    found = {}
    for entry in entries_of(segments(name)):
        shard = shards.setdefault(entry.log_partition, Shard(entry.log_partition))
        position = position_of(entry)
        if isinstance(entry, PositionedMarker):
            ended = shard.apply_transaction_marker(entry.producer_id, entry.committed, position)
        else:
            ended = [shard.apply(decoded(entry), position)]
        for slot, changes in ended:
            for change in changes:
                if isinstance(change, OffsetCommitted):
                    minute = position.record_timestamp_ms // MINUTE_MS
                    place = str(change.topic), change.topic_partition, minute, entry.log_partition
                    found[slot.group_id, *place] = change.committed_offset
    return found


@pytest.mark.parametrize("name", ["offsets", "classic-cooperative", "consumer-protocol"])
@pytest.mark.parametrize("held", [1, log_progress.REDUCED_FROM])
def test_the_last_commit_of_each_minute_is_that_of_the_replay(
    name: str, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain commits and those of transactions, committed or aborted; however few commits are held."""
    monkeypatch.setattr(log_progress, "REDUCED_FROM", held)
    rows = [*ra.audit_segments(segments(name), with_progress=True).table("gold.progress")]
    key = ("group_id", "topic", "topic_partition", "minute", "log_partition")
    keys = [tuple(row[column] for column in key) for row in rows]
    assert keys == sorted(keys)
    found = {
        (*where, int(minute.timestamp()) // 60, log_partition): row["committed_offset"]
        for (*where, minute, log_partition), row in zip(keys, rows, strict=True)
        if row["commits"]
    }
    assert found == replayed(name)
    assert sum(row["commits"] for row in rows) > len(rows) / 2


def test_the_table_is_printed_for_whoever_names_it() -> None:
    """Of the groups that are asked for; without its name nothing is read again."""
    printed = json.loads(call("inspect", segments("failover"), "--json", "--table", "progress").out)
    groups = {row["group_id"] for row in printed["progress"]}
    chosen = ("inspect", segments("failover"), "--json", "--group", min(groups))
    few = json.loads(call(*chosen, "--table", "progress", "--limit", "3").out)
    assert (
        few["progress"]
        == [row for row in printed["progress"] if row["group_id"] == min(groups)][:3]
    )
    assert len(groups) > 1
    assert "progress" not in json.loads(call(*chosen).out)
