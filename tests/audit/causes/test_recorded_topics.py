"""What the cluster's metadata log adds to the metadata hash in epoch records."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

import pytest

from rebalance_audit.audit.causes.recorded_topics import RecordedTopics
from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions, ExternalFacts
from rebalance_audit.replay.changes import GroupEpochBumped, GroupType
from rebalance_audit.replay.groups import GroupSlot, ModernGroup
from rebalance_audit.replay.playback import apply
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.records import group_id_of
from rebalance_audit.wire.segments.folder import open_log_folder
from rebalance_audit.wire.topic_names import TopicShape, group_hash
from tests.dsl import TOPIC_NAMES, log
from tests.support.log_entries import records_of

GOLDEN = Path(__file__).parents[2] / "golden"

SHAPES = {
    "foo": (TopicShape(1, 100, 6, 11), TopicShape(5, 1_900, 8, 12)),
    "bar": (TopicShape(2, 100, 3, 21),),
    "zar": (TopicShape(9, 9_000, 1, 31), TopicShape(12, 9_500, 0, 0)),
}
FOO_6, FOO_8 = group_hash({"foo": 11}), group_hash({"foo": 12})
FOO_BAR = group_hash({"foo": 11, "bar": 21})
JOINED = (1_000, f"5 A; 3 2 h{FOO_6}; 7 A 0-5; 6 2; 8 A 2/0 0-5")


def causes_of(
    *writes: tuple[int, str], shapes: Mapping[str, Sequence[TopicShape]] = SHAPES
) -> list[tuple[str, str, str, str]]:
    """Role, cause, certainty and detail of the last epoch's causes."""
    options = AuditOptions(
        topic_name=TOPIC_NAMES.get, topic_shapes=lambda name: shapes.get(name, ())
    )
    rows = audit_log(log(*writes), options)["rebalance_causes"]
    last = max(row["epoch"] for row in rows)
    return [
        (row["role"], row["cause"], row["certainty"], row["detail"])
        for row in rows
        if row["epoch"] == last
    ]


@pytest.mark.parametrize(
    "segments",
    [
        GOLDEN / "captures" / "consumer-protocol" / "segments",
        GOLDEN / "captures" / "broker-4.4" / "segments",
        GOLDEN / "captures" / "upgrade" / "segments",
        GOLDEN / "captures" / "share-streams" / "segments",
        GOLDEN / "by_hand" / "broker-4.3" / "segments",
    ],
    ids=lambda path: path.parent.name,
)
def test_real_hashes_are_recomputed_bit_by_bit(segments: Path) -> None:
    """Every hash in the log of a real broker is that of the topics which its metadata log has."""
    names = read_topic_names(open_log_folder(segments))
    outside = ExternalFacts(AuditOptions(topic_shapes=names.shapes_of))
    recorded: dict[str, RecordedTopics] = {}
    slots: dict[str, GroupSlot] = {}
    compared = 0
    for (group_id, _), write in groupby(
        records_of(segments),
        key=lambda each: (group_id_of(each[0].key), each[1].record_timestamp_ms),
    ):
        slot = slots.setdefault(group_id, GroupSlot(group_id))
        changes = [change for record, at in write for change in apply(slot, record, at)]
        bumps = [change for change in changes if isinstance(change, GroupEpochBumped)]
        group = slot.group
        topics = recorded.setdefault(group_id, RecordedTopics(outside))
        if isinstance(group, ModernGroup):
            topics.follow(changes, group)
        if not bumps or not isinstance(group, ModernGroup):
            continue
        topics.look_at(bumps[-1], group)
        assert not topics.contradicted
        if bumps[-1].new_metadata_hash and group.group_type is not GroupType.STREAMS:
            assert topics._last is not None, bumps[-1]
            compared += 1
    assert compared > 1


def test_a_topic_that_grew_is_named() -> None:
    """Nothing that members did changes the hash, and the metadata log says what did."""
    assert causes_of(JOINED, (2_000, f"3 3 h{FOO_8}")) == [
        (
            "began",
            "topic_metadata_changed",
            "proven",
            "According to the cluster's metadata log, foo has 8 partitions instead of 6.",
        )
    ]


def test_a_controller_whose_clock_is_ahead_while_the_coordinators_is_behind() -> None:
    """Each may be 5 s off: by the controller's clock the topic grew almost 10 s after the epoch."""
    later = {"foo": (SHAPES["foo"][0], SHAPES["foo"][1]._replace(at_ms=11_900))}
    ((*_, certainty, detail),) = causes_of(JOINED, (2_000, f"3 3 h{FOO_8}"), shapes=later)
    assert (certainty, "foo has 8 partitions" in detail) == ("proven", True)


def test_no_topic_changed() -> None:
    """A member gave up the expression that brought bar, which bumps nothing; a later comparison finds it missing."""
    (found,) = causes_of(
        (900, "5 A topics=foo regex=^b; 3 2 h1; 7 A 0-5; 6 2; 8 A 2/0 0-5"),
        (1_000, f"16 ^b bar; 3 3 h{FOO_BAR}"),
        (1_100, "7 A 0-5+bar:0; 6 3; 8 A 3/2 0-5+bar:0"),
        (1_500, "5 A topics=foo regex=^x; 16t ^b"),
        (1_600, f"3 4 h{FOO_6}"),
    )
    assert found[:3] == ("began", "subscription_changed", "proven")
    assert "bar" in found[3]


def test_a_hash_of_other_topics_proves_nothing() -> None:
    """It shows that the members are not those that the log has: a record of another one is lost."""
    (found,) = causes_of(JOINED, (1_500, f"3 3 h{FOO_BAR}"))
    assert found[:3] == ("began", "topic_metadata_changed", "probable")


def test_a_topic_that_grew_while_a_member_joined() -> None:
    """The join suffices; that the topic grew too happened meanwhile."""
    rows = causes_of(
        JOINED, (2_000, f"5 B; 3 3 h{FOO_8}; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -")
    )
    assert [row[:3] for row in rows] == [
        ("began", "member_joined", "proven"),
        ("meanwhile", "topic_metadata_changed", "probable"),
    ]


def test_another_answer_about_a_topic_is_a_change() -> None:
    """A shape of a time that was asked about makes an audit anew; a later one does not."""
    answers = {"foo": SHAPES["foo"][:1]}
    outside = ExternalFacts(AuditOptions(topic_shapes=lambda name: answers[name]))
    assert len(outside.topic_shapes("foo", 1_950)) == 1
    answers["foo"] = (*SHAPES["foo"][:1], TopicShape(7, 1_951, 9, 13))
    assert outside.changes() is None
    answers["foo"] = SHAPES["foo"]
    assert outside.changes() == "more is known of what topic foo was like"
