"""Rule: two clients never use a partition at the same time with commits that the coordinator would accept."""

from collections.abc import Callable

from rebalance_audit.replay.modern.group import ModernGroup
from rebalance_audit.sim.brokers.broker import ServedPartition
from rebalance_audit.sim.holdings import HeldPartition, Holder
from rebalance_audit.sim.invariants.broken import InvariantBrokenError


class OneUser:
    """Asks the coordinators which clients they count as members."""

    def __init__(self, served_by: Callable[[str], ServedPartition]) -> None:
        """`served_by` finds the partition of a group."""
        self._served_by = served_by

    def check(self, holder: Holder, partition: HeldPartition, other: Holder) -> None:
        """Raises InvariantBrokenError where both may use the partition now."""
        if self._may_use(holder) and self._may_use(other):
            raise InvariantBrokenError(
                f"{holder.name} uses {partition} of {holder.group_id}, and so may {other.name}"
            )

    def _may_use(self, holder: Holder) -> bool:
        """Whether the coordinator counts the client as a member at its epoch, and so would accept its commits.

        One gap is Kafka's own: an upgrade takes the assignments of the last generation as accepted, and a cooperative
        member that has joined that generation but not synced keeps using what it had before (see docs/simulator.md).
        """
        served = self._served_by(holder.group_id)
        if not served.is_active:
            return False
        slot = served.shard.slot(holder.group_id)
        group = None if slot is None else slot.group
        if isinstance(group, ModernGroup):
            member = group.members.get(holder.member_id)
            if member is None:
                return False
            known = holder.generation if member.classic is None else holder.held_generation
            return known in {member.member_epoch, member.previous_member_epoch}
        live = served.coordinator.live_group(holder.group_id)
        return (
            live is not None
            and holder.member_id in live.members
            and holder.generation == live.generation
        )
