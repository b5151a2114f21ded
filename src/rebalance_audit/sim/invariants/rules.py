"""The rules, one by one: numbers that rise, one leader, one user of a partition, one owner, a log that is the state."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from rebalance_audit.coordinator.handling import ErrorCode, Response
from rebalance_audit.coordinator.requests.classic import JoinGroupRequest, JoinGroupResponse
from rebalance_audit.replay.changes import (
    Change,
    GenerationCompleted,
    GroupEpochBumped,
    GroupRemoved,
    TargetInstalled,
)
from rebalance_audit.replay.groups import (
    ClassicGroup,
    CommittedOffset,
    Group,
    ModernGroup,
    ModernMember,
)
from rebalance_audit.replay.partitions import TopicPartition, each, minus
from rebalance_audit.replay.shard import Shard
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.broker import Happening, ServedPartition
from rebalance_audit.sim.holdings import HeldPartition, Holder


class InvariantBrokenError(Exception):
    """Something happened that must never happen."""


def require(holds: bool, sentence: str) -> None:
    """Raises InvariantBrokenError with the sentence unless the condition holds."""
    if not holds:
        raise InvariantBrokenError(sentence)


@dataclass(slots=True)
class _Highest:
    """The highest numbers that a group has shown."""

    group_epoch: int = -1
    assignment_epoch: int = -1
    generation: int = -1


class RisingNumbers:
    """Remembers the highest numbers of every group."""

    def __init__(self) -> None:
        """No group has shown a number yet."""
        self._highest: dict[str, _Highest] = {}

    def check(self, group_id: str, change: Change, happening: Happening) -> None:
        """Raises InvariantBrokenError where a number falls."""
        highest = self._highest.get(group_id)
        if highest is None:
            highest = self._highest[group_id] = _Highest()
        match change:
            case GroupRemoved():
                self._highest[group_id] = _Highest()
            case GroupEpochBumped(new_epoch=epoch):
                if epoch < highest.group_epoch:
                    message = f"group epoch of {group_id} fell to {epoch} by {happening}"
                    raise InvariantBrokenError(message)
                highest.group_epoch = epoch
            case TargetInstalled(new_assignment_epoch=epoch) if epoch >= 0:
                require(
                    epoch >= highest.assignment_epoch,
                    f"assignment epoch of {group_id} fell to {epoch}",
                )
                highest.assignment_epoch = epoch
            case GenerationCompleted(new_generation=generation):
                require(
                    generation >= highest.generation,
                    f"generation of {group_id} fell to {generation}",
                )
                highest.generation = generation
            case _:
                pass

    def group_ids(self) -> list[str]:
        """Groups that have shown a number."""
        return list(self._highest)

    def loaded(self, group_id: str, group: Group | None) -> None:
        """A new coordinator counts from what the log says."""
        if isinstance(group, ModernGroup):
            highest = _Highest(group.group_epoch, group.assignment_epoch)
        elif isinstance(group, ClassicGroup):
            highest = _Highest(generation=group.generation)
        else:
            highest = _Highest()
        self._highest[group_id] = highest


class OneLeader:
    """Remembers the leader of each generation."""

    def __init__(self) -> None:
        """No leader was reported yet."""
        self._leaders: dict[str, dict[int, str]] = {}
        """Group id -> generation -> its leader."""

    def check_group(self, group: ClassicGroup) -> None:
        """Raises InvariantBrokenError where the recorded leader is not a member."""
        require(
            not group.members or group.leader_member_id in group.members,
            f"the leader {group.leader_member_id} of {group.group_id} is no member",
        )

    def check_answer(self, request: Response, response: Response) -> bool:
        """Whether this answer names a leader; raises InvariantBrokenError where it names another one than before."""
        if (
            not isinstance(response, JoinGroupResponse)
            or not isinstance(request, JoinGroupRequest)
            or response.error_code is not ErrorCode.NONE
            or not response.leader  # a classic member of a consumer group, which has no leader
        ):
            return False
        leaders = self._leaders.setdefault(request.group_id, {})
        known = leaders.get(response.generation_id)
        replaced = request.group_instance_id is not None and not request.member_id
        if known is None or replaced:
            leaders[response.generation_id] = response.leader
            return True
        require(
            known == response.leader,
            f"generation {response.generation_id} of {request.group_id} has two leaders, {known} and "
            f"{response.leader}",
        )
        return True

    def group_ids(self) -> list[str]:
        """Groups in which a leader was reported."""
        return list(self._leaders)

    def forget(self, group_id: str) -> None:
        """The group is gone, or another coordinator has loaded it: generation numbers may be used again."""
        self._leaders.pop(group_id, None)


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


_Essence = tuple[
    Group | None,
    Mapping[tuple[str, int], CommittedOffset],
    Mapping[int, Mapping[tuple[str, int], CommittedOffset]],
]


class Reloads:
    """Compares what a coordinator loads with what the one before it held."""

    def __init__(self) -> None:
        """No coordinator has stopped yet."""
        self._before: dict[int, Shard] = {}
        """Partition of the log -> state of the coordinator that stopped."""

    def stopped(self, shard: ServedPartition) -> None:
        """Remember the state of a coordinator that is about to stop."""
        self._before[shard.number] = shard.shard

    def check(self, shard: ServedPartition, lost: Sequence[LoggedRecord]) -> None:
        """Raises InvariantBrokenError where nothing was lost but the new coordinator has another state."""
        before = self._before.pop(shard.number, None)
        if before is not None and not lost:
            require_equal(before, shard.shard, f"reload of partition {shard.number}")


def require_equal(live: Shard, replayed: Shard, where: str) -> None:
    """Raises InvariantBrokenError where two shards differ in anything but what a cleaner may remove."""
    left, right = _essence(live), _essence(replayed)
    for group_id in sorted(left.keys() | right.keys()):
        one, other = left.get(group_id), right.get(group_id)
        if one != other:
            raise InvariantBrokenError(f"{where}: {group_id} is {one} live and {other} replayed")


def _essence(shard: Shard) -> dict[str, _Essence]:
    found: dict[str, _Essence] = {}
    for slot in shard.slots():
        pending = {producer: held for producer, held in slot.pending_offsets.items() if held}
        group = slot.group
        if isinstance(group, ClassicGroup) and not group.has_record:
            group = None  # a simple group is nothing but its offsets
        if group is not None or slot.offsets or pending:
            found[slot.group_id] = group, slot.offsets, pending
    return found


def check_generation(group: ClassicGroup) -> None:
    """Raises InvariantBrokenError where the assignment of a generation gives a partition to two members."""
    _check_shares(
        ((member.member_id, each(member.assigned)) for member in group.members.values()),
        f"generation {group.generation} of {group.group_id} gives",
    )


def check_group(group: ModernGroup) -> None:
    """Raises InvariantBrokenError where two members of a group hold a partition."""
    _check_shares(
        ((member.member_id, _held_by(member)) for member in group.members.values()),
        f"{group.group_id} gives",
    )


def check_owner(group: ModernGroup, member: ModernMember) -> None:
    """Raises InvariantBrokenError where another member owns what this one holds."""
    for partition in _held_by(member):
        owner = group.owners.get(partition)
        if owner != member.member_id:
            message = (
                f"{partition} of {group.group_id} has two owners, {member.member_id} and {owner}"
            )
            raise InvariantBrokenError(message)


def check_target(group: ModernGroup, member: ModernMember) -> None:
    """Raises InvariantBrokenError where a member of a share group has more than its target."""
    beyond = minus(member.assigned, group.target_of(member.member_id))
    for partition in each(beyond):
        raise InvariantBrokenError(
            f"{member.member_id} of {group.group_id} has {partition}, which is not in its target"
        )


def check_member_epoch(group: ModernGroup, member: ModernMember) -> None:
    """Raises InvariantBrokenError where a member's epoch is above the assignment epoch."""
    require(
        member.member_epoch <= group.assignment_epoch or not group.has_assignment_record,
        f"member {member.member_id} of {group.group_id} is at epoch {member.member_epoch}, "
        f"above the assignment epoch {group.assignment_epoch}",
    )


def _held_by(member: ModernMember) -> tuple[TopicPartition, ...]:
    """What it gives up is still its own."""
    return (*each(member.assigned), *each(member.pending_revocation))


def _check_shares(shares: Iterable[tuple[str, Iterable[TopicPartition]]], gives: str) -> None:
    owners: dict[TopicPartition, str] = {}
    for member_id, partitions in shares:
        for partition in partitions:
            other = owners.setdefault(partition, member_id)
            if other != member_id:
                raise InvariantBrokenError(f"{gives} {partition} to {other} and {member_id}")
