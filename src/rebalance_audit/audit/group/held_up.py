"""Who held a rebalance up: from when to when, why, and how certain that is. Nothing else decides it.

In consumer, share and streams groups every step of every member is a record. A classic group writes nothing during its
join phase, so only members that are gone when it ends can be named, by their sessions and their commits.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.epochs.epoch_span import EpochSpan, MemberProgress
from rebalance_audit.audit.rows import duration_ms
from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause, Verdict

NAMED_FROM_PERCENT: Final = 10
"""Share of a rebalance for which the group must wait for a member to name it."""
NAMED_FROM_MS: Final = 100
HOLD_UPS_MAX: Final = 1_000
"""Bounds memory: in a group that never becomes stable, every client that comes and goes adds one."""

UNANNOUNCED: Final = frozenset(
    {
        RebalanceCause.MEMBER_SESSION_EXPIRED,
        RebalanceCause.STATIC_MEMBER_EXPIRED,
        RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
        RebalanceCause.MEMBER_DEPARTED,
    }
)
"""Ends of members that did not announce that they leave, or may not have."""


class HeldUpWhy(StrEnum):
    """Why the group had to wait."""

    KEPT_PARTITIONS = "kept_partitions"
    """The member kept partitions that it was asked to revoke."""
    DID_NOT_REJOIN = "did_not_rejoin"
    """Classic: the join phase waited for the member until a timeout removed it."""
    SILENT = "silent"
    """The member sent no heartbeat until its session ended."""
    HAD_LEFT = "had_left"
    """A static member had left temporarily, and its partitions waited for its return or the end of its session."""
    COORDINATOR = "coordinator"
    """The group moved to another coordinator meanwhile, and no member is known to have held it up."""


class HoldUp(NamedTuple):
    """A stretch of time in which a group waited for one member, or for its coordinator."""

    member_id: str | None
    """None for the coordinator."""
    name: str
    """Instance id, else client id."""
    why: HeldUpWhy
    certainty: Certainty
    from_ms: int | None
    to_ms: int | None
    """Epoch ms, the coordinator's clock; None where the log does not hold it."""


@dataclass(slots=True)
class HoldUps:
    """The hold-ups of one rebalance, by member."""

    found: dict[str, list[HoldUp]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    """Members that were removed in the epoch that ended last, and gave no sign in it."""
    moves: bool = False
    """The group moved to another coordinator meanwhile, or may have."""

    def add(self, hold_ups: Iterable[HoldUp]) -> None:
        """Note more of them; the first `HOLD_UPS_MAX` members of a rebalance are kept."""
        for hold_up in hold_ups:
            key = hold_up.member_id or ""
            if key in self.found or len(self.found) < HOLD_UPS_MAX:
                self.found.setdefault(key, []).append(hold_up)

    def end_epoch(self, span: EpochSpan, until_ms: int | None) -> None:
        """An epoch of a group whose coordinator assigns is over for the rebalance at `until_ms`; None: the log ends."""
        self.add(_while_reconciling(span, until_ms))
        self.moves |= span.is_elsewhere
        self.silent = {
            member_id for member_id, progress in span.progress.items() if _left_silently(progress)
        }

    def depart(
        self, verdicts: Iterable[Verdict], last_signs: Mapping[str, int], started_ms: int | None
    ) -> None:
        """Members are gone whose coordinator assigns.

        `last_signs`: when each was last heard of; `started_ms`: when the rebalance started (epoch ms).
        """
        for verdict in verdicts:
            member_id, cause = verdict.member_id, verdict.cause
            if member_id is None or member_id in self.found or cause not in UNANNOUNCED:
                continue
            if cause is RebalanceCause.MEMBER_DEPARTED and member_id not in self.silent:
                continue
            since_ms = last_signs.get(member_id)
            if since_ms is not None and started_ms is not None and verdict.at_ms > started_ms:
                since_ms = max(since_ms, started_ms)
            had_left = cause is RebalanceCause.STATIC_MEMBER_EXPIRED
            why = HeldUpWhy.HAD_LEFT if had_left else HeldUpWhy.SILENT
            self.add([hold_up_of(verdict, why, since_ms, verdict.at_ms)])

    def columns(self, started_ms: int | None, ended_ms: int | None) -> dict[str, Any]:
        """The columns `held_up_*` of gold.rebalances, of those for whom the group waited a share worth naming.

        The coordinator is named where no member is. `started_ms`, `ended_ms`: of the rebalance (epoch ms).
        """
        lasted_ms = 0 if started_ms is None or ended_ms is None else ended_ms - started_ms
        least_ms = max(NAMED_FROM_MS, lasted_ms * NAMED_FROM_PERCENT // 100)
        merged = [_merged(pieces) for pieces in self.found.values()]
        named = sorted(
            (each for each in merged if each.ms is None or each.ms >= least_ms),
            key=lambda each: (
                each.worst.certainty is Certainty.POSSIBLE,
                -(each.ms or 0),
                each.worst.name,
            ),
        )
        if self.moves and not named and lasted_ms >= NAMED_FROM_MS:
            moved = HoldUp(
                None,
                HeldUpWhy.COORDINATOR.value,
                HeldUpWhy.COORDINATOR,
                Certainty.POSSIBLE,
                started_ms,
                ended_ms,
            )
            named = [_merged([moved])]
        return {
            "held_up_by": [each.worst.name for each in named],
            "held_up_member_ids": [each.worst.member_id for each in named],
            "held_up_from": [each.from_ms for each in named],
            "held_up_to": [each.to_ms for each in named],
            "held_up_ms": [each.ms for each in named],
            "held_up_why": [each.worst.why.value for each in named],
            "held_up_certainty": named[0].worst.certainty.text if named else None,
        }


class _Merged(NamedTuple):
    worst: HoldUp
    """The longest stretch."""
    from_ms: int | None
    to_ms: int | None
    ms: int | None
    """Time that any of the stretches covers."""


def _merged(pieces: Sequence[HoldUp]) -> _Merged:
    worst = max(pieces, key=lambda piece: (_ms(piece) or -1, piece.why))
    known = sorted(
        (piece.from_ms, piece.to_ms)
        for piece in pieces
        if piece.from_ms is not None and piece.to_ms is not None and _ms(piece) is not None
    )
    if not known:
        return _Merged(worst, worst.from_ms, worst.to_ms, None)
    covered_ms, reached_ms = 0, known[0][0]
    for from_ms, to_ms in known:
        covered_ms += max(0, to_ms - max(from_ms, reached_ms))
        reached_ms = max(reached_ms, to_ms)
    return _Merged(worst, known[0][0], reached_ms, covered_ms)


def _ms(hold_up: HoldUp) -> int | None:
    return duration_ms(hold_up.from_ms, hold_up.to_ms)


def hold_up_of(verdict: Verdict, why: HeldUpWhy, from_ms: int | None, to_ms: int | None) -> HoldUp:
    """The hold-up by a member whose end the verdict judges."""
    certainty = verdict.certainty
    if verdict.cause is RebalanceCause.MEMBER_DEPARTED:
        certainty = Certainty.POSSIBLE
    member_id = verdict.member_id or ""
    name = verdict.instance_id or verdict.client_id or member_id
    return HoldUp(member_id, name, why, certainty, from_ms, to_ms)


def _left_silently(progress: MemberProgress) -> bool:
    """Whether it was removed without having reached the epoch or begun to give partitions up or to wait for some."""
    return (
        progress.outcome == "left"
        and progress.revoke_started_at_ms is None
        and not progress.waited_for
        and not progress.is_away
    )


def _while_reconciling(span: EpochSpan, until_ms: int | None) -> Iterator[HoldUp]:
    waits: dict[str, list[tuple[int, int | None]]] = {}
    for progress in span.progress.values():
        if progress.waited_since_ms is not None:
            for member_id in progress.waited_for:
                waits.setdefault(member_id, []).append(
                    (progress.waited_since_ms, progress.waited_until_ms or until_ms)
                )
    for progress in span.progress.values():
        name = progress.instance_id or progress.client_id or progress.member_id
        asked_ms, awaited = progress.revoke_started_at_ms, waits.get(progress.member_id, ())
        if asked_ms is not None and (awaited or progress.revoked_at_ms is None):
            why, from_ms = HeldUpWhy.KEPT_PARTITIONS, asked_ms
            to_ms = progress.revoked_at_ms or until_ms
        elif awaited and progress.is_away:
            why, from_ms = HeldUpWhy.HAD_LEFT, min(since for since, _ in awaited)
            ends = [end for _, end in awaited]
            to_ms = None if None in ends else max(end for end in ends if end is not None)
        else:
            continue
        yield HoldUp(progress.member_id, name, why, Certainty.PROVEN, from_ms, to_ms)
