"""One request or timer on one streams group: what it reads, and what it has decided so far."""

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_audit.coordinator.consumer.bumps import metadata_hash
from rebalance_audit.coordinator.consumer.modern import ModernWork
from rebalance_audit.coordinator.group_tombstones import member_tombstones
from rebalance_audit.coordinator.ledger import newest
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.coordinator.requests.streams import Topology
from rebalance_audit.coordinator.streams import drafts
from rebalance_audit.coordinator.streams.tasks import HeldTasks, Tasks, held_of, target_of
from rebalance_audit.coordinator.streams.topology import Configured, required_topics, topology_of
from rebalance_audit.replay.groups import NOT_VALIDATED, ModernMember
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.wire.generated import messages

STANDBY_REPLICAS = "num.standby.replicas"


@dataclass(slots=True)
class SoftStreamsGroup:
    """What the coordinator remembers beyond the records; a fail-over loses it."""

    configured: Configured | None = None
    """The topology with the topics as they were last looked at."""
    topics_are_checked: bool = False
    """Whether the topology's topics were compared with the hash on record, and none of them has changed since."""
    is_delayed: bool = False
    """Whether the initial delay runs."""


class StreamsWork(ModernWork[SoftStreamsGroup]):
    """A streams group as replay left it, and the result in the making."""

    @property
    def topology(self) -> Topology | None:
        """The topology on record."""
        value = newest(self.shard, messages.StreamsGroupTopologyKey(self.group_id))
        return None if value is None or self.group.topology_epoch < 0 else topology_of(value)

    @property
    def last_epoch(self) -> messages.StreamsGroupMetadataValue | None:
        """The record of the group's epoch."""
        if not self.group.has_epoch_record:
            return None
        value = newest(self.shard, messages.StreamsGroupMetadataKey(self.group_id))
        assert value is None or isinstance(value, messages.StreamsGroupMetadataValue)
        return value

    @property
    def configs(self) -> Mapping[str, str]:
        """The group's settings for its assignor."""
        replicas = self.setting(STANDBY_REPLICAS, self.config.streams_standby_replicas)
        return {STANDBY_REPLICAS: str(replicas)}

    def target(self, member_id: str) -> Tasks:
        """The member's target on record."""
        key = messages.StreamsGroupTargetAssignmentMemberKey(self.group_id, member_id)
        return target_of(newest(self.shard, key))

    def held(self, member_id: str) -> HeldTasks:
        """What the member has and gives up, on record."""
        key = messages.StreamsGroupCurrentMemberAssignmentKey(self.group_id, member_id)
        return held_of(newest(self.shard, key))

    def holders(self) -> Mapping[str, Mapping[TopicPartition, set[str]]]:
        """`active` and `other` (standby, warm-up): task -> processes that have it or give it up."""
        found: dict[str, dict[TopicPartition, set[str]]] = {"active": {}, "other": {}}
        for member in self.group.members.values():
            held = self.held(member.member_id)
            for tasks in (held.assigned, held.pending):
                for place, kind in enumerate(tasks):
                    of_kind = found["active" if place == 0 else "other"]
                    for topic, numbers in kind.items():
                        for number in numbers:
                            of_kind.setdefault((topic, number), set()).add(member.process_id)
        return found

    def hash_of(self, topology: Topology) -> int:
        """The hash of the topics that the topology requires."""
        return metadata_hash(required_topics(topology), self.image)

    @property
    def last_configs(self) -> Mapping[str, str]:
        """Those settings as of the last epoch; empty where the release did not record them."""
        last = self.last_epoch
        kept = () if last is None else last.last_assignment_configs or ()
        return {each.key: each.value for each in kept}

    def bump(
        self,
        topology: Topology | None,
        metadata_hash: int,
        validated: int,
        configs: Mapping[str, str],
        reasons: list[BumpReason],
    ) -> int:
        """Go on to another epoch; drafts [17]. Returns it.

        `topology` where the hash was compared with its topics as they are now, None where the hash is carried over.
        """
        epoch = self.begin_epoch(() if topology is None else required_topics(topology), reasons)
        recorded = None if self.is_first_release else validated
        self.records.append(
            drafts.streams_group_epoch(self.group_id, epoch, metadata_hash, recorded, configs)
        )
        return epoch

    def remove(self, member: ModernMember, trigger: Trigger) -> None:
        """Remove a member; drafts [22t][21t][19t] [17], and [20] where no member is left.

        The hash stays as it was; release 4.1 wrote 0 in its place.
        """
        self.records.extend(member_tombstones(self.group, member.member_id))
        reasons = [self.departed(member, trigger)]
        is_empty = self.group.members.keys() <= {member.member_id}
        if is_empty:
            reasons.append(BumpReason(Trigger.GROUP_EMPTIED))
        kept = 0 if self.is_first_release else self.group.metadata_hash
        last = self.last_epoch
        validated = NOT_VALIDATED if last is None else last.validated_topology_epoch
        epoch = self.bump(None, kept, validated, self.last_configs, reasons)
        if is_empty and self.release.emptied_group_has_target:
            self.records.append(drafts.streams_target_epoch(self.group_id, epoch, 0))
