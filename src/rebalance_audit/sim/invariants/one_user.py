"""Rule: two clients never use a partition at the same time with commits that the coordinator would accept."""

from collections.abc import Callable

from rebalance_audit.coordinator.requests.classic import JoinGroupRequest
from rebalance_audit.replay.groups.modern_group import ModernGroup
from rebalance_audit.sim.brokers.broker import ServedPartition
from rebalance_audit.sim.holdings import HeldPartition, Holder
from rebalance_audit.sim.invariants.broken import InvariantBrokenError


class OneUser:
    """Asks the coordinators which clients they count as members."""

    def __init__(
        self,
        served_by: Callable[[str], ServedPartition],
        held_since_ms: Callable[[Holder, HeldPartition], int | None],
    ) -> None:
        """`served_by` finds the partition of a group, `held_since_ms` says when a client took a partition."""
        self._served_by = served_by
        self._held_since_ms = held_since_ms
        self._joined_anew_ms: dict[tuple[str, str], int] = {}
        """Group, member id -> when a consumer group took in a classic member under its old id, simulated time."""

    def joined(self, shard: ServedPartition, request: JoinGroupRequest, member_id: str) -> None:
        """This request made a member of a consumer group."""
        if member_id == request.member_id:
            at_ms = shard.now_ms - shard.clock_offset_ms
            self._joined_anew_ms[request.group_id, member_id] = at_ms

    def check(self, holder: Holder, partition: HeldPartition, other: Holder) -> None:
        """Raises InvariantBrokenError where both may use the partition now."""
        if self._may_use(holder, partition) and self._may_use(other, partition):
            raise InvariantBrokenError(
                f"{holder.name} uses {partition} of {holder.group_id}, and so may {other.name}"
            )

    def _may_use(self, holder: Holder, partition: HeldPartition) -> bool:
        """Whether the coordinator counts the client as a member at its epoch, and so would accept its commits.

        Three gaps are Kafka's own (see docs/simulator.md). An upgrade takes the assignments of the last generation as
        accepted, and a cooperative member that has joined that generation but not synced keeps using what it had.
        A consumer group takes a classic member that it had removed for a new one, even under its old id, while the
        member still uses what it had. And a streams member that misses the answer that takes tasks from it goes on to
        open them, since the response is not repeated.
        """
        served = self._served_by(holder.group_id)
        if not served.is_active:
            return False
        slot = served.shard.slot(holder.group_id)
        group = None if slot is None else slot.group
        if isinstance(group, ModernGroup):
            member = group.members.get(holder.member_id)
            if member is None or holder.missed_tasks:
                return False
            joined_ms = self._joined_anew_ms.get((holder.group_id, holder.member_id))
            since_ms = self._held_since_ms(holder, partition)
            if joined_ms is not None and since_ms is not None and since_ms < joined_ms:
                return False
            known = holder.generation if member.classic is None else holder.held_generation
            return known in {member.member_epoch, member.previous_member_epoch}
        live = served.coordinator.live_group(holder.group_id)
        return (
            live is not None
            and holder.member_id in live.members
            and holder.generation == live.generation
        )
