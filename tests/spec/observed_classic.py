"""Holds a log of classic groups against `spec/classic.qnt`: each record must end a run that the specification allows.

A log has one record per generation and nothing of the phases between two of them. So a run is made up that may lie
between: who is new joins, who is missing leaves, the others join again. Each of its steps is the specification's own
(`observed`) and must leave the record as it was (`isSilent`); the last one must record what the log shows
(`isAccepted`). Where several runs are thinkable, one that fits suffices.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, cast

from rebalance_audit.wire.consumer_protocol import decode_assignment
from rebalance_audit.wire.generated.messages import (
    GroupMetadataMember,
    GroupMetadataValue,
    RecordType,
)
from rebalance_audit.wire.records import group_id_of
from tests.spec.engine import Fields, Judge, Variant, itf
from tests.spec.observed import Logged, Verdict

LOGS: Final = "classicLogs"
"""The module that logs are judged by."""
NAMES: Final = tuple(f"m{number:02}" for number in range(64))
"""Its member ids."""
PASSING, WAITED_FOR = "passing", "waited for"
"""Two members that no record shows: one sets a rebalance off and leaves, for the other the join phase is kept open."""


class _RefusedError(Exception):
    """No run of this kind leads to what the log shows."""


@dataclass(slots=True)
class _Recorded:
    """What the last record of a group said."""

    generation: int = 0
    leader: str = ""
    members: Mapping[str, GroupMetadataMember] = field(default_factory=dict)


class ClassicLogJudge:
    """Follows the classic groups of one log partition."""

    def __init__(self, judge: Judge, verdict: Verdict) -> None:
        """`judge` evaluates the module `classicLogs`."""
        self._judge = judge
        self._verdict = verdict
        self._known: dict[str, _Recorded] = {}
        self._numbers: dict[object, int] = {}

    def follow(self, log: Iterable[Logged]) -> None:
        """Judge every record of a classic group."""
        for (group_id, _), entries in groupby(log, _write_key):
            write = list(entries)
            types = {record.record_type for record, _ in write} - {RecordType.OFFSET_COMMIT}
            for record, position in write:
                if record.record_type is not RecordType.GROUP_METADATA:
                    continue
                value = cast("GroupMetadataValue | None", record.value)
                if types == {RecordType.GROUP_METADATA}:
                    self._record(group_id, value, position.log_offset)
                else:
                    self._verdict.outside["conversion"] += 1
                self._note(group_id, value)

    def _record(self, group_id: str, value: GroupMetadataValue | None, log_offset: int) -> None:
        before = self._known.get(group_id, _Recorded())
        if value is None:
            # Kafka removes groups that are empty; this is no step of the protocol.
            if before.members:
                self._verdict.refused.append(
                    f"{group_id} at offset {log_offset}: with members, and removed"
                )
            self._verdict.outside["deletion"] += 1
            return
        if before == _Recorded() and value.generation == 0 and not value.members:
            self._verdict.accepted["Created"] += 1
            return
        kinds = GENERATIONS if value.members else DEPARTURES
        if value.generation == before.generation:
            kinds = RETURNS
        problems = []
        for kind, play in kinds.items():
            try:
                play(_Run(self._judge, self._number, before, value))
            except _RefusedError as problem:
                problems.append(f"{kind}: {problem}")
            else:
                self._verdict.accepted[kind] += 1
                return
        self._verdict.refused.append(
            f"{group_id} at offset {log_offset}: generation {before.generation}, led by "
            f"{before.leader}, {sorted(before.members)}, then {value.generation}, led by "
            f"{value.leader}, {sorted(each.member_id for each in value.members)}: {problems}"
        )

    def _note(self, group_id: str, value: GroupMetadataValue | None) -> None:
        self._known.pop(group_id, None)
        if value is not None:
            self._known[group_id] = _recorded(value)

    def _number(self, value: object) -> int:
        return self._numbers.setdefault(value, len(self._numbers))


class _Run:
    """Steps between two records of a group."""

    def __init__(
        self,
        judge: Judge,
        number: Callable[[object], int],
        before: _Recorded,
        shown: GroupMetadataValue,
    ) -> None:
        """Ids get names for this run alone, the leader's the first: Kafka goes through them in an order of its own."""
        self._judge = judge
        self._number = number
        self.before = before
        self.after = _recorded(shown)
        ids = [self.after.leader, *self.after.members, *before.members, PASSING, WAITED_FOR]
        distinct = [each for each in dict.fromkeys(ids) if each]
        self._names = {"": "", **dict(zip(distinct, NAMES, strict=False))}
        self._shown = self._group(self.after)
        self._now: Any = self._group(before)
        self.does(Variant("FailOver"))

    @property
    def unseen(self) -> int:
        """How many generations no record shows."""
        return self.after.generation - self.before.generation - 1

    @property
    def phase(self) -> str:
        """Of the group as it is now."""
        phase: str = self._now["phase"]
        return phase

    def does(self, event: Variant, *, ends: bool = False) -> None:
        """One step: a silent one, or the last."""
        accepted, self._now = self._judge.ask(
            {"group": self._now, "event": itf(event), "before": self._shown},
            ["isAccepted" if ends else "isSilent", "observed"],
        )
        if not accepted:
            raise _RefusedError(event.tag)

    def asks_for_id(self, member_id: str) -> None:
        """KIP-394."""
        self._joins(member_id, "", 0, known=False)

    def passes(self) -> None:
        """Somebody joins and leaves."""
        self.asks_for_id(PASSING)
        self._joins(PASSING, "", 0, known=True)
        self.leaves(PASSING)

    def comes(self, member_id: str, metadata: int) -> None:
        """Under the id that it was given; other metadata than before begin a generation."""
        self._joins(member_id, "", metadata, known=True)

    def joins(self, member_id: str, *, ends: bool = False) -> None:
        """With the metadata that the log shows."""
        member = self.after.members[member_id]
        instance = member.group_instance_id or ""
        known = member_id in self.before.members
        if not known and not instance:
            self.asks_for_id(member_id)
            known = True
        self._joins(member_id, instance, self._number(member.subscription), known=known, ends=ends)

    def joins_again(self) -> None:
        """All members do, with what they said before."""
        for name, member in list(self._now["members"]["#map"]):
            fields = Fields(
                member=name, instance=member["instance"], metadata=member["metadata"], fresh=name
            )
            self.does(Variant("JoinGroup", fields))

    def _joins(
        self, member_id: str, instance: str, metadata: int, *, known: bool, ends: bool = False
    ) -> None:
        name = self._names[member_id]
        fields = Fields(
            member=name if known else "", instance=instance, metadata=metadata, fresh=name
        )
        self.does(Variant("JoinGroup", fields), ends=ends)

    def leaves(self, member_id: str, *, ends: bool = False) -> None:
        """LeaveGroup; the end of its session would do the same."""
        self.does(Variant("LeaveGroup", self._names[member_id]), ends=ends)

    def ends_join_phase(self, *, ends: bool = False) -> None:
        """Its time is up, unless it has ended by itself."""
        if self.phase == "PREPARING":
            self.does(Variant("JoinTimeEnds"), ends=ends)

    def syncs(self) -> None:
        """The leader brings the assignment."""
        fields = Fields(
            member=self._names[self.after.leader],
            generation=self.after.generation,
            assignment={
                self._names[member_id]: self._share(member)
                for member_id, member in self.after.members.items()
            },
        )
        self.does(Variant("SyncGroup", fields), ends=True)

    def predecessor(self, member_id: str) -> str:
        """The member that had its instance id under another member id; "" if none."""
        instance = self.after.members[member_id].group_instance_id
        return next(
            (
                old
                for old, member in self.before.members.items()
                if instance and member.group_instance_id == instance and old != member_id
            ),
            "",
        )

    def _share(self, member: GroupMetadataMember) -> frozenset[int]:
        """Partitions as numbers; bytes that are no consumer's assignment count as one."""
        decoded = decode_assignment(member.assignment) if member.assignment else None
        if decoded is None:
            return frozenset({self._number(member.assignment)} if member.assignment else ())
        return frozenset(
            self._number((topic, partition))
            for topic, partitions in decoded.assigned_partitions
            for partition in partitions
        )

    def _group(self, recorded: _Recorded) -> Any:
        """A group known from its record alone."""
        members = {
            self._names[member_id]: Fields(
                instance=member.group_instance_id or "",
                metadata=self._number(member.subscription),
                joined=False,
                syncing=False,
                owes=False,
                isNew=False,
                assignment=self._share(member),
            )
            for member_id, member in recorded.members.items()
        }
        return itf(
            Fields(
                phase="EMPTY",
                initial=False,
                generation=0,
                leader="",
                members={},
                pending=frozenset(),
                recorded=Fields(
                    generation=recorded.generation,
                    leader=self._names[recorded.leader],
                    members=members,
                ),
            )
        )


def _static_return(run: _Run) -> None:
    """An instance is back under another member id, or under the same one with other metadata."""
    new = [each for each in run.after.members if each not in run.before.members]
    if len(new) != 1:
        raise _RefusedError(f"{len(new)} new members in one generation")
    run.joins(new[0], ends=True)


def _unseen_generation(run: _Run) -> None:
    """Its sync phase is interrupted before the leader has brought the assignment."""
    run.asks_for_id(WAITED_FOR)
    run.passes()
    run.joins_again()
    run.leaves(WAITED_FOR)
    run.ends_join_phase()


def _generation(run: _Run) -> None:
    """All that the record shows are there when the join phase ends, and the leader brings the assignment."""
    _complete_generation(run)


def _generation_after_expiry(run: _Run) -> None:
    """Static members that are there under new ids were removed before they came back."""
    _complete_generation(run, instances_are_kept=False)


def _generation_without_static_members(run: _Run) -> None:
    """Static members that are away stay in the group; if the leader was one of them, another leads."""
    _complete_generation(run, static_ones_join=False)


def _complete_generation(
    run: _Run, *, instances_are_kept: bool = True, static_ones_join: bool = True
) -> None:
    members = run.after.members
    leader_first = sorted(members, key=lambda each: each != run.after.leader)
    new = [each for each in leader_first if each not in run.before.members]
    gone = [each for each in run.before.members if each not in members]
    # Who leads next comes before the old leader goes, so that the lead falls to it and to no member who stays.
    leading = [each for each in new if each == run.after.leader]
    replaced = {run.predecessor(each) for each in (new if instances_are_kept else leading)}
    run.asks_for_id(WAITED_FOR)
    run.passes()
    for member_id in leading:
        run.joins(member_id)
    for member_id in gone:
        if member_id not in replaced:
            run.leaves(member_id)
    for member_id in new:
        if member_id not in leading:
            run.joins(member_id)
    for member_id in leader_first:
        was = run.before.members.get(member_id)
        # Who may be away: a static member that does not lead and has no change.
        says_new = was is not None and was.subscription != members[member_id].subscription
        is_there = static_ones_join or says_new or member_id == run.after.leader
        if was and (is_there or not was.group_instance_id):
            run.joins(member_id)
    run.leaves(WAITED_FOR)
    run.ends_join_phase()
    for _ in range(run.unseen):
        _unseen_generation(run)
    run.syncs()


def _departure(run: _Run) -> None:
    """No member is left."""
    for _ in range(run.unseen):
        _unseen_generation(run)
    if run.before.members:
        *others, last = run.before.members
        for member_id in others:
            run.leaves(member_id)
        run.leaves(last, ends=True)
    else:
        run.passes()
        run.ends_join_phase(ends=True)


def _stay_unseen(run: _Run) -> None:
    """Of a group without members somebody becomes one, and is gone before it has brought an assignment."""
    if run.before.members or not run.unseen:
        raise _RefusedError("members, or no unseen generation")
    run.asks_for_id(PASSING)
    for number in range(run.unseen):
        run.comes(PASSING, number)
        run.ends_join_phase()
    run.leaves(PASSING, ends=True)


Kinds = Mapping[str, Callable[[_Run], None]]

RETURNS: Final[Kinds] = {"Return": _static_return}
GENERATIONS: Final[Kinds] = {
    "Generation": _generation,
    "Generation after expiry": _generation_after_expiry,
    "Generation without static members": _generation_without_static_members,
}
DEPARTURES: Final[Kinds] = {"Departure": _departure, "Stay without a record": _stay_unseen}
"""Runs by kind, in the order in which they are tried."""


def _recorded(value: GroupMetadataValue) -> _Recorded:
    members = {member.member_id: member for member in value.members}
    return _Recorded(value.generation, value.leader or "", members)


def _write_key(entry: Logged) -> tuple[str, int]:
    record, position = entry
    return group_id_of(record.key), position.record_timestamp_ms
