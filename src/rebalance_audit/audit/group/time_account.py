"""Every millisecond of a rebalance has one owner, or is said to have none.

Stretches overlap: a group can wait for two members at once. At each moment the time belongs to the one that the group
went on waiting for longest, so the time of the others is not counted twice.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.verdicts.cause import DEPARTURES, Certainty, RebalanceCause, Verdict

OWNERS_MAX: Final = 1_000
"""Bounds memory: in a group that never becomes stable, every client that comes and goes adds one."""


class HeldUpWhy(StrEnum):
    """Why the group had to wait."""

    KEPT_PARTITIONS = "kept_partitions"
    """The member kept partitions that it was asked to revoke."""
    DID_NOT_REJOIN = "did_not_rejoin"
    """Classic: the join phase waited for the member until it was removed or left."""
    SILENT = "silent"
    """The member sent no heartbeat until its session ended."""
    HAD_LEFT = "had_left"
    """A static member had left temporarily; the group waited for its return or the end of its session."""
    COORDINATOR = "coordinator"
    """The group moved to another coordinator meanwhile, and no member is known to have held it up."""
    LATE = "late"
    """The member had not reached the epoch yet: it had not heard of it, or had not answered."""
    NO_TARGET = "no_target"
    """The coordinator had no target assignment for the epoch yet; the next heartbeat of any member computes it."""
    NO_ASSIGNMENT = "no_assignment"
    """Classic: the leader had not sent its assignment yet."""
    FIRST_MEMBERS = "first_members"
    """Classic: the coordinator of an empty group gives more members time to join (group.initial.rebalance.delay.ms)."""
    UNKNOWN = "unknown"
    """No record shows what the group waited for."""


class TimeOwner(StrEnum):
    """Who or what a stretch of time belongs to."""

    MEMBER = "member"
    ASSIGNOR = "assignor"
    COORDINATOR = "coordinator"
    UNKNOWN = "unknown"


_OWNERS: Final = {
    HeldUpWhy.NO_TARGET: TimeOwner.ASSIGNOR,
    HeldUpWhy.NO_ASSIGNMENT: TimeOwner.ASSIGNOR,
    HeldUpWhy.COORDINATOR: TimeOwner.COORDINATOR,
    HeldUpWhy.FIRST_MEMBERS: TimeOwner.COORDINATOR,
    HeldUpWhy.UNKNOWN: TimeOwner.UNKNOWN,
}


class HoldUp(NamedTuple):
    """A stretch of time in which a group waited for one member, its coordinator or its assignor."""

    member_id: str | None
    """None for the coordinator, and for several members at once."""
    name: str
    """Instance id, else client id."""
    why: HeldUpWhy
    certainty: Certainty
    from_ms: int | None
    to_ms: int | None
    """Epoch ms, the coordinator's clock; None where the log does not hold it."""


def of_no_member(
    why: HeldUpWhy, certainty: Certainty, from_ms: int | None, to_ms: int | None
) -> HoldUp:
    """A stretch that belongs to no single member."""
    return HoldUp(None, _OWNERS.get(why, TimeOwner.MEMBER).value, why, certainty, from_ms, to_ms)


def hold_up_of(verdict: Verdict, why: HeldUpWhy, from_ms: int | None, to_ms: int | None) -> HoldUp:
    """The hold-up by a member whose end the verdict judges."""
    certainty = verdict.certainty
    if verdict.cause is RebalanceCause.MEMBER_DEPARTED:
        certainty = Certainty.POSSIBLE
    elif certainty is Certainty.PROBABLE and DEPARTURES.isdisjoint(verdict.alternatives):
        certainty = Certainty.PROVEN  # open is only whether it began the epoch
    member_id = verdict.member_id or ""
    name = verdict.instance_id or verdict.client_id or member_id
    return HoldUp(member_id, name, why, certainty, from_ms, to_ms)


@dataclass(slots=True)
class _Part:
    said: HoldUp
    """Its longest stretch."""
    longest_ms: int
    from_ms: int
    to_ms: int
    ms: int


@dataclass(slots=True)
class TimeAccount:
    """The parts of one rebalance."""

    parts: dict[str, _Part] = field(default_factory=dict)

    def add(self, from_ms: int, to_ms: int, layers: Iterable[Iterable[HoldUp]]) -> None:
        """Divide one stretch of the rebalance (epoch ms) among `layers`: a later one gets what earlier ones leave."""
        gaps = [(from_ms, to_ms)] if from_ms < to_ms else []
        for layer in layers:
            pieces = tuple(layer) if gaps else ()
            if pieces:
                gaps = [left for gap in gaps for left in self._divide(pieces, *gap)]
        for gap in gaps:
            self._count(of_no_member(HeldUpWhy.UNKNOWN, Certainty.PROVEN, *gap), *gap)

    def columns(self, lasted_ms: int | None) -> dict[str, Any]:
        """The columns `duration_parts` and `duration_unknown_ms` of gold.rebalances; null while it goes on.

        `lasted_ms`: how long the rebalance took, by the best estimate; the parts add up to it.
        """
        if lasted_ms is None:
            return {"duration_parts": None, "duration_unknown_ms": None}
        rows, left_ms = [], lasted_ms
        known = (part for part in self.parts.values() if part.said.why is not HeldUpWhy.UNKNOWN)
        for part in sorted(known, key=lambda part: (-part.ms, part.from_ms)):
            # Two clocks may stamp the parts and the whole.
            ms = min(part.ms, left_ms)
            left_ms -= ms
            if ms:
                rows.append(_row(part.said, part.from_ms, part.to_ms, ms))
        if left_ms:
            unknown = of_no_member(HeldUpWhy.UNKNOWN, Certainty.PROVEN, None, None)
            rows.append(_row(unknown, None, None, left_ms))
        return {"duration_parts": rows, "duration_unknown_ms": left_ms}

    def _divide(
        self, pieces: Iterable[HoldUp], from_ms: int, to_ms: int
    ) -> Iterator[tuple[int, int]]:
        """What the pieces leave; at each moment the one that lasts longest counts."""
        coming = sorted(
            (max(piece.from_ms, from_ms), -until_ms, number, piece)
            for number, piece in enumerate(pieces)
            if piece.from_ms is not None
            and (until_ms := to_ms if piece.to_ms is None else piece.to_ms)
            > max(piece.from_ms, from_ms)
        )
        coming.reverse()
        going: list[tuple[int, int, HoldUp]] = []
        at_ms = from_ms
        while at_ms < to_ms:
            while coming and coming[-1][0] <= at_ms:
                heappush(going, coming.pop()[1:])
            while going and -going[0][0] <= at_ms:
                heappop(going)
            next_ms = min(to_ms, coming[-1][0]) if coming else to_ms
            if going:
                next_ms = min(next_ms, -going[0][0])
                self._count(going[0][2], at_ms, next_ms)
            else:
                yield at_ms, next_ms
            at_ms = next_ms

    def _count(self, said: HoldUp, from_ms: int, to_ms: int) -> None:
        key = f"{said.why} {said.member_id or ''}"
        if key not in self.parts and len(self.parts) >= OWNERS_MAX:
            said = of_no_member(said.why, said.certainty, from_ms, to_ms)
            key = f"{said.why} "
        ms, part = to_ms - from_ms, self.parts.get(key)
        if part is None:
            self.parts[key] = _Part(said, ms, from_ms, to_ms, ms)
            return
        part.ms += ms
        part.from_ms, part.to_ms = min(part.from_ms, from_ms), max(part.to_ms, to_ms)
        if ms > part.longest_ms:
            part.said, part.longest_ms = said, ms


def _row(said: HoldUp, from_ms: int | None, to_ms: int | None, ms: int) -> dict[str, Any]:
    return {
        "owner": _OWNERS.get(said.why, TimeOwner.MEMBER).value,
        "member_id": said.member_id,
        "name": said.name,
        "why": said.why.value,
        "from_at": from_ms,
        "to_at": to_ms,
        "ms": ms,
        "certainty": said.certainty.text,
    }
