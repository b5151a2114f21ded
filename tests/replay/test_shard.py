"""Many groups of one log partition."""

import pytest

from rebalance_audit.replay.changes import Position, TransactionEnded
from rebalance_audit.replay.shard import Shard
from rebalance_audit.replay.step import Policy, ReplayError
from rebalance_audit.wire.generated.messages import (
    ZERO_UUID,
    OffsetCommitKey,
    OffsetCommitValue,
    RecordType,
)
from rebalance_audit.wire.records import Record
from tests.dsl import picture, records


def feed(shard: Shard, group_id: str, text: str, producer_id: int = -1) -> None:
    """Apply records of a group at the next offsets of the partition."""
    for record in records(text):
        last = max((slot.last_log_offset for slot in shard.slots()), default=-1)
        key = type(record.key)(group_id, *record.key[1:])
        position = Position(3, last + 1, 1000, producer_id=producer_id)
        slot, _ = shard.apply(record._replace(key=key), position)
        assert slot.group_id == group_id


def test_each_group_is_brought_forward_by_its_own_records() -> None:
    """A partition mixes the records of its groups; removed groups are no longer listed."""
    shard = Shard(3)
    feed(shard, "one", "5 A; 3 2")
    feed(shard, "two", "2 1 range B=0")
    feed(shard, "gone", "2 1 range C=0; 2t")
    feed(shard, "one", "7 A 0; 6 2; 8 A 2/0 STABLE 0")
    feed(shard, "three", "1 foo:0 5")
    assert {slot.group_id: picture(slot) for slot in shard.groups()} == {
        "one": "Consumer Stable 2/2 | A 2/0 STABLE 0",
        "two": "Classic Stable 1 | B 0",
        "three": "Classic Empty 0",
    }
    assert shard.slot("gone") is not None
    assert shard.slot("never") is None


def test_a_marker_ends_the_transaction_in_every_group_it_touched() -> None:
    """Transactions belong to a producer, not to a group: one marker reaches all its commits in the partition."""
    shard = Shard(3)
    feed(shard, "one", "1 foo:0 5", producer_id=7)
    feed(shard, "two", "1 foo:0 6; 1 foo:1 7", producer_id=7)
    feed(shard, "other", "1 foo:0 8", producer_id=8)
    feed(shard, "two", "5 A")
    ended = shard.apply_transaction_marker(7, True, Position(3, 20, 2000))
    assert [
        (slot.group_id, change.offsets)
        for slot, changes in ended
        for change in changes
        if isinstance(change, TransactionEnded)
    ] == [("one", 1), ("two", 2)]
    pending = {slot.group_id: sorted(slot.pending_offsets) for slot in shard.slots()}
    assert pending == {"one": [], "two": [], "other": [8]}
    assert shard.apply_transaction_marker(7, True, Position(3, 21, 2000)) == []


def test_the_policy_holds_for_every_group() -> None:
    """A strict shard refuses, a lenient one goes on."""
    feed(Shard(3), "one", "5t A")
    with pytest.raises(
        ReplayError, match="group 'one': CONSUMER_GROUP_MEMBER_METADATA tombstone at partition 3"
    ):
        feed(Shard(3, Policy.STRICT), "one", "5t A")


@pytest.mark.parametrize(
    "before", ["", "1 foo:0 5", "3 2; 5 A", "2 1 range C=0", "1 foo:1 9; 1t foo:1"]
)
def test_commits_of_one_request_are_applied_at_once_as_they_would_be_one_by_one(
    before: str,
) -> None:
    """Also where they make the group, or repeat a partition; state, changes and positions are the same."""
    commits = [
        (OffsetCommitKey("g", topic, number), OffsetCommitValue(offset, "m", 7, 2, -1, topic_id))
        for topic, number, offset, topic_id in (
            ("foo", 0, 5, ZERO_UUID),
            ("foo", 1, 6, bytes(range(16))),
            ("foo", 0, 9, ZERO_UUID),
        )
    ]
    at_once, one_by_one = Shard(3), Shard(3)
    for shard in (at_once, one_by_one):
        if before:
            feed(shard, "g", before)
    first = Position(3, 40, 1234, 5)
    slot, changes = at_once.apply_commits(commits, first)
    found = []
    for place, (key, value) in enumerate(commits):
        record = Record(RecordType.OFFSET_COMMIT, key, value, 4)
        found += one_by_one.apply(record, first._replace(log_offset=40 + place))[1]
    assert changes == found
    assert slot == one_by_one.slot("g")


def test_commits_that_the_log_held_before_are_refused_at_once_too() -> None:
    """A strict shard refuses to go back in the log."""
    shard = Shard(3, Policy.STRICT)
    feed(shard, "g", "1 foo:0 5; 1 foo:1 5")
    commit = (OffsetCommitKey("g", "foo", 0), OffsetCommitValue(1, "", 2))
    with pytest.raises(ReplayError, match="was applied before"):
        shard.apply_commits([commit], Position(3, 1, 1))
