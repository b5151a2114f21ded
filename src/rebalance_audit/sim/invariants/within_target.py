"""Rule: a member of a share group, which shares partitions, has none that its target does not give it."""

from rebalance_audit.replay.groups.modern_group import ModernGroup, ModernMember
from rebalance_audit.replay.partitions import each, minus
from rebalance_audit.sim.invariants.broken import InvariantBrokenError


def check_member(group: ModernGroup, member: ModernMember) -> None:
    """Raises InvariantBrokenError where a member has more than its target."""
    beyond = minus(member.assigned, group.target_of(member.member_id))
    for partition in each(beyond):
        raise InvariantBrokenError(
            f"{member.member_id} of {group.group_id} has {partition}, which is not in its target"
        )
