"""One request or timer on one share group: what it reads, and what it has decided so far."""

from dataclasses import dataclass, field

from rebalance_audit.coordinator.consumer.bumps import metadata_hash
from rebalance_audit.coordinator.consumer.modern import ModernWork
from rebalance_audit.coordinator.group_tombstones import member_tombstones
from rebalance_audit.coordinator.ledger import newest
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
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


class ShareWork(ModernWork[SoftShareGroup]):
    """A share group as replay left it, and the result in the making."""

    def state(self) -> ShareGroupStatePartitionMetadataValue:
        """Which partitions are initialised, or being so."""
        found = newest(self.shard, ShareGroupStatePartitionMetadataKey(self.group_id))
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
        epoch = self.begin_epoch(names, reasons)
        hashed = metadata_hash(names, self.image)
        self.records.append(drafts.share_group_epoch(self.group_id, epoch, hashed))
        return epoch

    def remove(self, member: ModernMember, trigger: Trigger) -> None:
        """Remove a member; drafts [14t][13t][10t] [11], and [12] where no member is left."""
        self.records.extend(member_tombstones(self.group, member.member_id))
        reasons = [self.departed(member, trigger)]
        rest = dict(self.group.members)
        del rest[member.member_id]
        if not rest:
            reasons.append(BumpReason(Trigger.GROUP_EMPTIED))
        epoch = self.bump(self.topic_names(rest), reasons)
        if not rest and self.release.emptied_group_has_target:
            self.records.append(drafts.share_target_epoch(self.group_id, epoch, 0))
