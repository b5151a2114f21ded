"""For whom a group waits at the end of the log; held against a second, small reading of the same records."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import GROUP_STATES, REBALANCES, Row
from rebalance_audit.audit.snapshots.snapshot import twin_of
from rebalance_audit.audit.writes import adjoins
from rebalance_audit.figures.present import present_of, waits
from rebalance_audit.report.unknowns import unknowns_of_group
from rebalance_audit.sim.options import Overrides
from rebalance_audit.sim.scenario import simulate
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record
from tests.audit.broker_log.stories import Line, facts, prepared, stabilized
from tests.audit.logs import NAMES, Log, Records, read_capture, read_log
from tests.dsl import TOPIC_NAMES, log

A_JOINS = (1000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
B_JOINS = (2000, "5 B; 3 3; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -")
A_REVOKES = (2500, "8 A 2/2 UNREVOKED 0-2|3-5")
A_ACKS = (3000, "8 A 3/2 0-2")
B_GETS = (3400, "8 B 3/3 3-5")
STATIC_JOINS = (1000, "5 S instance=pod-1; 3 2; 7 S 0-5; 6 2; 8 S 2/0 0-5")
STATIC_LEAVES = (5000, "8 S -2/2 0-5")

MEMBERS_OF = {
    RecordType.CONSUMER_GROUP_MEMBER_METADATA,
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
}


def now(*writes: tuple[int, str]) -> tuple[Row, Row | None]:
    """The current state of the group, and the rebalance that goes on, where one does."""
    tables = audit_log(log(*writes), AuditOptions(topic_name=TOPIC_NAMES.get))
    (state,) = [row for row in tables[GROUP_STATES] if row["is_current"]]
    continues = [row for row in tables[REBALANCES] if row["ended_at"] is None]
    return state, continues[0] if continues else None


@pytest.mark.parametrize(
    ("writes", "awaited", "without"),
    [
        pytest.param([A_JOINS], [], [], id="all have arrived"),
        pytest.param(
            [A_JOINS, B_JOINS],
            [("A", "late", "proven", 2000, ["foo-3", "foo-4", "foo-5"], ["B"])],
            [],
            id="it has not heard of the epoch",
        ),
        pytest.param(
            [A_JOINS, B_JOINS, A_REVOKES],
            [("A", "kept_partitions", "proven", 2500, ["foo-3", "foo-4", "foo-5"], ["B"])],
            [],
            id="it was asked to revoke",
        ),
        pytest.param(
            [A_JOINS, B_JOINS, A_REVOKES, A_ACKS],
            [("B", "late", "probable", 2000, [], [])],
            ["foo-3", "foo-4", "foo-5"],
            id="it has not taken what is free",
        ),
        pytest.param([A_JOINS, B_JOINS, A_REVOKES, A_ACKS, B_GETS], [], [], id="it has ended"),
        pytest.param(
            [STATIC_JOINS, STATIC_LEAVES],
            [("S", "had_left", "proven", 5000, [], [])],
            ["foo-0", "foo-1", "foo-2", "foo-3", "foo-4", "foo-5"],
            id="a static member left temporarily, and no epoch goes on",
        ),
    ],
)
def test_the_present_follows_from_the_last_records(
    writes: list[tuple[int, str]], awaited: list[Any], without: list[str]
) -> None:
    """Who is awaited, why, how sure, since when, with which partitions, by whom; what has no consumer."""
    state, continues = now(*writes)
    names = ("member_id", "why", "certainty", "since", "some_partitions", "some_waiting")
    assert [tuple(each[name] for name in names) for each in state["awaited"]] == awaited
    assert (state["awaited_members"], state["unconsumed"]) == (len(awaited), len(without))
    assert state["some_unconsumed"] == without
    assert state["is_stuck"] == bool(awaited or without)
    if continues is not None:
        assert continues["held_up_member_ids"] == [each[0] for each in awaited]
        assert continues["held_up_to"] == continues["held_up_ms"] == [None] * len(awaited)
        assert continues["open_until"] == writes[-1][0]


def test_time_without_owner_counts_up_to_the_end_of_what_goes_on() -> None:
    """3 partitions that A has given up, for the 1.4 s until the log ends; B has not taken them."""
    options = AuditOptions(topic_name=TOPIC_NAMES.get, log_end_ms=4_400)
    (*_, continues) = audit_log(log(A_JOINS, B_JOINS, A_REVOKES, A_ACKS), options)[REBALANCES]
    assert continues["unowned_partition_ms"] == 3 * 1_400


def test_what_a_member_had_that_is_gone_has_no_consumer_until_a_target_gives_it_away() -> None:
    """A is removed, and no heartbeat has computed a new target assignment yet, so its partitions have no owner."""
    state, continues = now(
        A_JOINS, B_JOINS, A_REVOKES, A_ACKS, B_GETS, (9_000, "8t A; 7t A; 5t A; 3 4")
    )
    assert continues is not None
    assert (state["unconsumed"], state["some_unconsumed"]) == (3, ["foo-0", "foo-1", "foo-2"])


def test_partitions_of_a_share_group_are_not_counted_by_consumer() -> None:
    """Any number of its members may have one, so none is said to lack a consumer."""
    found = read_capture("share-streams")
    options = replace(found.options, with_findings=False)
    states = [state for _, state, _ in cuts(found.groups["sharers"], options) if state is not None]
    assert {state["protocol"] for state in states} == {"share"}
    assert {state["unconsumed"] for state in states} == {0}


@pytest.mark.parametrize(
    ("ends_ms", "silent_since"),
    [
        pytest.param(11_900, None, id="three of its pauses have not passed"),
        pytest.param(12_000, 6_000, id="they have"),
    ],
)
def test_a_classic_group_in_which_no_member_commits_any_more_is_reported(
    ends_ms: int, silent_since: int | None
) -> None:
    """Every commit advances the offset, so nothing shows that members also commit when idle: no member is named."""
    joins = (1_010, "2 1 range A=0-5 state_at=1000")
    commits = [(at_ms, f"1 foo:0 {at_ms}") for at_ms in (2_000, 4_000, 6_000)]
    options = AuditOptions(topic_name=TOPIC_NAMES.get, log_end_ms=ends_ms)
    tables = audit_log(log(joins, *commits), options)
    (state,) = [row for row in tables[GROUP_STATES] if row["is_current"]]
    assert (state["silent_since"], state["stopped"]) == (silent_since, [])
    said = [each for each in unknowns_of_group(tables) if "rebalancing now" in each]
    assert [("1970-01-01 00:00:06.000 UTC" in each) for each in said] == [True] * bool(silent_since)


@pytest.mark.parametrize(
    ("writes", "said"),
    [
        pytest.param([A_JOINS], None, id="its member consumes"),
        pytest.param(
            [(1000, "5 A; 3 2; 7 A -; 6 2; 8 A 2/0 -")],
            "is Stable, but its only member has no partition: the assignment of epoch 2 is empty.",
            id="an empty assignment",
        ),
        pytest.param(
            [(1000, "5 A; 5 B; 3 2; 7 A -; 7 B -; 6 2; 8 A 2/0 -; 8 B 2/0 -")],
            "is Stable, but none of its 2 members has a partition: the assignment of epoch 2 is empty.",
            id="of two members",
        ),
    ],
)
def test_members_without_any_partition_are_said_and_come_first(
    writes: list[tuple[int, str]], said: str | None
) -> None:
    """Nothing of the group is consumed, and no epoch goes on."""
    state, continues = now(*writes)
    assert continues is None
    assert (state["is_stuck"], state["unconsumed"]) == (said is not None, 0)
    present = present_of([state])
    assert present is not None
    sentences = list(waits(present, "It", None, writes[-1][0]))
    assert sentences == ([] if said is None else [f"It {said}"])


BOTH = (1_010, "2 1 range A=0-2 B=3-5 state_at=1000")
LATER = (20_000, "1 x:0 1")
"""A commit of no member, with which the log goes on."""
C_JOINS = prepared(5_000, 1, "Adding new member C with group instance id null")
B_EXPIRES = (9_000, "Member B in group g has failed, removing it from the group.")
ASSIGNED = (
    25_010,
    "Assignment received from leader A for group g for generation 2. The group has 3 members, 0 of which are static.",
)
LEAVES = "explicit `LeaveGroup` request for (C) members"


@pytest.mark.parametrize(
    ("lines", "phase"),
    [
        pytest.param([], None, id="the log of records holds nothing"),
        pytest.param([C_JOINS], (5_000, None, []), id="it goes on"),
        pytest.param([C_JOINS, B_EXPIRES], (5_000, None, ["B"]), id="it waited for B"),
        pytest.param(
            [
                prepared(5_000, 1, "removing member B on heartbeat expiration"),
                (5_000, B_EXPIRES[1]),
            ],
            (5_000, None, []),
            id="the end of B began it, in lines of one moment",
        ),
        pytest.param([C_JOINS, stabilized(9_000, 2, 3)], (5_000, 9_000, []), id="no assignment"),
        pytest.param(
            [C_JOINS, stabilized(9_000, 2, 3), prepared(9_500, 2, LEAVES)],
            (5_000, None, []),
            id="it began anew",
        ),
        pytest.param(
            [C_JOINS, stabilized(25_000, 2, 3)], (5_000, None, []), id="it ended after the log"
        ),
        pytest.param(
            [prepared(21_000, 1, LEAVES), stabilized(25_000, 2, 3), ASSIGNED],
            None,
            id="both after the log",
        ),
        pytest.param([prepared(500, 0, LEAVES), stabilized(1_000, 1, 2)], None, id="it is over"),
        pytest.param(
            [C_JOINS, (6_000, "Unloading group metadata for g with generation 1.")],
            None,
            id="the coordinator moved: what it had in memory is lost",
        ),
    ],
)
def test_a_join_phase_goes_on_as_the_coordinator_logged_it(
    lines: list[Line], phase: tuple[int, int | None, list[str]] | None
) -> None:
    """Since when, since when the leader's assignment is awaited, whom it waited for."""
    known = BrokerLog.of(facts(*lines)).facts_of
    options = AuditOptions(topic_name=TOPIC_NAMES.get, broker_facts=known, log_end_ms=20_000)
    (state,) = [
        row for row in audit_log(log(BOTH, LATER), options)[GROUP_STATES] if row["is_current"]
    ]
    since, joined_at = state["join_phase_since"], state["join_phase_joined_at"]
    removed = [each["member_id"] for each in state["join_phase_removed"]]
    assert (None if since is None else (since, joined_at, removed)) == phase
    assert state["is_stuck"] == (phase is not None)


@dataclass
class Group:
    """What records of the consumer protocol say of one group, without the project's replay."""

    epoch: int = 0
    members: set[str] = field(default_factory=set)
    target: dict[str, set[Any]] = field(default_factory=dict)
    assignment: dict[str, Any] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """The next record."""
        value: Any = record.value
        member_id = getattr(record.key, "member_id", "")
        match record.record_type:
            case RecordType.CONSUMER_GROUP_METADATA:
                self.epoch = 0 if value is None else value.epoch
            case RecordType.CONSUMER_GROUP_MEMBER_METADATA if value is not None:
                self.members.add(member_id)
            case RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER if value is not None:
                self.target[member_id] = flat(value.topic_partitions)
            case RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT if value is not None:
                self.assignment[member_id] = value
            case kind if kind in MEMBERS_OF:
                self.target.pop(member_id, None)
                if kind is not RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER:
                    self.assignment.pop(member_id, None)
                if kind is RecordType.CONSUMER_GROUP_MEMBER_METADATA:
                    self.members.discard(member_id)

    def arrived(self) -> set[str]:
        """Members that are stable at the group's epoch."""
        return {
            member_id
            for member_id, value in self.assignment.items()
            if value.state == 0 and value.member_epoch >= self.epoch
        }

    def missing(self) -> set[str]:
        """Members that own what others have as target, else those below the epoch."""
        held = {
            member_id: flat(value.assigned_partitions) | flat(value.partitions_pending_revocation)
            for member_id, value in self.assignment.items()
        }
        keeping = {
            one
            for one in self.members
            for other in self.members - {one}
            if held.get(one, set()) & (self.target.get(other, set()) - held.get(other, set()))
        }
        epochs = {member_id: value.member_epoch for member_id, value in self.assignment.items()}
        return keeping or {each for each in self.members if epochs.get(each, -1) < self.epoch}


def flat(topics: Any) -> set[tuple[bytes, int]]:
    """Topic ids and partitions."""
    return {(each.topic_id, number) for each in topics for number in each.partitions}


def cuts(records: Records, options: AuditOptions) -> Iterator[tuple[Group, Row | None, Row | None]]:
    """After every write: the group by its records, its current state and the rebalance that goes on."""
    running = GroupAudit("g", 0, lambda _table, _row: None, options)
    group = Group()
    for (record, position), following in zip(records, [*records[1:], None], strict=True):
        running.feed(record, position)
        group.take(record)
        if following is not None and adjoins(position, following[1]):
            continue
        found: dict[str, list[Row]] = {}
        twin = twin_of(
            running,
            lambda table, row, found=found: found.setdefault(table, []).append(row),  # type: ignore[misc]
            position.record_timestamp_ms,
        )
        twin.finish()
        state = next((row for row in found.get(GROUP_STATES, ()) if row["is_current"]), None)
        continues = [row for row in found.get(REBALANCES, ()) if row["ended_at"] is None]
        yield group, state, continues[-1] if continues else None


@pytest.mark.parametrize("capture", NAMES)
def test_a_log_cut_after_any_write_names_no_member_that_has_arrived(capture: str) -> None:
    """Those for whom the group waits are those that the records show, at every moment of every consumer group."""
    assert_named_as_shown(read_capture(capture))


@pytest.mark.parametrize("seed", [3, 11])
def test_nor_does_a_simulated_one(seed: int, tmp_path: Path) -> None:
    """With failures and static members that come and go."""
    simulate(seed, Overrides(minutes=1, groups=3)).write(tmp_path)
    assert assert_named_as_shown(read_log(tmp_path))


def assert_named_as_shown(found: Log) -> int:
    """Look at each group of the consumer protocol after each write; returns how often somebody was awaited."""
    options, times = replace(found.options, with_findings=False), 0
    for group_id, records in found.groups.items():
        if any(record.record_type > 16 or 8 < record.record_type < 16 for record, _ in records):
            continue
        for group, state, continues in cuts(records, options):
            if state is None or state["protocol"] != "consumer":
                continue
            named = {each["member_id"] for each in state["awaited"] or ()}
            assert not named & group.arrived(), (group_id, named)
            missing = group.missing() if group.epoch else set()  # compaction may have taken it
            assert not missing or named == missing, (group_id, group.epoch)
            times += bool(named)
            if continues is not None and continues["protocol"] == "consumer":
                assert set(continues["held_up_member_ids"]) == named, group_id
                assert set(continues["held_up_to"]) <= {None}
    return times
