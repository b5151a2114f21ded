"""What a snapshot looks like, and when one is refused."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.snapshots import snapshot
from rebalance_audit.audit.snapshots.codec import state_types, text_topic, topic_text
from rebalance_audit.audit.snapshots.snapshot import (
    STATE_FORMAT,
    SnapshotNotUsable,
    resumed,
    shape_lines,
    shapes,
    snapshot_of,
)
from rebalance_audit.audit.thresholds import DepartureRules, FindingRules
from tests.dsl import TOPIC_IDS, TOPIC_NAMES, log

SHAPES = {50: "e3711aa6ff11"}
"""STATE_FORMAT -> the shapes that it stands for. A snapshot of different shapes needs a new format."""

KEPT_ELSEWHERE = {
    "GroupAudit": "_classic _findings _life _modern _options _splitter options outside recorded "
    "group_id log_partition",
    "ExternalFacts": "_options",
    "ClassicAudit": "_life join_phases times",
    "ModernAudit": "_life _recorded _handlers",
    "RecordedTopics": "_group _outside _subscribed",
    "RegexesAlike": "_spellings",
    "Life": "_emit members progress away commits costs due_ms ends group_id is_whole log_partition moves "
    "options overlaps ownership states witness",
    "GroupMembers": "_emit _group_id _progress _witness away on_departure on_member tallies",
    "Overlaps": "_is_whole",
    "Ownership": "_count_unowned _emit _end_commits _group_id _sure _topic_names _topics_of",
    "CommitBook": "_is_whole _log_partition _parsed standstills usual_pause",
    "RebalanceCosts": "_emit _end_offsets _ownership _standstills on_settled on_standstill",
    "GroupStates": "_emit_row _group_id",
    "GroupFindings": "_emit _life _span _watchers _on_stood "
    "_on_began _on_change _on_coming _on_ended _on_gap _on_members _on_revocation _on_settled _on_wrote _repeats",
    "Repeats": "_report _pause_ms",
}
"""Attributes that are not state: what the caller gives, what follows from it, and parts with their own state."""

OF_ONE_WRITE = {
    "ProgressTracker": "last_signs",
    "Ownership": "_carried _names _released _write_offset",
    "ModernAudit": "_assignment_epoch _contradictions _evidence _continues _group _is_hidden _missing _verdicts",
    "Overlaps": "fresh",
    "RecordedTopics": "contradicted",
    "RegexesAlike": "_changes",
    "GroupFindings": "_arrivals _departures due_ms",
}
"""Attributes set anew for each judged write; a snapshot holds the write that is not judged yet."""

STORY = log(
    (1000, "5 A; 3 2; 7 A 0-2; 6 2; 8 A 2/0 0-2"),
    (2000, "5 B instance=i1; 3 3; 7 A 0; 7 B 1-2; 6 3; 8 B 3/0 UNRELEASED -"),
    (2500, "8 A 2/2 UNREVOKED 0|1-2"),
    (3000, "8 A 3/2 0"),
)


def nothing(_table: str, _row: Row) -> None:
    """Discard the rows, which do not matter here."""


def put_away(options: AuditOptions | None = None) -> dict[str, Any]:
    """A snapshot taken in the middle of a rebalance, as read back from a table."""
    running = GroupAudit("g", 0, nothing, options)
    for record, position in STORY:
        running.feed(record, position)
    state: dict[str, Any] = orjson.loads(orjson.dumps(snapshot_of(running)))
    return state


def test_a_person_can_read_it() -> None:
    """Members, epochs, partitions and times have their names; values equal to a new audit's are left out."""
    state = put_away()
    group = state["group"]["slot"]["group"]
    foo = topic_text(TOPIC_IDS["foo"])
    assert (state["group_id"], state["last_offset"]) == ("g", STORY[-1][1].log_offset)
    assert (group["kind"], group["group_epoch"]) == ("ModernGroup", 3)
    assert group["members"]["A"]["assigned"] == {foo: [0]}
    assert group["targets"] == {"A": {foo: [0]}, "B": {foo: [1, 2]}}
    assert state["life"]["span"]["epoch"] == 3
    assert state["members"]["watches"]["B"]["stint"]["identity"]["instance_id"] == "i1"
    assert state["target"]["owners"] == [
        {"is": "A", "of": {foo: [0]}},
        {"is": "i1", "of": {foo: [1, 2]}},
    ]
    assert "two_owners" not in state


@pytest.mark.parametrize(
    "topic", ["orders", "id:orders", "name:orders", "name:id:x", "", "ü:ö", bytes(range(16))]
)
def test_topic_ids_and_names_stay_distinct(topic: str | bytes) -> None:
    """Including names that no broker allows but that a damaged record may hold."""
    assert text_topic(topic_text(topic)) == topic


def without(state: dict[str, Any], name: str) -> dict[str, Any]:
    """The state without one entry."""
    return {key: value for key, value in state.items() if key != name}


def grown(state: dict[str, Any]) -> dict[str, Any]:
    """The state with one number changed."""
    state["life"]["joined_since"] = 5
    return state


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda state: {**state, "format": STATE_FORMAT + 1}, "format"),
        (lambda state: without(state, "format"), "format None"),
        (lambda _state: {}, "format None"),
        (lambda state: without(state, "life"), "damaged"),
        (lambda state: without(state, "checksum"), "damaged"),
        (lambda state: {**state, "group_id": 3}, "damaged"),
        (grown, "damaged"),
    ],
)
def test_a_damaged_snapshot_or_one_of_another_format_is_refused(
    spoil: Callable[[dict[str, Any]], dict[str, Any]], reason: str
) -> None:
    """The caller then audits the group from its first record: no audit continues from a state that may be wrong."""
    with pytest.raises(SnapshotNotUsable, match=reason):
        resumed(spoil(put_away()), nothing)


@pytest.mark.parametrize(
    ("entry", "plain"),
    [
        ("life", {"span": 3}),
        ("life", {"no_such_field": 3}),
        ("life", {"protocol": "NO_SUCH"}),
        ("no_such_part", {}),
        ("ownership", {"held": [{"is": {}}]}),
    ],
)
def test_a_whole_snapshot_with_other_contents_is_refused(entry: str, plain: object) -> None:
    """The checksum is right but the contents are not this program's: the error says so in words."""
    state = put_away() | {entry: plain}
    state["checksum"] = snapshot.checksum_of(state)
    with pytest.raises(SnapshotNotUsable, match="does not hold what it should"):
        resumed(state, nothing)


@pytest.mark.parametrize(
    "options",
    [
        AuditOptions(findings=FindingRules(stuck_ms=1)),
        AuditOptions(rules=DepartureRules(consumer_session_timeout_ms=1)),
        AuditOptions(with_findings=False),
    ],
)
def test_other_thresholds_need_the_log_from_its_start(options: AuditOptions) -> None:
    """Rows emitted earlier were judged by the old thresholds."""
    with pytest.raises(SnapshotNotUsable, match="thresholds"):
        resumed(put_away(), nothing, options)
    resumed(put_away(options), nothing, options)


def test_a_name_that_becomes_known_refuses_only_snapshots_that_lacked_it() -> None:
    """Rows that were emitted without the topic's name would have it now."""
    named = AuditOptions(topic_name=TOPIC_NAMES.get)
    state = put_away()
    assert text_topic("id:" + state["outside"]["unnamed"][0]) == TOPIC_IDS["foo"]
    resumed(state, nothing)
    with pytest.raises(SnapshotNotUsable, match="has a name now"):
        resumed(state, nothing, named)
    resumed(put_away(named), nothing, named)


def test_shapes_stand_for_the_format() -> None:
    """A change of what a snapshot holds must raise STATE_FORMAT, so that groups with older ones are audited anew."""
    assert {STATE_FORMAT: shapes()} == SHAPES, "\n".join(shape_lines())


def test_everything_that_an_audit_keeps_is_in_its_snapshots() -> None:
    """What outlives a write is annotated in the class body, and so part of the state; all else is listed here."""
    running = GroupAudit("g", 0, nothing)
    for record, position in STORY:
        running.feed(record, position)
    forgotten = {}
    for part in running.parts().values():
        cls = type(part)
        known = {"scene", "rules", *state_types(cls)}
        known.update(KEPT_ELSEWHERE.get(cls.__name__, "").split())
        known.update(OF_ONE_WRITE.get(cls.__name__, "").split())
        slots = {name for each in cls.__mro__ for name in getattr(each, "__slots__", ())}
        if left := (slots | set(getattr(part, "__dict__", {}))) - known:
            forgotten[cls.__name__] = left
    assert forgotten == {}
