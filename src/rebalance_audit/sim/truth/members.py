"""How every member really ended."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from rebalance_audit.audit.causes.cause import RebalanceCause
from rebalance_audit.replay.changes import (
    Change,
    MemberAssigned,
    MemberUnsubscribed,
)
from rebalance_audit.replay.modern.group import STATIC_LEAVE_EPOCH
from rebalance_audit.sim.brokers.broker import Happening
from rebalance_audit.sim.truth.causes import Reason, departure_cause
from rebalance_audit.sim.truth.group_look import GroupLook

ENDS: Final = frozenset(
    {
        RebalanceCause.MEMBER_LEFT,
        RebalanceCause.MEMBER_SESSION_EXPIRED,
        RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
        RebalanceCause.MEMBER_REMOVED_BY_ADMIN,
    }
)
"""What ends a classic member."""


@dataclass(slots=True)
class MemberTruth:
    """One member id, as the log shows it."""

    member_id: str
    instance_id: str | None
    joined_at_ms: int
    ended_at_ms: int | None = None
    end: str | None = None
    """A cause, or None while it is a member."""


@dataclass(slots=True)
class MembersOf:
    """The members of one group."""

    present: dict[str, MemberTruth] = field(default_factory=dict)
    past: list[MemberTruth] = field(default_factory=list)

    def follow(
        self,
        look: GroupLook,
        changes: list[Change],
        happening: Happening,
        reasons: tuple[Reason, ...],
        now_ms: int,
    ) -> None:
        """Follow the members after a write.

        `reasons` are those of a classic generation, or of what was in the making when the group was upgraded.
        """
        for each in changes:
            # Who came and went in one write: an upgrade brought a member along and its instance took its place.
            if isinstance(each, MemberUnsubscribed) and each.member_id not in look.members:
                known = MemberTruth(each.member_id, each.instance_id, now_ms)
                self.present.setdefault(each.member_id, known)
        gone = look.gone
        if look.is_whole:
            gone = [each for each in self.present if each not in look.members]
        if gone:
            self._end(gone, look, changes, happening, reasons, now_ms)
        for member_id, instance_id in look.members.items():
            if member_id not in self.present:
                self.present[member_id] = MemberTruth(member_id, instance_id, now_ms)

    def _end(
        self,
        gone: Iterable[str],
        look: GroupLook,
        changes: list[Change],
        happening: Happening,
        reasons: tuple[Reason, ...],
        now_ms: int,
    ) -> None:
        why = {reason.member_id: reason.cause for reason in reasons if reason.cause in ENDS}
        away = {
            each.member_id
            for each in changes
            if isinstance(each, MemberAssigned) and each.old_member_epoch == STATIC_LEAVE_EPOCH
        }
        for member_id in gone:
            member = self.present.pop(member_id, None)
            if member is None:
                continue
            member.ended_at_ms = now_ms
            if member_id in why:
                # Its instance may be back by now: under a new id, behind the end of this one.
                cause = why[member_id]
            elif member.instance_id in look.instances:
                cause = RebalanceCause.STATIC_MEMBER_REPLACED
            else:
                cause = departure_cause(happening, was_away=member_id in away)
            member.end = cause.value
            self.past.append(member)

    def all(self) -> Iterator[MemberTruth]:
        """Members that ended, then those that are still there."""
        yield from self.past
        yield from self.present.values()
