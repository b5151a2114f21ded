"""A real broker loads real logs, and its admin interface shows what `state` shows."""

from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.anonymise.log import anonymise_log
from rebalance_audit.replay.describe import describe_group
from rebalance_audit.replay.shard import Shard
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.broker import running_broker
from tests.support.broker_groups import as_admin_shows, described_groups
from tests.support.log_entries import apply_entry, entries_of
from tests.wire.golden import capture

pytestmark = pytest.mark.broker


@pytest.mark.parametrize(
    ("name", "group_count"),
    [("classic-static", 2), ("consumer-protocol", 7), ("migration", 4)],
)
def test_a_broker_shows_of_a_log_what_state_shows(
    name: str, group_count: int, tmp_path: Path
) -> None:
    """Groups, states, epochs, assignors, members, current and target assignments, offsets."""
    segments = capture(name).segments
    expected = replayed_groups(segments)
    assert len(expected) == group_count
    with running_broker(tmp_path / "broker", placed=segments) as broker:
        described = described_groups(broker, [group["group_id"] for group in expected])
    assert described == [as_admin_shows(group) for group in expected]


@pytest.mark.parametrize("name", ["classic-static", "consumer-protocol", "migration"])
def test_a_broker_loads_a_log_with_pseudonyms(name: str, tmp_path: Path) -> None:
    """It finds every group where its pseudonym hashes to, with all that the records say."""
    segments = tmp_path / "anonymised"
    anonymise_log(capture(name).segments, segments, bytes(range(32)))
    expected = replayed_groups(segments)
    ids = {group["group_id"] for group in expected}
    originals = {group["group_id"] for group in replayed_groups(capture(name).segments)}
    assert len(ids) == len(originals)
    assert not ids & originals
    with running_broker(tmp_path / "broker", placed=segments) as broker:
        described = described_groups(broker, ids)
    assert described == [as_admin_shows(group) for group in expected]


def replayed_groups(segments: Path) -> list[dict[str, Any]]:
    """The groups of a log by id, as the state machine describes them."""
    names = read_topic_names(open_log_folder(segments))
    shards: dict[int, Shard] = {}
    for entry in entries_of(segments):
        apply_entry(shards.setdefault(entry.log_partition, Shard(entry.log_partition)), entry)
    slots = [slot for shard in shards.values() for slot in shard.groups()]
    described = [describe_group(slot, names) for slot in slots]
    return sorted((group for group in described if group), key=lambda group: group["group_id"])
