"""How every member really ended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rebalance_audit.audit.cause import RebalanceCause
from rebalance_audit.coordinator.changes import (
    Change,
    GenerationCompleted,
    MemberAssigned,
)
from rebalance_audit.coordinator.modern.group import STATIC_LEAVE_EPOCH
from rebalance_audit.sim.broker import Happening
from rebalance_audit.sim.truth_causes import Reason, departure_cause


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
        members: Mapping[str, str | None],
        changes: list[Change],
        happening: Happening,
        reasons: tuple[Reason, ...],
        now_ms: int,
    ) -> None:
        """Compare with the members after a write; `reasons` are those of a classic generation, when it was one."""
        why = {reason.member_id: reason.cause for reason in reasons}
        taken = {instance_id for instance_id in members.values() if instance_id is not None}
        away = {
            each.member_id
            for each in changes
            if isinstance(each, MemberAssigned) and each.old_member_epoch == STATIC_LEAVE_EPOCH
        }
        is_classic = any(isinstance(each, GenerationCompleted) for each in changes)
        for member_id in [each for each in self.present if each not in members]:
            member = self.present.pop(member_id)
            member.ended_at_ms = now_ms
            if member.instance_id in taken:
                cause = RebalanceCause.STATIC_MEMBER_REPLACED
            elif is_classic and member_id in why:
                cause = why[member_id]
            else:
                cause = departure_cause(happening, was_away=member_id in away)
            member.end = cause.value
            self.past.append(member)
        for member_id, instance_id in members.items():
            if member_id not in self.present:
                self.present[member_id] = MemberTruth(member_id, instance_id, now_ms)

    def all(self) -> Iterator[MemberTruth]:
        """Members that ended, then those that are still there."""
        yield from self.past
        yield from self.present.values()
