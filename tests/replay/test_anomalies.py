"""Records out of place: what the lenient policy makes of each kind, and that the strict one refuses it."""

import copy
import re

import pytest

from rebalance_audit.replay.changes import Anomaly, AnomalyKind, Position
from rebalance_audit.replay.groups import GroupSlot, ModernGroup
from rebalance_audit.replay.playback import apply, apply_transaction_marker
from rebalance_audit.replay.step import Policy, ReplayError
from rebalance_audit.wire.generated.messages import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentTopicPartitions,
    ConsumerGroupCurrentMemberAssignmentValue,
    RecordType,
)
from rebalance_audit.wire.records import Record
from tests.dsl import (
    GROUP_ID,
    TOPIC_IDS,
    anomalies,
    picture,
    records,
    replay,
    replayed,
)

ONE = "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 STABLE 0-5"
ONE_STABLE = "Consumer Stable 2/2 | A 2/0 STABLE 0-5"
CLASSIC = "2 3 range A=0-2"

CASES = [
    # kind, log before, record out of place, state after it (lenient)
    ("wrong_group_type", CLASSIC, "5 B", "Consumer Stable 0/0 | B 0/-1 STABLE -"),
    ("wrong_group_type", CLASSIC, "3 4", "Consumer Empty 4/0"),
    ("wrong_group_type", CLASSIC, "10 B", "Classic Stable 3 | A 0-2"),
    ("wrong_group_type", CLASSIC, "17 4", "Streams Empty 4/0"),
    ("wrong_group_type", CLASSIC, "11t", "Classic Stable 3 | A 0-2"),
    ("wrong_group_type", ONE, "10 B", ONE_STABLE),
    ("wrong_group_type", ONE, "17 3", ONE_STABLE),
    ("wrong_group_type", ONE, "22 A 3/2 STABLE 0", ONE_STABLE),
    ("wrong_group_type", ONE, "23t", ONE_STABLE),
    ("wrong_group_type", "1 foo:0 5", "10 A", "Classic Empty 0"),
    ("wrong_group_type", "1 foo:0 5", "11t", "Classic Empty 0"),
    ("group_not_empty", ONE, "3t", ONE_STABLE),
    ("group_not_empty", "3 2; 7 A 0; 6 2", "3t", "Consumer Empty 2/2"),
    ("group_not_empty", "3 2; 6 2", "3t", "Consumer Empty 2/2"),
    ("group_not_empty", "3 2", "3t", "Consumer Empty 2/0"),
    ("group_not_empty", "10 A; 11 2; 12 2", "11t", "Share Stable 2/2 | A 0/-1 STABLE -"),
    ("group_not_empty", "17 2; 20 2", "17t", "Streams Empty 2/2"),
    ("member_not_released", ONE, "5t A", ONE_STABLE),
    ("member_not_released", "5 A", "5t A", "Consumer Stable 0/0 | A 0/-1 STABLE -"),
    (
        "member_not_released",
        ONE + "; 8t A",
        "5t A",
        "Consumer Reconciling 2/2 | A -1/-1 STABLE - wants 0-5",
    ),
    ("targets_remain", ONE, "6t", ONE_STABLE),
    ("tombstone_of_unknown", "", "2t", "gone"),
    ("tombstone_of_unknown", "", "3t", "gone"),
    ("tombstone_of_unknown", "", "4t", "gone"),
    ("tombstone_of_unknown", "", "5t A", "gone"),
    ("tombstone_of_unknown", "", "6t", "gone"),
    ("tombstone_of_unknown", "", "7t A", "gone"),
    ("tombstone_of_unknown", "", "8t A", "gone"),
    ("tombstone_of_unknown", "", "15t", "gone"),
    ("tombstone_of_unknown", "", "16t fo.*", "gone"),
    ("tombstone_of_unknown", "", "17t", "gone"),
    ("tombstone_of_unknown", ONE, "5t B", ONE_STABLE),
    ("tombstone_of_unknown", ONE, "8t B", ONE_STABLE),
    (
        "partition_owned_twice",
        ONE + "; 5 B",
        "8 B 2/0 STABLE 5",
        "Consumer Stable 2/2 | A 2/0 STABLE 0-5 | B 2/0 STABLE 5 wants -",
    ),
    (
        "partition_owned_twice",
        "3 3; 6 3; 5 A; 5 B; 8 A 3/2 UNREVOKED -|0-5",
        "8 B 2/0 STABLE 5",
        (
            "Consumer Reconciling 3/3 | A 3/2 UNREVOKED - gives up 0-5 wants -"
            " | B 2/0 STABLE 5 wants -"
        ),
    ),
    (
        "partition_owned_twice",
        ONE + "; 5 B",
        "8 B 2/0 UNREVOKED -|5",
        "Consumer Reconciling 2/2 | A 2/0 STABLE 0-5 | B 2/0 UNREVOKED - gives up 5 wants -",
    ),
    (
        "partition_owned_twice",
        "5 A; 5 B; 3 3; 6 3; 8 A 2/0 STABLE 0-1; 8 B 3/0 STABLE 1",
        "8 A 3/2 STABLE 0-1",
        "Consumer Stable 3/3 | A 3/2 STABLE 0-1 wants - | B 3/0 STABLE 1 wants -",
    ),
    ("epoch_went_back", ONE, "3 1", "Consumer Stable 1/2 | A 2/0 STABLE 0-5"),
    ("epoch_went_back", ONE, "6 1", "Consumer Assigning 2/1 | A 2/0 STABLE 0-5"),
    ("epoch_went_back", CLASSIC, "2 2 range B=0", "Classic Stable 2 | B 0"),
    ("epoch_skipped", ONE, "3 4", "Consumer Assigning 4/2 | A 2/0 STABLE 0-5"),
    (
        "member_above_assignment",
        ONE,
        "8 A 3/2 STABLE 0-5",
        "Consumer Reconciling 2/2 | A 3/2 STABLE 0-5",
    ),
    (
        "member_above_assignment",
        "",
        "8 A 7/6 STABLE 0",
        "Consumer Reconciling 1/1 | A 7/6 STABLE 0 wants -",
    ),
    ("bad_value", ONE, "6 -2", ONE_STABLE),
    ("bad_value", ONE, "6 3 t=-5", ONE_STABLE),
    ("bad_value", "", "6 -2", "gone"),
    ("bad_value", "", "3 -1", "Consumer Empty -1/0"),
    ("bad_value", ONE, "8 A -1/2 STABLE -", "Consumer Reconciling 2/2 | A -1/2 STABLE - wants 0-5"),
    (
        "bad_value",
        ONE,
        "8 A 2/2 UNREVOKED 0-5|5",
        "Consumer Reconciling 2/2 | A 2/2 UNREVOKED 0-5 gives up 5 wants 0-5",
    ),
]


@pytest.mark.parametrize(("kind", "before", "odd", "after"), CASES)
def test_lenient_replay_reports_a_record_out_of_place_and_goes_on(
    kind: str, before: str, odd: str, after: str
) -> None:
    """The anomaly is reported, once; the record is applied as Kafka's loader does, or left out where that stops."""
    slot = replayed(before)
    changes = replay(slot, odd, Policy.LENIENT)
    assert anomalies(changes) == [kind]
    assert picture(slot) == after


@pytest.mark.parametrize(("kind", "before", "odd", "after"), CASES)
def test_strict_replay_refuses_a_record_out_of_place_and_changes_nothing(
    kind: str, before: str, odd: str, after: str
) -> None:
    """The error names group, record, partition and offset, and the slot is as it was."""
    slot = replayed(before)
    untouched = copy.deepcopy(slot)
    with pytest.raises(ReplayError) as refused:
        replay(slot, odd)
    assert slot == untouched, after
    assert refused.value.kind == kind
    name = records(odd)[0].record_type.name + (
        " tombstone" if odd.split(maxsplit=1)[0].endswith("t") else ""
    )
    assert re.match(
        rf"group 'g': {name} at partition 0, offset {slot.last_log_offset + 1} ", str(refused.value)
    )


def test_every_kind_of_anomaly_is_provoked_here() -> None:
    """A new kind needs a case; a record at an old offset has its own test below."""
    assert {case[0] for case in CASES} | {AnomalyKind.OFFSET_WENT_BACK} == set(AnomalyKind)


@pytest.mark.parametrize("log_offset", [3, 4])
def test_a_record_that_was_applied_before_is_not_applied_again(log_offset: int) -> None:
    """The same log read twice, or two segments that overlap, change nothing; strict replay stops."""
    slot = replayed(ONE)
    assert slot.last_log_offset == 4
    untouched = copy.deepcopy(slot)
    position = Position(0, log_offset, 1000)
    (record,) = records("3 3")
    (change,) = apply(slot, record, position)
    assert isinstance(change, Anomaly)
    assert change.kind is AnomalyKind.OFFSET_WENT_BACK
    marker = apply_transaction_marker(slot, 7, True, position)
    assert anomalies(marker) == ["offset_went_back"]
    with pytest.raises(ReplayError, match="offset_went_back"):
        apply(slot, record, position, Policy.STRICT)
    with pytest.raises(ReplayError, match="transaction marker at partition 0"):
        apply_transaction_marker(slot, 7, True, position, Policy.STRICT)
    assert slot == untouched


def test_assignment_epochs_that_do_not_pair_with_the_partitions_are_not_used() -> None:
    """Kafka takes the member's epoch for all partitions of the topic then, and so does the lenient policy."""
    entry = ConsumerGroupCurrentMemberAssignmentTopicPartitions(TOPIC_IDS["foo"], (0, 1), (2,))
    record = Record(
        RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
        ConsumerGroupCurrentMemberAssignmentKey(GROUP_ID, "A"),
        ConsumerGroupCurrentMemberAssignmentValue(4, 3, (entry,), (), 0),
        0,
    )
    slot = replayed("5 A; 3 4; 6 4")
    changes = apply(slot, record, Position(0, 9, 1000))
    assert anomalies(changes) == ["bad_value"]
    assert isinstance(slot.group, ModernGroup)
    member = slot.group.members["A"]
    assert [member.assignment_epoch_of(TOPIC_IDS["foo"], number) for number in (0, 1)] == [4, 4]


NOTHING_ODD = [
    # log, last state: things that look odd and are what coordinators write
    ("19 A; 17 2; 20 2; 22t A; 21t A; 19t A; 17 3; 20t; 17t; 23t", "gone"),
    (ONE + "; 8t A; 7t A; 5t A; 3 3; 6 3; 6t; 4t; 3t", "gone"),
    ("5 A; 3 2; 8 A 0/0 STABLE -; 8t A; 7t A; 5t A; 3 3", "Consumer Empty 3/0"),
    ("5 A; 16t fo.*; 4t; 7t A", "Consumer Stable 0/0 | A 0/-1 STABLE -"),
    ("3 5; 6t; 4t; 3t", "gone"),
    (ONE + "; 3 2; 6 2", ONE_STABLE),
    ("3 7; 3 8", "Consumer Empty 8/0"),
    (CLASSIC + "; 2 9 range B=0", "Classic Stable 9 | B 0"),
    (CLASSIC + "; 2 3 range B=0-2", "Classic Stable 3 | B 0-2"),
    (ONE + "; 2t", "gone"),
    (ONE + "; 2 0", "Classic Empty 0"),
    ("1t foo:0", "gone"),
    ("24 3", "gone"),
    (ONE + "; 24 3", ONE_STABLE),
    (
        "5 A; 3 3; 6 3; 8 A 2/0 STABLE 0-5; 5 B; 8 B 3/0 STABLE 3-5; 8 A 3/2 STABLE 0-2",
        "Consumer Stable 3/3 | A 3/2 STABLE 0-2 wants - | B 3/0 STABLE 3-5 wants -",
    ),
]


@pytest.mark.parametrize(("log", "state"), NOTHING_ODD)
def test_what_a_coordinator_may_write_is_no_anomaly(log: str, state: str) -> None:
    """Tombstones of what never was written, repeated epochs, gaps of generations: strict replay takes them."""
    slot = GroupSlot(GROUP_ID)
    assert anomalies(replay(slot, log)) == []
    assert picture(slot) == state
