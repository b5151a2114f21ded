"""One request or timer on one share group: what it reads, and what it has decided so far."""

from dataclasses import dataclass, field

from rebalance_audit.coordinator.consumer.bumps import metadata_hash
from rebalance_audit.coordinator.consumer.modern_work import SoftWork
from rebalance_audit.coordinator.handling import Timer, TimerKind
from rebalance_audit.coordinator.ledger import newest
from rebalance_audit.coordinator.reasons import Bump, BumpReason, Departure, Trigger
from rebalance_audit.coordinator.share import drafts
from rebalance_audit.replay.groups import ModernMember
from rebalance_audit.replay.partitions import Partitions, Topic, partitions_of
from rebalance_audit.wire.generated.messages import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
)


@dataclass(slots=True)
class SoftShareGroup:
    """What the coordinator remembers beyond the records; a fail-over loses it."""

    topics_are_checked: bool = False
    """Whether the subscribed topics were compared with the hash on record, and none of them has changed since."""
    asked: set[Topic] = field(default_factory=set)
    """Topics with partitions that this coordinator asked to have initialised."""
    since_ms: dict[Topic, int] = field(default_factory=dict)
    """Topic -> when it was asked for, or first seen in the log of an earlier coordinator, epoch milliseconds."""


class ShareWork(SoftWork[SoftShareGroup]):
    """A share group as replay left it, and the result in the making."""

    def state(self) -> ShareGroupStatePartitionMetadataValue:
        """Which partitions are initialised, or being so."""
        found = newest(self._shard, ShareGroupStatePartitionMetadataKey(self.group_id))
        if found is None:
            return ShareGroupStatePartitionMetadataValue((), ())
        assert isinstance(found, ShareGroupStatePartitionMetadataValue)
        return found

    def initialized(self) -> Partitions:
        """Partitions that can be assigned."""
        return partitions_of(
            (each.topic_id, each.partitions) for each in self.state().initialized_topics
        )

    def initializing(self) -> Partitions:
        """Partitions that the share coordinator was asked to initialise."""
        return partitions_of(
            (each.topic_id, each.partitions) for each in self.state().initializing_topics
        )

    def topic_names(self, members: dict[str, ModernMember]) -> set[str]:
        """Names that these members subscribe to."""
        return {name for member in members.values() for name in member.subscribed_topic_names}

    def bump(self, names: set[str], reasons: list[BumpReason]) -> int:
        """Go on to another epoch; drafts [11]. Returns it."""
        epoch = self.group_epoch + 1
        topics = {name: self.image.topic(name) for name in sorted(names)}
        self.outcome.bump(Bump(self.group_id, epoch, tuple(reasons), topics))
        hashed = metadata_hash(names, self.image)
        self.outcome.records.append(drafts.share_group_epoch(self.group_id, epoch, hashed))
        return epoch

    def remove(self, member: ModernMember, trigger: Trigger) -> None:
        """Remove a member; drafts [14t][13t][10t] [11], and [12] where no member is left."""
        group_id, member_id = self.group_id, member.member_id
        self.outcome.records += drafts.share_member_gone(group_id, member_id)
        self.outcome.cancel(Timer(TimerKind.SESSION, group_id, member_id))
        reason = BumpReason(trigger, member_id)
        self.outcome.depart(Departure(group_id, self.group_epoch + 1, reason))
        rest = dict(self.group.members)
        del rest[member_id]
        reasons = [reason] if rest else [reason, BumpReason(Trigger.GROUP_EMPTIED)]
        epoch = self.bump(self.topic_names(rest), reasons)
        if not rest and self.release.emptied_group_has_target:
            self.outcome.records.append(drafts.share_target_epoch(group_id, epoch, 0))
