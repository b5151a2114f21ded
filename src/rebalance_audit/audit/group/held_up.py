"""Who held a rebalance up: from when to when, why, and how certain that is. Nothing else decides it.

In consumer, share and streams groups every step of every member is a record. A classic group writes nothing during its
join phase, so only members that are gone when it ends can be named, by their sessions and their commits, unless a
broker's log says more.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.epochs.epoch_span import EpochSpan, MemberProgress
from rebalance_audit.audit.group.time_account import (
    HeldUpWhy,
    HoldUp,
    TimeAccount,
    TimeOwner,
    hold_up_of,
    of_no_member,
)
from rebalance_audit.audit.rows import duration_ms
from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause, Verdict

NAMED_FROM_PERCENT: Final = 10
"""Share of a rebalance for which the group must wait for a member to name it."""
NAMED_FROM_MS: Final = 100
STRETCHES_MAX: Final = 100
"""Bounds memory likewise."""
LATE_MAX: Final = 20
"""Members that have not reached an epoch; more of them are no longer listed one by one."""
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
LIKELY: Final = 0.85
"""Weight from which a member whose end is undecided is taken to have expired, and not to have left."""


class _Stretch(NamedTuple):
    """An epoch's part of a rebalance (epoch ms), and what the group waited for where no hold-up covers it."""

    from_ms: int
    to_ms: int
    awaited: tuple[HoldUp, ...] = ()
    steps: tuple[HoldUp, ...] = ()
    late: tuple[HoldUp, ...] = ()
    """Of the member that reached it last; of all that had not when the next epoch began, unless they are many."""


@dataclass(slots=True)
class HoldUps:
    """The hold-ups of one rebalance, by member, and the owners of its time."""

    found: dict[str, list[HoldUp]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    """Members that were removed in the epoch that ended last, and gave no sign in it."""
    moves: bool = False
    """The group moved to another coordinator meanwhile, or may have."""
    account: TimeAccount = field(default_factory=TimeAccount)
    stretches: list[_Stretch] = field(default_factory=list)
    """Epochs that followed one another and are not yet in the account: a later one may show who was silent in them."""
    recent: list[HoldUp] = field(default_factory=list)
    """Hold-ups since the first of them began."""

    def add(self, hold_ups: Iterable[HoldUp]) -> None:
        """Note more of them; the first `HOLD_UPS_MAX` members of a rebalance are kept."""
        for hold_up in hold_ups:
            key = hold_up.member_id or ""
            if key in self.found or len(self.found) < HOLD_UPS_MAX:
                self.found.setdefault(key, []).append(hold_up)
                self.recent.append(hold_up)

    def end_epoch(self, span: EpochSpan, until_ms: int | None) -> None:
        """An epoch of a group whose coordinator assigns is over for the rebalance at `until_ms`; None: the log ends."""
        self.add(while_reconciling(span.progress.values(), until_ms))
        self.moves |= span.is_elsewhere
        self.silent = {
            member_id for member_id, progress in span.progress.items() if _left_silently(progress)
        }
        if until_ms is not None and span.started_at_ms is not None:
            if len(self.stretches) >= STRETCHES_MAX:
                self.settle()
            self.stretches.append(_stretch(span, span.started_at_ms, until_ms))

    def end_generation(self, from_ms: int, to_ms: int, steps: Iterable[HoldUp]) -> None:
        """A join phase and the assignment after it are over; `steps`: what they took besides hold-ups."""
        hold_ups = tuple(self.recent)
        self.settle()
        self.account.add(from_ms, to_ms, (hold_ups, steps))

    def settle(self) -> None:
        """Count the time of the epochs that have ended."""
        if self.stretches:
            awaited = [each for stretch in self.stretches for each in stretch.awaited]
            steps = [each for stretch in self.stretches for each in stretch.steps]
            last: str | None = None
            for stretch in reversed(self.stretches):
                # Of several members the one that the next epoch went on waiting for.
                late = [each for each in stretch.late if each.member_id == last] or stretch.late
                if len(late) > 1:
                    late = [late[0]._replace(member_id=None, name=TimeOwner.MEMBER.value)]
                last = late[0].member_id if late else None
                steps += late
            from_ms, to_ms = self.stretches[0].from_ms, self.stretches[-1].to_ms
            self.account.add(from_ms, to_ms, (self.recent, awaited, steps))
            self.stretches.clear()
        self.recent.clear()

    def depart(
        self, verdicts: Iterable[Verdict], last_signs: Mapping[str, int], started_ms: int | None
    ) -> None:
        """Members are gone whose coordinator assigns.

        `last_signs`: when each was last heard of; `started_ms`: when the rebalance started (epoch ms).
        """
        for verdict in verdicts:
            member_id, cause = verdict.member_id, verdict.cause
            if member_id is None or cause not in UNANNOUNCED:
                continue
            if member_id not in self.silent and not is_unannounced(verdict):
                continue
            since_ms = last_signs.get(member_id)
            if since_ms is not None and started_ms is not None and verdict.at_ms > started_ms:
                since_ms = max(since_ms, started_ms)
            if self._waits_until(member_id, verdict.at_ms):
                continue
            had_left = cause is RebalanceCause.STATIC_MEMBER_EXPIRED
            why = HeldUpWhy.HAD_LEFT if had_left else HeldUpWhy.SILENT
            self.add([hold_up_of(verdict, why, since_ms, verdict.at_ms)])

    def asked_since(self, member_id: str, span: EpochSpan) -> int | None:
        """When a member that is giving partitions up was first asked to (epoch ms), in `span` or in epochs before it.

        None where neither shows it.
        """
        asked = [
            hold_up.from_ms
            for hold_up in self.found.get(member_id, ())
            if hold_up.why is HeldUpWhy.KEPT_PARTITIONS
        ]
        progress = span.progress.get(member_id)
        if progress is not None:
            asked.append(progress.revoke_started_at_ms)
        return min((at_ms for at_ms in asked if at_ms is not None), default=None)

    def _waits_until(self, member_id: str, at_ms: int) -> bool:
        """Whether the group is known to have waited for the member just until then."""
        found = self.found.get(member_id, ())
        return any(each.to_ms is None or each.to_ms >= at_ms for each in found)

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
                _came_before(each, started_ms),
                each.worst.certainty is Certainty.POSSIBLE,
                -(each.ms or 0),
                each.worst.name,
            ),
        )
        if self.moves and not named and lasted_ms >= NAMED_FROM_MS:
            moved = of_no_member(HeldUpWhy.COORDINATOR, Certainty.POSSIBLE, started_ms, ended_ms)
            named = [_merged([moved])]
        return {
            "held_up_by": [each.worst.name for each in named],
            "held_up_member_ids": [each.worst.member_id for each in named],
            "held_up_from": [each.from_ms for each in named],
            "held_up_to": [each.to_ms for each in named],
            "held_up_ms": [each.ms for each in named],
            "held_up_why": [each.worst.why.value for each in named],
            "held_up_certainty": named[0].worst.certainty.text if named else None,
            "held_up_certainties": [each.worst.certainty.text for each in named],
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


def _came_before(merged: _Merged, started_ms: int | None) -> bool:
    """Whether the group waited for it before the rebalance, which its end set off."""
    return merged.to_ms is not None and started_ms is not None and merged.to_ms <= started_ms


def _ms(hold_up: HoldUp) -> int | None:
    return duration_ms(hold_up.from_ms, hold_up.to_ms)


def _left_silently(progress: MemberProgress) -> bool:
    """Whether it was removed without having reached the epoch or begun to give partitions up or to wait for some."""
    return (
        progress.outcome == "left"
        and progress.revoke_started_at_ms is None
        and not progress.waited_for
        and not progress.is_away
    )


def while_reconciling(
    members: Collection[MemberProgress], until_ms: int | None
) -> Iterator[HoldUp]:
    """Members that kept others waiting in an epoch, by their records; `until_ms`: its end, None while it goes on."""
    waits: dict[str, list[tuple[int, int | None]]] = {}
    for progress in members:
        if progress.waited_since_ms is not None:
            for member_id in progress.waited_for:
                waits.setdefault(member_id, []).append(
                    (progress.waited_since_ms, progress.waited_until_ms or until_ms)
                )
    for progress in members:
        asked_ms, awaited = progress.revoke_started_at_ms, waits.get(progress.member_id, ())
        if asked_ms is not None and (awaited or progress.revoked_at_ms is None):
            why, from_ms = HeldUpWhy.KEPT_PARTITIONS, asked_ms
            if progress.is_away and progress.revoked_at_ms is None:
                why = HeldUpWhy.HAD_LEFT
            to_ms = progress.revoked_at_ms or until_ms
        elif awaited and progress.is_away:
            why, from_ms = HeldUpWhy.HAD_LEFT, min(since for since, _ in awaited)
            ends = [end for _, end in awaited]
            to_ms = None if None in ends else max(end for end in ends if end is not None)
        else:
            continue
        yield _of(progress, why, Certainty.PROVEN, from_ms, to_ms)


def _of(
    progress: MemberProgress,
    why: HeldUpWhy,
    certainty: Certainty,
    from_ms: int | None,
    to_ms: int | None,
) -> HoldUp:
    name = progress.instance_id or progress.client_id or progress.member_id
    return HoldUp(progress.member_id, name, why, certainty, from_ms, to_ms)


def _stretch(span: EpochSpan, from_ms: int, to_ms: int) -> _Stretch:
    """What an epoch takes besides hold-ups: its target, then the way of the last member that reached it.

    That member's waits are the time of those that it waited for.
    """
    if span.is_elsewhere:
        moved = of_no_member(HeldUpWhy.COORDINATOR, Certainty.POSSIBLE, from_ms, to_ms)
        return _Stretch(from_ms, to_ms, steps=(moved,))
    if not span.members:
        return _Stretch(from_ms, to_ms)
    sure = Certainty.POSSIBLE if span.is_doubted else Certainty.PROVEN
    target_ms = span.target_installed_at_ms
    target_ms = to_ms if target_ms is None else min(target_ms, to_ms)
    no_target = of_no_member(HeldUpWhy.NO_TARGET, sure, from_ms, target_ms)
    missing, others = last_to_reach(span)
    late = tuple(_of(each, HeldUpWhy.LATE, sure, target_ms, to_ms) for each in missing)
    if others or len(late) > LATE_MAX:
        late = (of_no_member(HeldUpWhy.LATE, sure, target_ms, to_ms),)
    awaited: tuple[HoldUp, ...] = ()
    if len(missing) == 1:
        last = missing[0]
        awaited = tuple(
            _of(other, HeldUpWhy.LATE, sure, last.waited_since_ms, _first_step(other, to_ms))
            for member_id in sorted(last.waited_for)
            if (other := span.progress.get(member_id)) is not None
        )
    return _Stretch(from_ms, to_ms, awaited, (no_target,), late)


def last_to_reach(span: EpochSpan) -> tuple[list[MemberProgress], int]:
    """The member that reached the epoch last, or those that have not and how many more of them there are."""
    known = (*span.progress.values(), *span.quiet)
    if span.converged_at_ms is None:
        missing = [progress for progress in known if progress.reached_at_ms is None]
        return missing, span.members_not_in(known)
    reached = [progress for progress in known if progress.reached_at_ms is not None]
    return sorted(reached, key=lambda each: each.reached_at_ms or 0)[-1:], 0


def _first_step(progress: MemberProgress, until_ms: int) -> int:
    """When a member that others waited for answered first; at most `until_ms` (epoch ms)."""
    moments = (progress.revoke_started_at_ms, progress.reached_at_ms, until_ms)
    return min(until_ms, next(moment for moment in moments if moment is not None))


def is_unannounced(verdict: Verdict) -> bool:
    """Whether the member is gone without having said so, as far as its end is decided or weighed."""
    return silent_weight(verdict) >= LIKELY


def silent_weight(verdict: Verdict | None) -> float:
    """How likely it is that a member that is gone did not say so; 0.5 without any evidence."""
    if verdict is None:
        return 0.5
    if verdict.cause is not RebalanceCause.MEMBER_DEPARTED:
        return float(verdict.cause in UNANNOUNCED)
    return sum(weight for cause, weight in verdict.weights if cause in UNANNOUNCED)
