"""What the reducer says of offset commits, beside what an audit without Spark says of the same log."""

from typing import Any

import pytest

import rebalance_audit as ra
from rebalance_audit.audit.rows import GROUP_HOURS, PROGRESS
from rebalance_audit.lake.gold.group_memory import ReducerOptions
from rebalance_audit.lake.gold.reducer import reduced
from rebalance_audit.lake.records.commit_packs import pack_commits
from rebalance_audit.local.survey import survey
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.lake.gold.test_reducer_commits import batch_of, log_of, rows_of
from tests.support.stream_rows import unpacked_stream
from tests.wire.golden import capture

Key = tuple[Any, ...]


@pytest.mark.parametrize("name", ["broker-4.4", "classic-cooperative", "consumer-protocol"])
def test_hours_and_minutes_of_commits_are_those_of_an_audit_without_spark(name: str) -> None:
    """Row for row and column for column, with the rows of offsets that were deleted."""
    counted, names = survey(open_log_folder(capture(name).segments))
    options = ReducerOptions(
        names,
        log_end_ms=counted.last_ms,
        whole=frozenset(number for number in counted.ends if counted.is_whole(number)),
        holes={number: end.holes for number, end in counted.ends.items()},
    )
    records, commits = log_of(name)
    packs = rows_of(pack_commits([batch_of(commits)]))
    given = batch_of(sorted(records + packs, key=lambda row: (row[1], row[0], row[2])))
    audit = ra.audit_segments(capture(name).segments, with_progress=True)
    found: dict[str, dict[Key, dict[str, Any]]] = {GROUP_HOURS: {}, PROGRESS: {}}
    for table, _, rows in unpacked_stream(reduced([given], options)):
        for row in rows.to_pylist() if table in found else ():
            row["cluster"] = "default"
            found[table][key_of(row)] = row
    for table, of_table in found.items():
        assert of_table == {key_of(row): row for row in audit.table(f"gold.{table}")}
        assert sum(row["commits"] for row in of_table.values()) > 200


def key_of(row: dict[str, Any]) -> Key:
    """Of a row of either table."""
    return (
        row["group_id"],
        row.get("hour"),
        *(row.get(name) for name in ("topic", "topic_partition", "minute")),
    )
