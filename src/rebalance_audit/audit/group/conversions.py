"""How a group's life goes on under another protocol: a classic group as a consumer group, and back."""

from collections.abc import Callable
from enum import Enum, auto

from rebalance_audit.audit.causes.classic_scene import Generation
from rebalance_audit.audit.causes.modern_scene import WriteEvidence
from rebalance_audit.audit.group.life import Life
from rebalance_audit.audit.members.stint import MemberEnd, MemberWatch
from rebalance_audit.audit.verdicts.cause import Verdict
from rebalance_audit.audit.writes import Write
from rebalance_audit.replay.changes import GroupCreated, GroupType, Position
from rebalance_audit.replay.groups import ClassicGroup, ModernGroup


def upgrade(life: Life, generation: Generation, position: Position, group: ModernGroup) -> None:
    """The group's last classic generation ends at `position`; members that the new group lacks are gone."""
    life.convert(group.group_type, position, generation.generation)
    for member_id in [known for known in life.watches if known not in group.members]:
        verdict = life.ends.judge_unseen(life.watches[member_id], position)
        end = MemberEnd(verdict.cause, verdict.certainty, generation.generation)
        life.members.close(member_id, position, end, is_counted=True)


def lacks_tombstone(life: Life, evidence: WriteEvidence) -> bool:
    """Whether a consumer group's record took the place of a classic group whose tombstone is missing."""
    return (
        life.previous_generation is not None
        and not life.deleted
        and any(
            change.replaced is GroupType.CLASSIC for change in evidence.kinds.get(GroupCreated, ())
        )
    )


def upgrade_in_part(life: Life, position: Position, group: ModernGroup) -> None:
    """Records of an upgrade are missing before `position`: later ones may still show which members came over."""
    assert life.previous_generation is not None
    life.convert(group.group_type, position, life.previous_generation.generation)
    life.doubt(gap=True)


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
        life.doubt(gap=True)  # no record shows that they joined
    bump = evidence.bump
    # A bump in the downgrading request itself never becomes an epoch, and no member gets its assignment.
    rebalances = span.target_installed_at_ms is None or bump is not None
    instances = {member.instance_id for member in group.members.values()} - {None}
    for member_id in [known for known in life.watches if known not in group.members]:
        watch = life.watches[member_id]
        if watch.stint.identity.instance_id in instances:
            continue  # its instance continues under another member id
        verdict = judge_departure(watch, position, 0)
        end = MemberEnd(verdict.cause, verdict.certainty, span.epoch)
        life.members.close(member_id, position, end, is_counted=True)
        rebalances = True
    life.convert(GroupType.CLASSIC, position, span.epoch)
    return DowngradeKind.REBALANCES if rebalances else DowngradeKind.AT_REST
