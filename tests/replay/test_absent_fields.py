"""What a record does not say is unknown: a case for each field that a record may lack (docs/causes.md)."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from rebalance_audit.replay.changes import GroupEpochBumped
from rebalance_audit.replay.describe import describe_group
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.wire.schema import record_schemas
from rebalance_audit.wire.topic_names import TopicNames
from tests.dsl import replay, replayed


def offset(field: str) -> Callable[[GroupSlot], Any]:
    """What is shown of the offset of the first partition."""
    return lambda slot: describe_group(slot, TopicNames())["offsets"]["foo"]["0"][field]  # type: ignore[index]


def group(attribute: str) -> Callable[[GroupSlot], Any]:
    """What replay keeps of the group."""
    return lambda slot: getattr(slot.group, attribute)


def member(attribute: str) -> Callable[[GroupSlot], Any]:
    """What replay keeps of member A."""
    return lambda slot: getattr(slot.group.members["A"], attribute)  # type: ignore[union-attr]


def state(slot: GroupSlot) -> str:
    """The group's state."""
    return describe_group(slot, TopicNames())["state"]  # type: ignore[index, no-any-return]


def hash_before(slot: GroupSlot) -> int | None:
    """The hash with which the group's next epoch is compared."""
    kind = {"Consumer": 3, "Share": 11}[describe_group(slot, TopicNames())["type"]]  # type: ignore[index]
    (bump,) = (
        change for change in replay(slot, f"{kind} 3 h9") if isinstance(change, GroupEpochBumped)
    )
    return bump.old_metadata_hash


def assigned_at(slot: GroupSlot) -> int:
    """The epoch at which A got partition 0: the member's own stands in for it."""
    held = slot.group.members["A"]  # type: ignore[union-attr]
    return held.assignment_epoch_of(next(iter(held.assigned)), 0)  # type: ignore[union-attr]


A: Final = "5 A; 3 2 h0; 7 A 0; 6 2 t=0; 8 A 2/0 0@-"
STREAMS: Final = "19 A; 23 1; 17 2; 21 A 0_1:0; 20 2 t=0; 22 A 2/0 STABLE 0_1:0@-"
CASES: Final[dict[tuple[str, str], tuple[str, Callable[[GroupSlot], Any], Any]]] = {
    ("OffsetCommitValue", "leaderEpoch"): ("1 foo:0 5", offset("leader_epoch"), None),
    ("OffsetCommitValue", "topicId"): ("1 foo:0 5", lambda slot: slot.offsets["foo", 0].topic_id, None),
    ("GroupMetadataValue", "currentStateTimestamp"): (
        "2 1 range A=0 state_at=-1", group("current_state_timestamp_ms"), -1,
    ),
    ("GroupMetadataValue", "groupInstanceId"): ("2 1 range A=0", member("instance_id"), None),
    ("GroupMetadataValue", "rebalanceTimeout"): (
        "2 1 range A=0 session=9000 timeout=-1", member("rebalance_timeout_ms"), 9_000,
    ),
    ("ConsumerGroupMetadataValue", "MetadataHash"): (A, hash_before, None),
    ("ConsumerGroupMemberMetadataValue", "ClassicMemberMetadata"): (
        "5 A layout=3.7", member("classic"), None,
    ),
    ("ConsumerGroupTargetAssignmentMetadataValue", "AssignmentTimestamp"): (
        A, group("records_hash"), False,
    ),
    ("ConsumerGroupCurrentMemberAssignmentValue", "State"): (
        # 3.7 has other fields that show it.
        "5 A; 3 2; 6 2; 8 A 2/0 0 waits=1 layout=3.7", member("member_state"), "UNRELEASED",
    ),
    ("ConsumerGroupCurrentMemberAssignmentValue", "AssignmentEpochs"): (A, assigned_at, 2),
    ("ShareGroupMetadataValue", "MetadataHash"): ("10 A; 11 2 h0 layout=4.0", hash_before, None),
    ("ShareGroupTargetAssignmentMetadataValue", "AssignmentTimestamp"): (
        "10 A; 11 2; 12 2 t=0", group("assignment_timestamp_ms"), 0,
    ),
    ("ShareGroupStatePartitionMetadataValue", "InitializingTopics"): (
        "10 A; 15 foo", group("members"), {"A"},
    ),
    ("StreamsGroupMetadataValue", "ValidatedTopologyEpoch"): (
        STREAMS, group("validated_topology_epoch"), None,
    ),
    ("StreamsGroupMetadataValue", "LastAssignmentConfigs"): (
        STREAMS, state, "Stable",
    ),
    ("StreamsGroupMetadataValue", "StoredDescriptionTopologyEpoch"): (
        STREAMS, group("topology_epoch"), 1,
    ),
    ("StreamsGroupMetadataValue", "FailedDescriptionTopologyEpoch"): (
        STREAMS, group("topology_epoch"), 1,
    ),
    ("StreamsGroupTargetAssignmentMetadataValue", "AssignmentTimestamp"): (
        STREAMS, group("assignment_timestamp_ms"), 0,
    ),
    ("StreamsGroupCurrentMemberAssignmentValue", "AssignmentEpochs"): (STREAMS, assigned_at, 2),
}  # fmt: skip


@pytest.mark.parametrize("field", CASES)
def test_a_missing_field_is_no_no(field: tuple[str, str]) -> None:
    """Null, or what stands in for it."""
    text, look, expected = CASES[field]
    found = look(replayed(text))
    assert (set(found) if isinstance(expected, set) else found) == expected


def test_each_field_that_may_be_missing_has_a_case() -> None:
    """Those of the schemas, in the same order as on the page."""
    assert CASES.keys() == record_schemas().absences().keys()
