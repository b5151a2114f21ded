"""What must hold after every event, and what is compared in full now and then.

The checks look at the coordinators and the clients from outside; they share no bookkeeping with either.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.classic import JoinGroupRequest, JoinGroupResponse
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from rebalance_audit.replay.changes import (
    Change,
    GenerationCompleted,
    GroupEpochBumped,
    GroupRemoved,
    MemberAssigned,
    OffsetCommitted,
    OffsetRemoved,
    TargetInstalled,
)
from rebalance_audit.replay.classic.group import ClassicGroup
from rebalance_audit.replay.modern.group import ModernGroup
from rebalance_audit.replay.partitions import each
from rebalance_audit.replay.shard import Shard
from rebalance_audit.replay.slot import CommittedOffset, Group, GroupSlot
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.broker import Changed, Happening, Response, ServedPartition
from rebalance_audit.sim.brokers.partition_log import LoggedBatch
from rebalance_audit.sim.holdings import HeldPartition, Holder
from rebalance_audit.wire.generated.messages import OffsetCommitKey, RecordType
from rebalance_audit.wire.records import Record, decode_record, encode_key

_COMMIT_PREFIX: Final = int(RecordType.OFFSET_COMMIT).to_bytes(2, "big")
_Place = tuple[str, int]
"""Topic and partition."""


class InvariantBrokenError(Exception):
    """Something happened that must never happen."""


@dataclass(slots=True)
class _Counters:
    """The highest numbers that a group has shown."""

    group_epoch: int = -1
    assignment_epoch: int = -1
    generation: int = -1
    leaders: dict[int, str] = field(default_factory=dict)
    """Generation -> its leader."""


@dataclass(slots=True)
class _Commits:
    """Commits of one log partition that are in the log: record key -> offset of the newest record."""

    acknowledged: dict[bytes, int] = field(default_factory=dict)
    pending: dict[int, dict[bytes, int]] = field(default_factory=dict)
    """Producer id -> commits of its open transaction."""
    newest_base: int = 0
    """Where the newest batch begins."""
    deleted: set[bytes] = field(default_factory=set)
    """Commits that ended in the newest batch or since."""
    unanswered: dict[int, list[dict[_Place, int]]] = field(default_factory=dict)
    """id of a request -> what each handling of it, the earliest first, has written: place -> log offset."""


class Invariants:
    """Observes everything; raises InvariantBrokenError at the event that breaks a rule."""

    def __init__(self, served_by: Callable[[str], ServedPartition]) -> None:
        """`served_by` finds the partition of a group."""
        self._served_by = served_by
        self._counters: dict[str, _Counters] = {}
        self._commits: dict[int, _Commits] = {}
        self._live_before: dict[int, Shard] = {}
        self.checks = 0
        """How many single checks were made."""

    # --- after every event -------------------------------------------------------------------------

    def moved(self, shard: ServedPartition, happening: Happening, changed: Changed) -> None:
        """Check what one write did to its groups."""
        if isinstance(happening.request, OffsetCommitRequest):
            self._note_commit(shard, happening.request, changed)
            self.checks += len(changed)
            return
        for slot, changes in changed:
            counters = self._counters.get(slot.group_id)
            if counters is None:
                counters = self._counters[slot.group_id] = _Counters()
            for change in changes:
                self._check_change(slot, change, counters, happening)
                if isinstance(change, OffsetRemoved):
                    key = _commit_key(slot.group_id, (change.topic, change.topic_partition))
                    self._commits.setdefault(shard.number, _Commits()).deleted.add(key)
        for slot, changes in changed:
            if isinstance(slot.group, ModernGroup):
                self._check_members(slot.group, changes)

    def _check_change(
        self, slot: GroupSlot, change: Change, counters: _Counters, happening: Happening
    ) -> None:
        self.checks += 1
        match change:
            case GroupRemoved():
                self._counters[slot.group_id] = _Counters()
            case GroupEpochBumped(new_epoch=epoch):
                counters = self._counters[slot.group_id]
                if epoch < counters.group_epoch:
                    told = f"group epoch of {slot.group_id} fell to {epoch} by {happening}"
                    raise InvariantBrokenError(told)
                counters.group_epoch = epoch
            case TargetInstalled(new_assignment_epoch=epoch) if epoch >= 0:
                counters = self._counters[slot.group_id]
                _require(
                    epoch >= counters.assignment_epoch,
                    f"assignment epoch of {slot.group_id} fell to {epoch}",
                )
                counters.assignment_epoch = epoch
            case GenerationCompleted(new_generation=generation):
                counters = self._counters[slot.group_id]
                _require(
                    generation >= counters.generation,
                    f"generation of {slot.group_id} fell to {generation}",
                )
                counters.generation = generation
                if isinstance(slot.group, ClassicGroup):
                    _check_generation(slot.group)
            case _:
                pass

    def _check_members(self, group: ModernGroup, changes: Iterable[Change]) -> None:
        for change in changes:
            if not isinstance(change, MemberAssigned) or change.released:
                continue
            self.checks += 1
            member = group.members.get(change.member_id)
            if member is None:
                continue
            _require(
                member.member_epoch <= group.assignment_epoch or not group.has_assignment_record,
                f"member {member.member_id} of {group.group_id} is at epoch {member.member_epoch}, "
                f"above the assignment epoch {group.assignment_epoch}",
            )
            for partition in (*each(member.assigned), *each(member.pending_revocation)):
                owner = group.owners.get(partition)
                if owner != member.member_id:
                    told = f"{partition} of {group.group_id} has two owners, {member.member_id} and {owner}"
                    raise InvariantBrokenError(told)

    def answered(self, shard: ServedPartition, request: Response, response: Response) -> None:
        """Whoever is told of a generation is told of the same leader; who is told of a commit can rely on it."""
        if isinstance(request, OffsetCommitRequest) and isinstance(response, OffsetCommitResponse):
            self._check_commit(shard, request, response)
        if isinstance(request, OffsetFetchRequest) and isinstance(response, OffsetFetchResponse):
            self._check_fetch(shard, response)
        if (
            not isinstance(response, JoinGroupResponse)
            or not isinstance(request, JoinGroupRequest)
            or response.error_code is not ErrorCode.NONE
            or not response.leader  # a classic member of a consumer group: nobody leads there
        ):
            return
        self.checks += 1
        counters = self._counters.setdefault(request.group_id, _Counters())
        known = counters.leaders.get(response.generation_id)
        replaced = request.group_instance_id is not None and not request.member_id
        if known is None or replaced:
            counters.leaders[response.generation_id] = response.leader
            return
        _require(
            known == response.leader,
            f"generation {response.generation_id} of {request.group_id} has two leaders, {known} and "
            f"{response.leader}",
        )

    def _note_commit(
        self, shard: ServedPartition, request: OffsetCommitRequest, changed: Changed
    ) -> None:
        """A request that the network brought twice is handled twice, and answered in that order."""
        written = {
            (change.topic, change.topic_partition): change.position.log_offset
            for _, changes in changed
            for change in changes
            if isinstance(change, OffsetCommitted)
        }
        commits = self._commits.setdefault(shard.number, _Commits())
        commits.unanswered.setdefault(id(request), []).append(written)

    def _check_commit(
        self, shard: ServedPartition, request: OffsetCommitRequest, response: OffsetCommitResponse
    ) -> None:
        """What is acknowledged is in the log.

        Its own record counts, not what the coordinator holds: a client that was answered a moment ago may have
        committed anew, into the batch that is open by now.
        """
        unanswered = self._commits[shard.number].unanswered
        handled = unanswered[id(request)]
        written = handled.pop(0)
        if not handled:
            del unanswered[id(request)]
        end = shard.log.next_offset
        for topic in response.topics:
            self.checks += len(topic.partitions)
            for partition in topic.partitions:
                if partition.error_code is not ErrorCode.NONE:
                    continue
                place = topic.name, partition.partition_index
                log_offset = written.get(place)
                if log_offset is None or log_offset >= end:
                    told = f"the commit of {place} by {request.group_id} was acknowledged and is not written"
                    raise InvariantBrokenError(told)

    def _check_fetch(self, shard: ServedPartition, response: OffsetFetchResponse) -> None:
        """Whoever asks is told of the newest commit that was written before the batch that the answer waited for."""
        commits = self._commits.get(shard.number)
        if commits is None:
            return
        for group in response.groups:
            slot = shard.shard.slot(group.group_id)
            for topic in group.topics:
                for partition in topic.partitions:
                    place = topic.name, partition.partition_index
                    key = _commit_key(group.group_id, place)
                    written = commits.acknowledged.get(key)
                    if (
                        partition.error_code is not ErrorCode.NONE
                        or written is None
                        or written >= commits.newest_base
                        or key in commits.deleted
                    ):
                        continue
                    self.checks += 1
                    held = None if slot is None else slot.offsets.get(place)
                    if held is None or (
                        held.log_offset < commits.newest_base
                        and held.committed_offset != partition.committed_offset
                    ):
                        told = f"{group.group_id} asks for {place}, is told {partition}, and has committed {held}"
                        raise InvariantBrokenError(told)

    def acquired(self, holder: Holder, partition: HeldPartition, others: Iterable[Holder]) -> None:
        """A client starts to use a partition: nobody else may use it now."""
        for other in others:
            self.checks += 1
            if self._may_use(holder) and self._may_use(other):
                raise InvariantBrokenError(
                    f"{holder.name} uses {partition} of {holder.group_id}, and so may {other.name}"
                )

    def _may_use(self, holder: Holder) -> bool:
        """Whether the coordinator takes the client for a member at its epoch: it would accept its commits.

        One gap is Kafka's own: an upgrade takes the assignments of the last generation for granted, and a cooperative
        member that has joined that one and not synced goes on with what it had before (see docs/simulator.md).
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

    # --- the log -----------------------------------------------------------------------------------

    def flushed(self, shard: ServedPartition, batch: LoggedBatch) -> None:
        """Remember what is committed for good."""
        commits = self._commits.setdefault(shard.number, _Commits())
        commits.newest_base = batch.base_offset
        commits.deleted.clear()
        producer_id = batch.producer.producer_id
        if batch.marker is not None:
            ended = commits.pending.pop(producer_id, {})
            if batch.marker.committed:
                for key, log_offset in ended.items():
                    newest = commits.acknowledged.get(key, -1)
                    commits.acknowledged[key] = max(newest, log_offset)
            return
        target = commits.acknowledged
        if producer_id >= 0:
            target = commits.pending.setdefault(producer_id, {})
        for record in batch.records:
            if record.key is None or record.key[:2] != _COMMIT_PREFIX:
                continue
            if record.value is None:
                commits.acknowledged.pop(record.key, None)
                commits.deleted.add(record.key)
                for pending in commits.pending.values():
                    pending.pop(record.key, None)
            else:
                target[record.key] = record.log_offset

    def loaded(self, shard: ServedPartition, lost: Sequence[LoggedRecord]) -> None:
        """Whatever was acknowledged is still there; where nothing was lost, all is as it was before."""
        for group_id in [
            group_id for group_id in self._counters if self._served_by(group_id) is shard
        ]:
            slot = shard.shard.slot(group_id)
            self._counters[group_id] = _counters_of(None if slot is None else slot.group)
        if shard.number in self._commits:
            self._commits[shard.number].deleted.clear()
        before = self._live_before.pop(shard.number, None)
        if before is not None and not lost:
            require_equal(before, shard.shard, f"reload of partition {shard.number}")
        self.check_commits(shard)

    def stopped(self, shard: ServedPartition) -> None:
        """Remember the state of a coordinator that is about to go."""
        self._live_before[shard.number] = shard.shard
        if shard.number in self._commits:
            self._commits[shard.number].unanswered.clear()

    # --- checkpoints -------------------------------------------------------------------------------

    def check_commits(self, shard: ServedPartition) -> None:
        """Every commit that reached the log is held, or a later one is."""
        commits = self._commits.get(shard.number)
        for key, log_offset in () if commits is None else commits.acknowledged.items():
            self.checks += 1
            record = decode_record(key, None)
            assert isinstance(record, Record)
            assert isinstance(record.key, OffsetCommitKey)
            slot = shard.shard.slot(record.key.group)
            place = record.key.topic, record.key.partition
            held = None if slot is None else slot.offsets.get(place)
            if held is None or held.log_offset < log_offset:
                told = f"the commit of {record.key} at offset {log_offset} is lost, there is {held}"
                raise InvariantBrokenError(told)

    def check_partition(self, shard: ServedPartition) -> None:
        """The full comparison: the log replayed anew equals what the coordinator holds."""
        if not shard.is_active:
            return
        self.checks += 1
        require_equal(shard.shard, shard.replayed(), f"partition {shard.number}")
        self.check_commits(shard)
        for slot in shard.shard.groups():
            if isinstance(slot.group, ModernGroup):
                _check_single_owners(slot.group)


def require_equal(live: Shard, replayed: Shard, where: str) -> None:
    """Raises InvariantBrokenError when two shards differ in anything but what a cleaner may take."""
    left, right = _essence(live), _essence(replayed)
    for group_id in sorted(left.keys() | right.keys()):
        one, other = left.get(group_id), right.get(group_id)
        if one != other:
            raise InvariantBrokenError(f"{where}: {group_id} is {one} live and {other} replayed")


_Essence = tuple[
    Group | None,
    Mapping[tuple[str, int], CommittedOffset],
    Mapping[int, Mapping[tuple[str, int], CommittedOffset]],
]


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


@lru_cache(1 << 14)
def _commit_key(group_id: str, place: tuple[str, int]) -> bytes:
    return encode_key(OffsetCommitKey(group_id, *place))


def _counters_of(group: Group | None) -> _Counters:
    if isinstance(group, ModernGroup):
        return _Counters(group.group_epoch, group.assignment_epoch)
    if isinstance(group, ClassicGroup):
        return _Counters(generation=group.generation)
    return _Counters()


def _check_generation(group: ClassicGroup) -> None:
    """A generation has one leader, who is a member, and gives each partition to one member."""
    _require(
        not group.members or group.leader_member_id in group.members,
        f"the leader {group.leader_member_id} of {group.group_id} is no member",
    )
    owners: dict[object, str] = {}
    for member in group.members.values():
        for partition in each(member.assigned):
            other = owners.setdefault(partition, member.member_id)
            if other != member.member_id:
                told = (
                    f"generation {group.generation} of {group.group_id} gives {partition} to {other} and "
                    f"{member.member_id}"
                )
                raise InvariantBrokenError(told)


def _check_single_owners(group: ModernGroup) -> None:
    owners: dict[object, str] = {}
    for member in group.members.values():
        for partition in (*each(member.assigned), *each(member.pending_revocation)):
            other = owners.setdefault(partition, member.member_id)
            if other != member.member_id:
                told = f"{partition} of {group.group_id} belongs to {other} and {member.member_id}"
                raise InvariantBrokenError(told)


def _require(holds: bool, sentence: str) -> None:
    if not holds:
        raise InvariantBrokenError(sentence)
