"""The records that the classic protocol writes ([2])."""

from collections.abc import Mapping

from rebalance_audit.coordinator.classic.live_group import NO_ASSIGNMENT, LiveGroup
from rebalance_audit.coordinator.handling import RecordDraft
from rebalance_audit.wire.generated.messages import (
    GroupMetadataKey,
    GroupMetadataMember,
    GroupMetadataValue,
)


def new_group_record(live: LiveGroup) -> RecordDraft:
    """A group that came to be with its first JoinGroup: no type, no members, generation 0."""
    value = GroupMetadataValue("", 0, None, None, (), live.state_since_ms)
    return RecordDraft(GroupMetadataKey(live.group_id), value)


def generation_record(live: LiveGroup, assignments: Mapping[str, bytes]) -> RecordDraft:
    """The snapshot of the generation, with each member's assignment; one that has none gets empty bytes.

    `currentStateTimestamp` is when the state before the write was entered: for a leader's SyncGroup the end of the join
    phase, for a static member's return the moment the group became stable.
    """
    members = tuple(
        GroupMetadataMember(
            member_id=member.member_id,
            client_id=member.client_id,
            client_host=member.client_host,
            session_timeout=member.session_timeout_ms,
            subscription=member.metadata_for(live.protocol_name),
            assignment=assignments.get(member.member_id, NO_ASSIGNMENT),
            group_instance_id=member.instance_id,
            rebalance_timeout=member.rebalance_timeout_ms,
        )
        for member in live.in_order()
    )
    value = GroupMetadataValue(
        live.protocol_type or "",
        live.generation,
        live.protocol_name,
        live.leader_member_id,
        members,
        live.state_since_ms,
    )
    return RecordDraft(GroupMetadataKey(live.group_id), value)
