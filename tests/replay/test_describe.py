"""Groups as Kafka's describe commands show them."""

import pytest

from rebalance_audit.replay.describe import describe_group
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.wire.topic_names import TopicNames, TopicNameSource
from tests.dsl import TOPIC_IDS, replay, replayed


def names(*known: str) -> TopicNames:
    """Names of some of the shorthand's topics."""
    topic_names = TopicNames()
    for name in known:
        topic_names.add(TOPIC_IDS[name], name, TopicNameSource.CLUSTER_METADATA)
    return topic_names


def test_a_consumer_group() -> None:
    """The assignment includes what a member has yet to give up; epochs and target are the member's own."""
    slot = replayed(
        "5 B; 5 A instance=i1 client=c assignor=range; 3 3; 7 A 0-1; 7 B 2+bar:0; 6 3;"
        " 8 A 2/1 UNREVOKED 1,0|2; 8 B 3/2 UNRELEASED bar:0"
    )
    replay(slot, "1 foo:10 5 le=3 m=x at=1795252526220; 1 foo:9 6; 1 bar:0 7 at=-1")
    assert describe_group(slot, names("foo", "bar")) == {
        "group_id": "g",
        "type": "Consumer",
        "state": "Reconciling",
        "epoch": 3,
        "assignment_epoch": 3,
        "assignor": "range",
        "members": [
            {
                "member_id": "A",
                "instance_id": "i1",
                "client_id": "c",
                "client_host": "/host",
                "epoch": 2,
                "assignment": {"foo": [0, 1, 2]},
                "target": {"foo": [0, 1]},
            },
            {
                "member_id": "B",
                "instance_id": None,
                "client_id": "client",
                "client_host": "/host",
                "epoch": 3,
                "assignment": {"bar": [0]},
                "target": {"bar": [0], "foo": [2]},
            },
        ],
        "offsets": {
            "bar": {"0": {"offset": 7, "leader_epoch": None, "metadata": "", "committed_at": None}},
            "foo": {
                "9": {
                    "offset": 6,
                    "leader_epoch": None,
                    "metadata": "",
                    "committed_at": "1970-01-01T00:00:00.500Z",
                },
                "10": {
                    "offset": 5,
                    "leader_epoch": 3,
                    "metadata": "x",
                    "committed_at": "2026-11-21T09:15:26.220Z",
                },
            },
        },
    }


def test_a_classic_group() -> None:
    """The assignor is the protocol; members have no epoch and no target of their own."""
    described = describe_group(replayed("2 7 roundrobin A@i1=bar:1+0-1"), names())
    assert described is not None
    (member,) = described.pop("members")
    assert described == {
        "group_id": "g",
        "type": "Classic",
        "state": "Stable",
        "epoch": 7,
        "assignment_epoch": None,
        "assignor": "roundrobin",
        "offsets": {},
    }
    assert member == {
        "member_id": "A",
        "instance_id": "i1",
        "client_id": "client",
        "client_host": "/host",
        "epoch": None,
        "assignment": {"bar": [1], "foo": [0, 1]},
        "target": None,
    }


@pytest.mark.parametrize(
    ("log", "kind"),
    [
        ("1 foo:0 5", ("Classic", "Empty", None, None, "")),
        ("2 0", ("Classic", "Empty", 0, None, "")),
        ("2 3 sticky type=consumer", ("Classic", "Empty", 3, None, "")),
        ("2 3 range A=0; 2 4 type=consumer", ("Classic", "Empty", 4, None, "")),
        ("3 4; 6 4", ("Consumer", "Empty", 4, 4, "uniform")),
        ("5 A", ("Consumer", "Unknown", None, None, "uniform")),
        ("5 A; 6 4; 8 A 4/3 STABLE 0", ("Consumer", "Unknown", None, 4, "uniform")),
        ("5 A; 8 A 1/0 STABLE -", ("Consumer", "Stable", 1, 1, "uniform")),
        ("10 A", ("Share", "Stable", None, None, "simple")),
        ("10 A; 11 4; 12 4", ("Share", "Stable", 4, 4, "simple")),
        ("19 A; 23 1; 17 4 valid=1; 20 3", ("Streams", "Assigning", 4, 3, None)),
        ("19 A; 17 4", ("Streams", "NotReady", 4, 0, None)),
    ],
)
def test_type_state_epochs_and_assignor_are_spelled_as_kafka_does(
    log: str, kind: tuple[str, str, int | None, int | None, str | None]
) -> None:
    """Also for simple groups, and with the broker's default where no member prefers an assignor.

    A log without the epoch's record, which compaction removed, does not show the state either.
    """
    described = describe_group(replayed(log), names())
    assert described is not None
    fields = ("type", "state", "epoch", "assignment_epoch", "assignor")
    assert tuple(described[field] for field in fields) == kind


@pytest.mark.parametrize("log", ["", "1t foo:0", "2 1 range A=0; 2t", "5t A"])
def test_what_is_no_group_is_not_described(log: str) -> None:
    """Removed groups, and ids that only tombstones name."""
    slot = GroupSlot("g")
    if log not in {"", "5t A"}:
        slot = replayed(log)
    assert describe_group(slot, names()) is None


def test_a_topic_without_a_known_name_is_shown_by_its_id() -> None:
    """As Kafka prints ids; subtopologies of streams groups are names already."""
    described = describe_group(replayed("8 A 0/0 STABLE 0+bar:1"), names("foo"))
    assert described is not None
    assert described["members"][0]["assignment"] == {"AgICAgICAgICAgICAgICAg": [1], "foo": [0]}
    streams = describe_group(replayed("22 A 0/0 STABLE 0_1:2"), names())
    assert streams is not None
    assert streams["members"][0]["assignment"] == {"0_1": [2]}


def test_two_ids_of_one_name_are_one_topic() -> None:
    """A topic that was deleted and made again while a member still holds the old one."""
    topic_names = names("foo")
    topic_names.add(TOPIC_IDS["bar"], "foo", TopicNameSource.CLUSTER_METADATA)
    described = describe_group(replayed("8 A 0/0 STABLE 0+bar:1"), topic_names)
    assert described is not None
    assert described["members"][0]["assignment"] == {"foo": [0, 1]}


def test_a_commit_time_that_is_none_is_not_shown() -> None:
    """Damaged bytes may hold any 64-bit number."""
    described = describe_group(replayed(f"1 foo:0 5 at={2**62}"), names())
    assert described is not None
    assert described["offsets"]["foo"]["0"]["committed_at"] is None
