"""Memberships of a group, joined to the instances of the application, and the join phases between them.

How each ended, and whom a join phase waited for, is what the audit says.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count, pairwise, zip_longest
from typing import Final

from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import DEPARTURES, RebalanceCause
from rebalance_audit.report.verdict import held_up_of
from rebalance_audit.whatif.group_rows import GroupRows

EpochKey = tuple[int, int]
"""Incarnation and epoch."""

_FOLLOW_UP: Final = RebalanceCause.COOPERATIVE_FOLLOW_UP.value
_ARRIVALS: Final = frozenset(
    {
        RebalanceCause.MEMBER_JOINED,
        RebalanceCause.STATIC_MEMBER_JOINED,
    }
)
_SILENT: Final = frozenset(
    {
        RebalanceCause.MEMBER_SESSION_EXPIRED.value,
        RebalanceCause.MEMBER_DEPARTED.value,
    }
)
_AWAITED: Final = "did_not_rejoin"
_CERTAIN: Final = frozenset({"instance", "client on host"})
STALE_MAX_MS: Final = 60_000
"""A process that died may stay a member for so long after its successor joined: the longest usual session."""
REPLACED: Final = RebalanceCause.STATIC_MEMBER_REPLACED.value


@dataclass(slots=True)
class PhaseTimes:
    """One generation; moments are epoch milliseconds."""

    key: EpochKey
    earliest_ms: int
    """Not before this."""
    begin_ms: int
    """Most likely."""
    complete_ms: int
    """All members have joined."""
    stable_ms: int
    """The leader's assignment is in the log."""
    gave_up: dict[str, int] = field(default_factory=dict)
    """Member id -> its last commit before the generation, of those whose partitions changed hands with it."""
    is_follow_up: bool = False
    is_first: bool = False
    """Whether the group had no members before."""

    @property
    def length_ms(self) -> int:
        """From its likely begin to its end."""
        return self.complete_ms - self.begin_ms


@dataclass(slots=True)
class MemberStint:
    """One membership; moments are epoch milliseconds."""

    member: Row
    """Its row of gold.members."""
    from_ms: int
    """First record that has it."""
    to_ms: int | None = None
    """First record that has it no more; None: it is still a member."""
    how: str | None = None
    """The cause that ended it."""
    weights: dict[str, float] = field(default_factory=dict)
    """Cause -> probability, as far as the audit weighed them."""
    epoch: int | None = None
    """The epoch that began without it."""
    incarnation: int = 0
    last_commit_ms: int | None = None
    began_in: PhaseTimes | None = None
    """The join phase of the classic generation that it appeared in."""
    ended_in: PhaseTimes | None = None
    """The one of the generation that it was missing in."""
    was_awaited: bool = False
    """Whether the join phase waited for it until that removed it."""


@dataclass(slots=True)
class Slot:
    """All stints of one instance, in order of time."""

    name: str
    stints: list[MemberStint] = field(default_factory=list)


def member_slots(rows: GroupRows, phases: Mapping[EpochKey, PhaseTimes]) -> list[Slot]:
    """The instances with their stints.

    A member takes the place of a former one with the same instance id; else the same client id on the same host; else
    the same client id. Where several members have one client id at a time they are instances of their own.
    """
    slots: list[Slot] = []
    of_name: dict[tuple[str, ...], list[Slot]] = {}
    for stint in sorted(
        _stints(rows, phases), key=lambda stint: (stint.from_ms, stint.member["member_id"])
    ):
        slot = _free_slot(of_name, stint)
        if slot is None:
            slot = Slot(_name(stint.member, slots))
            slots.append(slot)
        slot.stints.append(stint)
        for key in _keys(stint.member):
            found = of_name.setdefault(key, [])
            if slot not in found:
                found.append(slot)
    return slots


def slot_names(slots: Iterable[Slot]) -> Mapping[str, str]:
    """Member id -> the name of its instance."""
    return {stint.member["member_id"]: slot.name for slot in slots for stint in slot.stints}


def members_gone(slots: Iterable[Slot]) -> Mapping[EpochKey, set[str]]:
    """Epoch that began without them -> member ids."""
    gone: dict[EpochKey, set[str]] = {}
    for slot in slots:
        for stint in slot.stints:
            if stint.epoch is not None:
                key = (stint.incarnation, stint.epoch)
                gone.setdefault(key, set()).add(stint.member["member_id"])
    return gone


def _free_slot(of_name: dict[tuple[str, ...], list[Slot]], stint: MemberStint) -> Slot | None:
    for key in _keys(stint.member):
        for slot in of_name.get(key, ()):
            last = slot.stints[-1]
            is_same = last.member["member_id"] == stint.member["member_id"]
            is_over = last.to_ms is not None and last.to_ms <= stint.from_ms
            if is_same or is_over or (key[0] in _CERTAIN and _is_stale(last, stint)):
                return slot
    return None


def _is_stale(last: MemberStint, stint: MemberStint) -> bool:
    """Whether a membership lasted only until its session ended, while the next process had already joined."""
    return (
        last.how in _SILENT
        and last.to_ms is not None
        and last.from_ms < stint.from_ms < last.to_ms <= stint.from_ms + STALE_MAX_MS
    )


def _keys(member: Row) -> Iterable[tuple[str, ...]]:
    """What a restart keeps, the surest first."""
    if member["instance_id"] is not None:
        return (("instance", member["instance_id"]),)
    client_id, host = member["client_id"] or "", member["client_host"] or ""
    return (
        ("member", member["member_id"]),
        ("client on host", client_id, host),
        ("client", client_id),
    )


def _name(member: Row, slots: list[Slot]) -> str:
    name = str(member["instance_id"] or member["client_id"] or member["member_id"])
    taken = {slot.name for slot in slots}
    numbered = (f"{name} #{number}" for number in count(2))
    return next(each for each in chain([name], numbered) if each not in taken)


def _stints(rows: GroupRows, phases: Mapping[EpochKey, PhaseTimes]) -> list[MemberStint]:
    arrivals: dict[tuple[int, str], list[Row]] = {}
    departures: dict[tuple[int, str], list[Row]] = {}
    for row in rows.causes:
        key = (row["incarnation"], row["member_id"])
        if row["cause"] in _ARRIVALS:
            arrivals.setdefault(key, []).append(row)
        elif row["cause"] in DEPARTURES:
            departures.setdefault(key, []).append(row)
    commits: dict[str, list[int]] = {}
    for row in rows.ownership:
        if row["last_committed_at"] is not None:
            commits.setdefault(row["member_id"], []).append(row["last_committed_at"])
    awaited = {
        (row["incarnation"], each.member_id)
        for row in rows.rebalances
        for each in held_up_of(row)
        if each.why == _AWAITED
    }
    in_order = sorted(phases.values(), key=_completed)
    found: list[MemberStint] = []
    for member in rows.members:
        if member["first_seen_at"] is None:
            continue
        key = (member["incarnation"], member["member_id"])
        ends = departures.get(key, [])
        begins = [member["first_seen_at"]]
        if member["stints"] > 1:
            begins += [row["at"] for row in arrivals.get(key, []) if row["at"] > begins[0]]
        for from_ms, next_ms in zip_longest(begins, begins[1:]):
            stint = MemberStint(member, from_ms, next_ms, incarnation=member["incarnation"])
            own = (row for row in ends if row["at"] >= from_ms)
            end = next((row for row in own if next_ms is None or row["at"] <= next_ms), None)
            if end is not None:
                stint.to_ms, stint.how, stint.epoch = end["at"], end["cause"], end["epoch"]
                stint.weights = _weights(end)
            elif next_ms is None:
                stint.to_ms, stint.how = member["left_at"], member["left_how"]
            to_ms = stint.to_ms
            since = (at_ms for at_ms in commits.get(member["member_id"], ()) if from_ms <= at_ms)
            stint.last_commit_ms = max(
                (at_ms for at_ms in since if to_ms is None or at_ms <= to_ms), default=None
            )
            stint.was_awaited = key in awaited
            if member["protocol"] == "classic":
                stint.began_in = _phase_at(in_order, stint.incarnation, from_ms)
                stint.ended_in = _phase_at(in_order, stint.incarnation, to_ms)
            found.append(stint)
    return found


def _completed(phase: PhaseTimes) -> tuple[int, int]:
    return phase.key[0], phase.complete_ms


def _phase_at(
    in_order: Sequence[PhaseTimes], incarnation: int, at_ms: int | None
) -> PhaseTimes | None:
    """The one whose generation a member appeared or was missing in then."""
    if at_ms is None:
        return None
    place = bisect_right(in_order, (incarnation, at_ms), key=_completed) - 1
    phase = in_order[place] if place >= 0 else None
    is_it = phase is not None and phase.key[0] == incarnation and at_ms <= phase.stable_ms
    return phase if is_it else None


def _weights(cause: Row) -> dict[str, float]:
    """Probabilities of how the member ended, from the cause and its weighed alternatives."""
    weighed = zip(cause["alternatives"], cause["alternative_weights"] or (), strict=False)
    alternatives = {name: weight for name, weight in weighed if weight}
    rest = max(0.0, 1.0 - sum(alternatives.values()))
    if cause["cause"] == RebalanceCause.MEMBER_DEPARTED:
        return alternatives
    return {cause["cause"]: rest, **alternatives}


# --- join phases -------------------------------------------------------------------------------------


def join_phases(rows: GroupRows) -> dict[EpochKey, PhaseTimes]:
    """The join phases of all classic generations in the log."""
    gave_up = _gave_up(rows.ownership)
    follow_ups = {
        (row["incarnation"], row["epoch"]) for row in rows.causes if row["cause"] == _FOLLOW_UP
    }
    found: dict[EpochKey, PhaseTimes] = {}
    for row in rows.epochs:
        phase = _phase(row, gave_up)
        if phase is not None:
            phase.is_follow_up = phase.key in follow_ups
            found[phase.key] = phase
    return found


def _phase(row: Row, gave_up: Mapping[EpochKey, dict[str, int]]) -> PhaseTimes | None:
    complete_ms = row["started_at"]
    if row["protocol"] != "classic" or complete_ms is None:
        return None
    stable_ms = row["target_installed_at"] or complete_ms
    key = (row["incarnation"], row["epoch"])
    earliest_ms = row["join_started_earliest"] or complete_ms
    estimate_ms = row["not_stable_estimate_ms"]
    begin_ms = complete_ms if estimate_ms is None else stable_ms - estimate_ms
    commits = {
        member: at_ms
        for member, at_ms in gave_up.get(key, {}).items()
        if earliest_ms <= at_ms <= complete_ms
    }
    begin_ms = min(max(begin_ms, earliest_ms), complete_ms)
    is_first = bool(row["members"]) and row["members"] == row["members_joined"]
    return PhaseTimes(
        key, earliest_ms, begin_ms, complete_ms, stable_ms, commits, is_first=is_first
    )


def _gave_up(ownership: Sequence[Row]) -> dict[EpochKey, dict[str, int]]:
    found: dict[EpochKey, dict[str, int]] = {}
    for row in ownership:
        if row["to_epoch"] is None or row["last_committed_at"] is None:
            continue
        of_epoch = found.setdefault((row["incarnation"], row["to_epoch"]), {})
        known = of_epoch.get(row["member_id"], 0)
        of_epoch[row["member_id"]] = max(known, row["last_committed_at"])
    return found


def heard_after_ms(phase: PhaseTimes, gone: Collection[str]) -> list[int]:
    """How long before the end of the join phase each member that stayed gave up partitions for it.

    `gone`: members that did not stay; their last commits show when they closed or died. A member that commits only on
    its interval shows when it last did so, which may be long before.
    """
    longest_ms = 2 * phase.length_ms + 1_000
    return sorted(
        phase.complete_ms - at_ms
        for member, at_ms in phase.gave_up.items()
        if member not in gone and phase.complete_ms - at_ms < longest_ms
    )


def follow_up_delays(
    phases: Mapping[EpochKey, PhaseTimes],
) -> list[tuple[PhaseTimes, PhaseTimes, int]]:
    """Each generation with its cooperative follow-up, and the milliseconds from its assignment to the other's begin."""
    ordered = sorted(phases.values(), key=lambda phase: phase.key)
    return [
        (before, after, after.complete_ms - before.stable_ms)
        for before, after in pairwise(ordered)
        if after.is_follow_up and after.key[0] == before.key[0]
    ]
