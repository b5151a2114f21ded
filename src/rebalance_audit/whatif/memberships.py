"""Memberships of a group, joined to the instances of the application that they belong to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import DEPARTURES, RebalanceCause
from rebalance_audit.whatif.group_rows import GroupRows
from rebalance_audit.whatif.join_phases import EpochKey

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
_CERTAIN: Final = frozenset({"instance", "client on host"})
STALE_MAX_MS: Final = 60_000
"""A process that died may stay a member for so long after its successor joined: the longest usual session."""
REPLACED: Final = RebalanceCause.STATIC_MEMBER_REPLACED.value


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


@dataclass(slots=True)
class Slot:
    """All stints of one instance, in order of time."""

    name: str
    stints: list[MemberStint] = field(default_factory=list)


def member_slots(rows: GroupRows) -> list[Slot]:
    """The instances with their stints.

    A member takes the place of a former one with the same instance id; else the same client id on the same host; else
    the same client id. Where several members have one client id at a time they are instances of their own.
    """
    slots: list[Slot] = []
    of_name: dict[tuple[str, ...], list[Slot]] = {}
    for stint in sorted(_stints(rows), key=lambda each: (each.from_ms, each.member["member_id"])):
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
    if name not in taken:
        return name
    number = 2
    while f"{name} #{number}" in taken:
        number += 1
    return f"{name} #{number}"


def _stints(rows: GroupRows) -> list[MemberStint]:
    arrivals: dict[tuple[int, str], list[Row]] = {}
    departures: dict[tuple[int, str], list[Row]] = {}
    for row in rows.causes:
        key = (row["incarnation"], row["member_id"])
        if row["cause"] in _ARRIVALS:
            arrivals.setdefault(key, []).append(row)
        elif row["cause"] in DEPARTURES:
            departures.setdefault(key, []).append(row)
    found: list[MemberStint] = []
    for member in rows.members:
        if member["first_seen_at"] is None:
            continue
        key = (member["incarnation"], member["member_id"])
        ends = departures.get(key, [])
        begins = [member["first_seen_at"]]
        if member["stints"] > 1:
            begins += [row["at"] for row in arrivals.get(key, []) if row["at"] > begins[0]]
        for place, from_ms in enumerate(begins):
            is_last = place == len(begins) - 1
            next_ms = None if is_last else begins[place + 1]
            end = next(
                (
                    row
                    for row in ends
                    if row["at"] >= from_ms and (next_ms is None or row["at"] <= next_ms)
                ),
                None,
            )
            stint = MemberStint(member, from_ms, incarnation=member["incarnation"])
            if end is not None:
                stint.to_ms, stint.how, stint.epoch = end["at"], end["cause"], end["epoch"]
                stint.weights = _weights(end)
            elif is_last:
                stint.to_ms, stint.how = member["left_at"], member["left_how"]
            else:
                stint.to_ms = next_ms
            found.append(stint)
    return found


def _weights(cause: Row) -> dict[str, float]:
    """Probabilities of how the member ended, from the cause and its weighed alternatives."""
    weighed = zip(cause["alternatives"], cause["alternative_weights"] or (), strict=False)
    alternatives = {name: weight for name, weight in weighed if weight}
    rest = max(0.0, 1.0 - sum(alternatives.values()))
    if cause["cause"] == RebalanceCause.MEMBER_DEPARTED:
        return alternatives
    return {cause["cause"]: rest, **alternatives}
