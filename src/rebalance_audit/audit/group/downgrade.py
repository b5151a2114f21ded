"""Online downgrade: whether a consumer group continues as a classic one, and what its coordinator does next."""

from collections.abc import Callable
from enum import Enum, auto

from rebalance_audit.audit.causes.modern_evidence import WriteEvidence
from rebalance_audit.audit.group.life import Life
from rebalance_audit.audit.members.member_watch import MemberWatch
from rebalance_audit.audit.verdicts.cause import Verdict
from rebalance_audit.audit.writes import Write
from rebalance_audit.replay.changes import GroupType, Position
from rebalance_audit.replay.groups.classic_group import ClassicGroup


class DowngradeKind(Enum):
    """What kind of downgrade, if any, made the group a classic one."""

    NONE = auto()
    """No online downgrade: the group was classic already, or begins again."""
    AT_REST = auto()
    """A static member replaced the last consumer-protocol member; all members keep their target assignment."""
    REBALANCES = auto()
    """All members have to rejoin at once: a member left, or the epoch had no target assignment."""


def downgrade(
    life: Life,
    write: Write,
    evidence: WriteEvidence,
    group: ClassicGroup,
    judge_departure: Callable[[MemberWatch, Position, int], Verdict],
) -> DowngradeKind:
    """Move `life` to the classic protocol if the write, after which the group is `group`, carries the epoch over."""
    position, span = write.last, life.span
    if life.protocol in (None, GroupType.CLASSIC) or life.deleted:
        return DowngradeKind.NONE
    if not group.members or span is None or group.generation != span.epoch:
        return DowngradeKind.NONE
    named = {change.member_id for change in evidence.joined}
    named.update(new.member_id for _, new in evidence.replaced.values())
    if group.members.keys() - life.watches.keys() - named:
        life.doubt()  # no record shows that they joined
        life.gap = True
    bump = evidence.bump
    # A bump in the downgrading request itself never becomes an epoch, and no member gets its assignment.
    rebalances = span.target_installed_at_ms is None or bump is not None
    instances = {member.instance_id for member in group.members.values()} - {None}
    for member_id in [known for known in life.watches if known not in group.members]:
        watch = life.watches[member_id]
        if watch.stint.identity.instance_id in instances:
            continue  # its instance continues under another member id
        verdict = judge_departure(watch, position, 0)
        life.close_member(member_id, position, verdict.cause, verdict.certainty, span.epoch)
        life.left_since += 1
        rebalances = True
    life.ownership.convert(position, span.epoch)
    life.moves.clear()
    life.protocol = GroupType.CLASSIC
    return DowngradeKind.REBALANCES if rebalances else DowngradeKind.AT_REST
