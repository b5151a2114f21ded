"""Rule: a member's epoch is never above that of the target assignment."""

from rebalance_audit.replay.groups.modern_group import ModernGroup, ModernMember
from rebalance_audit.sim.invariants.broken import require


def check_member(group: ModernGroup, member: ModernMember) -> None:
    """Raises InvariantBrokenError where a member's epoch is above the assignment epoch."""
    require(
        member.member_epoch <= group.assignment_epoch or not group.has_assignment_record,
        f"member {member.member_id} of {group.group_id} is at epoch {member.member_epoch}, "
        f"above the assignment epoch {group.assignment_epoch}",
    )
