"""One request or timer on one streams group: what it reads, and what it has decided so far."""

from collections.abc import Mapping
from dataclasses import dataclass

from rebalance_audit.coordinator.consumer.bumps import metadata_hash
from rebalance_audit.coordinator.consumer.modern_work import SoftWork
from rebalance_audit.coordinator.handling import ErrorCode, RefusedError, Timer, TimerKind
from rebalance_audit.coordinator.ledger import newest
from rebalance_audit.coordinator.reasons import Bump, BumpReason, Departure, Trigger
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


class StreamsWork(SoftWork[SoftStreamsGroup]):
    """A streams group as replay left it, and the result in the making."""

    @property
    def topology(self) -> Topology | None:
        """The topology on record."""
        value = newest(self._shard, messages.StreamsGroupTopologyKey(self.group_id))
        return None if value is None or self.group.topology_epoch < 0 else topology_of(value)

    @property
    def last_epoch(self) -> messages.StreamsGroupMetadataValue | None:
        """The record of the group's epoch."""
        if not self.group.has_epoch_record:
            return None
        value = newest(self._shard, messages.StreamsGroupMetadataKey(self.group_id))
        assert value is None or isinstance(value, messages.StreamsGroupMetadataValue)
        return value

    @property
    def configs(self) -> Mapping[str, str]:
        """The group's settings for its assignor."""
        default = self.config.streams_standby_replicas
        own = self.config.group_overrides.get(self.group_id, {})
        return {STANDBY_REPLICAS: str(own.get("streams.num.standby.replicas", default))}

    def target(self, member_id: str) -> Tasks:
        """The member's target on record."""
        key = messages.StreamsGroupTargetAssignmentMemberKey(self.group_id, member_id)
        return target_of(newest(self._shard, key))

    def held(self, member_id: str) -> HeldTasks:
        """What the member has and gives up, on record."""
        key = messages.StreamsGroupCurrentMemberAssignmentKey(self.group_id, member_id)
        return held_of(newest(self._shard, key))

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

    def identified(self, member_id: str, instance_id: str | None) -> ModernMember:
        """The current member of these ids. Raises RefusedError (UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID)."""
        if instance_id is None:
            return self.member(member_id)
        holder = self.group.static_members.get(instance_id)
        if holder is None:
            raise RefusedError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown."
            )
        if holder != member_id:
            raise RefusedError(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member {holder}.",
            )
        return self.member(member_id)

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
        epoch = self.group_epoch + 1
        names = () if topology is None else sorted(required_topics(topology))
        topics = {name: self.image.topic(name) for name in names}
        self.outcome.bump(Bump(self.group_id, epoch, tuple(reasons), topics))
        recorded = None if self.is_first_release else validated
        self.outcome.records.append(
            drafts.streams_group_epoch(self.group_id, epoch, metadata_hash, recorded, configs)
        )
        return epoch

    def remove(self, member: ModernMember, trigger: Trigger) -> None:
        """Remove a member; drafts [22t][21t][19t] [17], and [20] where no member is left.

        The hash stays as it was; release 4.1 wrote 0 in its place.
        """
        group_id, member_id = self.group_id, member.member_id
        self.outcome.records += drafts.streams_member_gone(group_id, member_id)
        self.cancel_timers(member_id)
        reason = BumpReason(trigger, member_id, member.instance_id)
        self.outcome.depart(Departure(group_id, self.group_epoch + 1, reason))
        is_empty = self.group.members.keys() <= {member_id}
        reasons = [reason, BumpReason(Trigger.GROUP_EMPTIED)] if is_empty else [reason]
        kept = 0 if self.is_first_release else self.group.metadata_hash
        last = self.last_epoch
        validated = NOT_VALIDATED if last is None else last.validated_topology_epoch
        epoch = self.bump(None, kept, validated, self.last_configs, reasons)
        if is_empty and self.release.emptied_group_has_target:
            self.outcome.records.append(drafts.streams_target_epoch(group_id, epoch, 0))

    def cancel_timers(self, member_id: str) -> None:
        """Disarm every timer of a member that is gone."""
        for kind in (TimerKind.SESSION, TimerKind.REBALANCE):
            self.outcome.cancel(Timer(kind, self.group_id, member_id))
