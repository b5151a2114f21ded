"""All rules, applied after every event, and the full comparisons that are made from time to time.

The rules look at the coordinators and the clients from outside; they share no bookkeeping with either.
"""

from collections.abc import Callable, Iterable, Sequence

from rebalance_audit.coordinator.handling import Response
from rebalance_audit.coordinator.requests.classic import JoinGroupRequest
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from rebalance_audit.replay.changes import (
    Change,
    GenerationCompleted,
    GroupRemoved,
    GroupType,
    MemberAssigned,
    MemberSubscribed,
    OffsetRemoved,
)
from rebalance_audit.replay.groups import ClassicGroup, ModernGroup
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.broker import Changed, Happening, Observer, ServedPartition
from rebalance_audit.sim.brokers.partition_log import LoggedBatch
from rebalance_audit.sim.holdings import HeldPartition, Holder
from rebalance_audit.sim.invariants import rules
from rebalance_audit.sim.invariants.kept_commits import KeptCommits
from rebalance_audit.sim.invariants.rules import (
    OneLeader,
    OneUser,
    Reloads,
    RisingNumbers,
    require_equal,
)


class Invariants(Observer):
    """Observes everything; raises InvariantBrokenError at the event that breaks a rule."""

    def __init__(
        self,
        served_by: Callable[[str], ServedPartition],
        held_since_ms: Callable[[Holder, HeldPartition], int | None],
    ) -> None:
        """`served_by` finds the partition of a group, `held_since_ms` says when a client took a partition."""
        self._served_by = served_by
        self._numbers = RisingNumbers()
        self._leaders = OneLeader()
        self._users = OneUser(served_by, held_since_ms)
        self._commits = KeptCommits()
        self._reloads = Reloads()
        self.checks = 0
        """How many single checks were made."""

    # --- after every event -------------------------------------------------------------------------

    def moved(self, shard: ServedPartition, happening: Happening, changed: Changed) -> None:
        """Check what one write did to its groups."""
        if isinstance(happening.request, OffsetCommitRequest):
            self._commits.requested(shard, happening.request, changed)
            self.checks += len(changed)
            return
        for slot, changes in changed:
            for change in changes:
                self.checks += 1
                self._numbers.check(slot.group_id, change, happening)
                match change:
                    case GroupRemoved():
                        self._leaders.forget(slot.group_id)
                    case GenerationCompleted() if isinstance(slot.group, ClassicGroup):
                        self._leaders.check_group(slot.group)
                        rules.check_generation(slot.group)
                    case OffsetRemoved(topic=topic, topic_partition=number):
                        self._commits.removed(shard, slot.group_id, (topic, number))
                    case _:
                        pass
        for slot, changes in changed:
            if isinstance(slot.group, ModernGroup):
                self._check_members(slot.group, changes)
                self._note_joins(shard, happening, changes)

    def _note_joins(
        self, shard: ServedPartition, happening: Happening, changes: Iterable[Change]
    ) -> None:
        request = happening.request
        if isinstance(request, JoinGroupRequest):
            for change in changes:
                if isinstance(change, MemberSubscribed) and change.joined:
                    self._users.joined(shard, request, change.member_id)

    def _check_members(self, group: ModernGroup, changes: Iterable[Change]) -> None:
        for change in changes:
            if not isinstance(change, MemberAssigned) or change.released:
                continue
            self.checks += 1
            member = group.members.get(change.member_id)
            if member is not None:
                rules.check_member_epoch(group, member)
                shares = group.group_type is GroupType.SHARE
                (rules.check_target if shares else rules.check_owner)(group, member)

    def answered(self, shard: ServedPartition, request: Response, response: Response) -> None:
        """Check the response to a client."""
        if isinstance(request, OffsetCommitRequest) and isinstance(response, OffsetCommitResponse):
            self.checks += self._commits.check_commit(shard, request, response)
        elif isinstance(request, OffsetFetchRequest) and isinstance(response, OffsetFetchResponse):
            self.checks += self._commits.check_fetch(shard, response)
        else:
            self.checks += self._leaders.check_answer(request, response)

    def acquired(self, holder: Holder, partition: HeldPartition, others: Iterable[Holder]) -> None:
        """Check that no other client may use the partition that a client starts to use."""
        for other in others:
            self.checks += 1
            self._users.check(holder, partition, other)

    # --- the log -----------------------------------------------------------------------------------

    def flushed(self, shard: ServedPartition, batch: LoggedBatch) -> None:
        """Remember what is committed for good."""
        self._commits.flushed(shard, batch)

    def loaded(self, shard: ServedPartition, lost: Sequence[LoggedRecord]) -> None:
        """Check that what was acknowledged is still there and, where nothing was lost, that all is as before."""
        for group_id in self._numbers.group_ids():
            if self._served_by(group_id) is shard:
                slot = shard.shard.slot(group_id)
                self._numbers.loaded(group_id, None if slot is None else slot.group)
        for group_id in self._leaders.group_ids():
            if self._served_by(group_id) is shard:
                self._leaders.forget(group_id)
        self._commits.loaded(shard)
        self._reloads.check(shard, lost)
        self.checks += self._commits.check(shard)

    def stopped(self, shard: ServedPartition) -> None:
        """Remember the state of a coordinator that is about to stop."""
        self._reloads.stopped(shard)
        self._commits.stopped(shard)

    # --- checkpoints -------------------------------------------------------------------------------

    def check_partition(self, shard: ServedPartition) -> None:
        """The full comparison: the log replayed from its start equals what the coordinator holds."""
        if not shard.is_active:
            return
        self.checks += 1
        require_equal(shard.shard, shard.replayed(), f"partition {shard.number}")
        self.checks += self._commits.check(shard)
        for slot in shard.shard.groups():
            if isinstance(slot.group, ModernGroup) and slot.group.group_type is not GroupType.SHARE:
                rules.check_group(slot.group)
