"""What replay reports of each record."""

import pytest

from rebalance_audit.replay.changes import (
    Anomaly,
    AnomalyKind,
    Change,
    GenerationCompleted,
    GroupCreated,
    GroupEpochBumped,
    GroupRemoved,
    GroupStateChanged,
    GroupType,
    MemberAssigned,
    MemberSubscribed,
    MemberTargeted,
    MemberUnsubscribed,
    Position,
    RegexResolved,
    SharePartitionsRecorded,
    TargetInstalled,
    TopicMetadataRecorded,
    TopologyChanged,
)
from rebalance_audit.replay.step import Policy
from tests.dsl import TOPIC_IDS, replay, replayed

P = Position(0, 99, 1234, 5)
FOO = TOPIC_IDS["foo"]
CONSUMER, CLASSIC = GroupType.CONSUMER, GroupType.CLASSIC


def foo(*numbers: int) -> dict[bytes | str, frozenset[int]]:
    """Partitions of topic foo."""
    return {FOO: frozenset(numbers)} if numbers else {}


ONE = "5 A; 3 2 h7; 7 A 0-1; 6 2 t=900; 8 A 2/0 STABLE 0-1"

CASES: list[tuple[str, str, list[Change]]] = [
    # log before, one record, its changes
    (
        "",
        "5 A instance=i",
        [
            GroupCreated(P, CONSUMER, simple=False, replaced=None),
            MemberSubscribed(P, "A", "i", joined=True, changed=()),
            GroupStateChanged(P, None, "Stable"),
        ],
    ),
    (
        "1 foo:0 5",
        "3 2 h7",
        [
            GroupCreated(P, CONSUMER, simple=False, replaced=CLASSIC),
            GroupEpochBumped(P, CONSUMER, None, 2, None, 7),
        ],
    ),
    (
        ONE,
        "3 3 h8",
        [
            GroupEpochBumped(P, CONSUMER, 2, 3, 7, 8),
            GroupStateChanged(P, "Stable", "Assigning"),
        ],
    ),
    (ONE, "3 2 h7", [GroupEpochBumped(P, CONSUMER, 2, 2, 7, 7)]),
    (
        "5 A; 8 A 1/0 STABLE -",
        "3 2 h7",
        [
            GroupEpochBumped(P, CONSUMER, None, 2, None, 7),
            GroupStateChanged(P, "Stable", "Assigning"),
        ],
    ),
    (ONE, "5 A", [MemberSubscribed(P, "A", None, joined=False, changed=())]),
    (
        ONE,
        "5 A topics=bar,foo instance=i timeout=9 rack=r assignor=range",
        [
            MemberSubscribed(
                P,
                "A",
                "i",
                joined=False,
                changed=(
                    "instance_id",
                    "rack_id",
                    "subscribed_topic_names",
                    "rebalance_timeout_ms",
                    "server_assignor",
                ),
            )
        ],
    ),
    (
        "8 A 0/0 STABLE -",
        "5 A instance=i",
        [MemberSubscribed(P, "A", "i", joined=False, changed=())],
    ),
    (
        ONE,
        "7 A 0",
        [MemberTargeted(P, "A", foo(0, 1), foo(0))],
    ),
    (ONE, "7 A 0-1", [MemberTargeted(P, "A", foo(0, 1), foo(0, 1))]),
    (ONE, "7 B -", [MemberTargeted(P, "B", None, {})]),
    (ONE, "7t A", [MemberTargeted(P, "A", foo(0, 1), None)]),
    (ONE, "7t B", [MemberTargeted(P, "B", None, None)]),
    (
        ONE,
        "6 3 t=5",
        [TargetInstalled(P, 2, 3, 5), GroupStateChanged(P, "Stable", "Reconciling")],
    ),
    (ONE, "6 2 t=7", [TargetInstalled(P, 2, 2, 7)]),
    ("3 2; 6 2", "6t", [TargetInstalled(P, 2, -1, 0)]),
    (
        ONE,
        "8 A 2/2 UNREVOKED 0|1",
        [
            MemberAssigned(
                P, "A", False, 2, 2, "STABLE", "UNREVOKED", foo(0, 1), foo(0), {}, foo(1)
            ),
            GroupStateChanged(P, "Stable", "Reconciling"),
        ],
    ),
    (
        ONE,
        "8 A 2/2 STABLE 0-1",
        [MemberAssigned(P, "A", False, 2, 2, "STABLE", "STABLE", foo(0, 1), foo(0, 1), {}, {})],
    ),
    (
        ONE,
        "8 B 2/0 STABLE -",
        [MemberAssigned(P, "B", False, 0, 2, "STABLE", "STABLE", {}, {}, {}, {})],
    ),
    (
        ONE + "; 8 A 2/2 UNREVOKED 0|1",
        "8t A",
        [MemberAssigned(P, "A", True, 2, -1, "UNREVOKED", "UNREVOKED", foo(0), {}, foo(1), {})],
    ),
    (
        "5 A instance=i client=c; 8t A",
        "5t A",
        [
            MemberUnsubscribed(P, "A", "i", "c", "/host"),
            GroupStateChanged(P, "Reconciling", "Empty"),
        ],
    ),
    ("3 2; 6 2; 6t", "3t", [GroupRemoved(P, CONSUMER), GroupStateChanged(P, "Empty", None)]),
    ("3 2", "16 fo.* foo", [RegexResolved(P, "fo.*", None, frozenset({"foo"}))]),
    (
        "16 fo.* foo",
        "16 fo.* foo",
        [RegexResolved(P, "fo.*", frozenset({"foo"}), frozenset({"foo"}))],
    ),
    ("16 fo.* foo", "16t fo.*", [RegexResolved(P, "fo.*", frozenset({"foo"}), None)]),
    ("3 2", "4 foo:6 bar:3", [TopicMetadataRecorded(P, ("bar", "foo"), is_first=True)]),
    ("4 foo:6 bar:3", "4 foo:7 zar:1", [TopicMetadataRecorded(P, ("bar", "foo", "zar"))]),
    ("4 foo:6 bar:3", "4 bar:3 foo:6", [TopicMetadataRecorded(P, ())]),
    ("4 foo:6", "4t", [TopicMetadataRecorded(P, None)]),
    (
        "",
        "2 1 range A=0",
        [
            GroupCreated(P, CLASSIC, simple=False, replaced=None),
            GenerationCompleted(P, None, 1),
            GroupStateChanged(P, None, "Stable"),
        ],
    ),
    (
        "1 foo:0 5",
        "2 1 range A=0",
        [
            GroupCreated(P, CLASSIC, simple=False, replaced=CLASSIC),
            GenerationCompleted(P, None, 1),
            GroupStateChanged(P, "Empty", "Stable"),
        ],
    ),
    (
        ONE,
        "2 1 range A=0",
        [
            GroupCreated(P, CLASSIC, simple=False, replaced=CONSUMER),
            GenerationCompleted(P, None, 1),
        ],
    ),
    ("2 1 range A=0", "2 3 range A=0", [GenerationCompleted(P, 1, 3)]),
    ("2 1 range A=0", "2 1 range B=0", [GenerationCompleted(P, 1, 1)]),
    (
        "2 0",
        "2 1 range A=0",
        [GenerationCompleted(P, 0, 1), GroupStateChanged(P, "Empty", "Stable")],
    ),
    ("2 1 range A=0", "2t", [GroupRemoved(P, CLASSIC), GroupStateChanged(P, "Stable", None)]),
    (ONE, "2t", [GroupRemoved(P, CONSUMER), GroupStateChanged(P, "Stable", None)]),
    (
        "10 A; 11 2 h7",
        "11 3 h8",
        [GroupEpochBumped(P, GroupType.SHARE, 2, 3, 7, 8)],
    ),
    (
        "10 A",
        "10 A topics=bar",
        [MemberSubscribed(P, "A", None, joined=False, changed=("subscribed_topic_names",))],
    ),
    ("10 A", "15 foo", [SharePartitionsRecorded(P)]),
    ("10 A", "9 foo:6", [TopicMetadataRecorded(P, ("foo",), is_first=True)]),
    ("10 A", "9 layout=3.9", [SharePartitionsRecorded(P)]),
    (
        "19 A; 17 1 valid=1",
        "23 1",
        [TopologyChanged(P, 1), GroupStateChanged(P, "NotReady", "Assigning")],
    ),
    (
        "19 A; 23 1",
        "19 A process=q",
        [MemberSubscribed(P, "A", None, joined=False, changed=("process_id",))],
    ),
    ("17 1; 23 1", "23t", [TopologyChanged(P, -1)]),
    ("", "23t", []),
    ("3 2", "24 2", []),
    (
        "",
        "5t A",
        [Anomaly(P, AnomalyKind.TOMBSTONE_OF_UNKNOWN, "there is no such group")],
    ),
    (
        ONE,
        "3 5 h7",
        [
            Anomaly(P, AnomalyKind.EPOCH_SKIPPED, "group epoch 5 after 2"),
            GroupEpochBumped(P, CONSUMER, 2, 5, 7, 7),
            GroupStateChanged(P, "Stable", "Assigning"),
        ],
    ),
]


@pytest.mark.parametrize(("before", "record", "changes"), CASES)
def test_a_record_reports_what_it_did(before: str, record: str, changes: list[Change]) -> None:
    """All of it, in order, the group's state last; a record that repeats itself is reported as well."""
    slot = replayed(before, Policy.LENIENT)
    assert replay(slot, record, Policy.LENIENT, **P._asdict()) == changes
