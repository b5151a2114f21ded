"""How every member really ended."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.replay.changes import Change, MemberUnsubscribed
from rebalance_audit.sim.truth.group_look import GroupLook


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
        ends: Mapping[str, RebalanceCause],
        now_ms: int,
    ) -> None:
        """Follow the members after a write; `ends` says by member id how those that are gone ended."""
        for each in changes:
            # Came and went in one write: an upgrade brought a member along and its instance took its place.
            if isinstance(each, MemberUnsubscribed) and each.member_id not in look.members:
                known = MemberTruth(each.member_id, each.instance_id, now_ms)
                self.present.setdefault(each.member_id, known)
        gone = look.gone
        if look.is_whole:
            gone = [each for each in self.present if each not in look.members]
        for member_id in gone:
            member = self.present.pop(member_id, None)
            if member is not None:
                member.ended_at_ms = now_ms
                member.end = ends[member_id].value
                self.past.append(member)
        for member_id, instance_id in look.members.items():
            if member_id not in self.present:
                self.present[member_id] = MemberTruth(member_id, instance_id, now_ms)

    def all(self) -> Iterator[MemberTruth]:
        """Members that ended, then current ones."""
        yield from self.past
        yield from self.present.values()
