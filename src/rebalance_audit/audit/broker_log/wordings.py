"""The wording of each relevant line, by release: the one table from Kafka's words to facts.

In a pattern, {name} stands for a field of `BrokerFact` and {…} for anything. `SCOPED` rows come after `[GroupId g]` (in
some releases `[Group g]` or `[GroupId=g]`); the others name the group themselves. Case does not matter. The releases
are those whose source has the wording. The old and the new coordinator of 3.x (`group.coordinator.new.enable`) differ,
so both have rows.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.fact import FactKind


class Wording(NamedTuple):
    """One row."""

    kind: FactKind
    releases: str
    pattern: str


PLAIN: Final[Sequence[Wording]] = (
    Wording(
        FactKind.REBALANCE_PREPARED,
        "2.0",
        "Preparing to rebalance group {group_id} with old generation {epoch} (__consumer_offsets-{log_partition})",
    ),
    Wording(
        FactKind.REBALANCE_PREPARED,
        "2.1-3.9",
        "Preparing to rebalance group {group_id} in state {…} with old generation {epoch} "
        "(__consumer_offsets-{log_partition}) (reason: {text})",
    ),
    Wording(
        FactKind.REBALANCE_PREPARED,
        "3.7-",
        "Preparing to rebalance group {group_id} in state {…} with old generation {epoch} "
        "(reason: {text}).",
    ),
    Wording(
        FactKind.GENERATION_STABILIZED,
        "2.8-3.9",
        "Stabilized group {group_id} generation {epoch} (__consumer_offsets-{log_partition}) with {size} members",
    ),
    Wording(
        FactKind.GENERATION_STABILIZED,
        "2.0-2.7",
        "Stabilized group {group_id} generation {epoch} (__consumer_offsets-{log_partition})",
    ),
    Wording(
        FactKind.GENERATION_STABILIZED,
        "3.7-",
        "Stabilized group {group_id} generation {epoch} with {size} members.",
    ),
    Wording(
        FactKind.GROUP_EMPTIED,
        "2.0-3.9",
        "Group {group_id} with generation {epoch} is now empty (__consumer_offsets-{log_partition})",
    ),
    Wording(
        FactKind.GROUP_EMPTIED, "3.7-", "Group {group_id} with generation {epoch} is now empty."
    ),
    Wording(
        FactKind.ASSIGNMENT_RECEIVED,
        "3.0-",
        "Assignment received from leader {member_id} for group {group_id} for generation {epoch}. "
        "The group has {size} members, {…} of which are static.",
    ),
    Wording(
        FactKind.ASSIGNMENT_RECEIVED,
        "2.8",
        "Assignment received from leader for group {group_id} for generation {epoch}. "
        "The group has {size} members, {…} of which are static.",
    ),
    Wording(
        FactKind.ASSIGNMENT_RECEIVED,
        "2.0-2.7",
        "Assignment received from leader for group {group_id} for generation {epoch}",
    ),
    Wording(
        FactKind.MEMBER_ID_GIVEN,
        "3.0-",
        "Dynamic member with unknown member id joins group {group_id} in {…} state. "
        "Created a new member id {member_id} and request{…}",
    ),
    Wording(
        FactKind.MEMBER_JOINED,
        "2.7-",
        "Dynamic member with unknown member id joins group {group_id} in {…} state. "
        "Created a new member id {member_id} for this member and {…}",
    ),
    Wording(
        FactKind.MEMBER_JOINED,
        "3.7-",
        "Dynamic member with unknown member id joins group {group_id} in state {…}. "
        "Created a new member id {member_id} and added {…}",
    ),
    Wording(
        FactKind.MEMBER_JOINED,
        "2.8-",
        "Pending dynamic member with id {member_id} joins group {group_id} in {…} state. "
        "Adding to the group now.",
    ),
    Wording(
        FactKind.MEMBER_JOINED,
        "2.7",
        "Static member with unknown member id joins group {group_id} in {…} state. "
        "Created a new member id {member_id} for this member and {…}",
    ),
    Wording(
        FactKind.MEMBER_JOINED,
        "3.0-",
        "Static member with groupInstanceId={instance_id} and unknown member id joins group "
        "{group_id} in {…} state. Created a new member id {member_id} for this member and {…}",
    ),
    Wording(
        FactKind.STATIC_MEMBER_REPLACED,
        "3.0-",
        "Static member with groupInstanceId={instance_id} and unknown member id joins group "
        "{group_id} in {…} state. Replacing previously mapped member {old_member_id} with this "
        "groupInstanceId.",
    ),
    Wording(
        FactKind.STATIC_MEMBER_REPLACED,
        "2.7-2.8",
        "Static member {instance_id} of group {group_id} with unknown member id rejoins, assigning "
        "new member id {member_id}, while old member id {old_member_id} will be removed.",
    ),
    Wording(
        FactKind.MEMBER_EXPIRED,
        "2.0-",
        "Member {member_id} in group {group_id} has failed, removing it from the group{…}",
    ),
    Wording(
        FactKind.MEMBER_LEFT_BY_REQUEST,
        "2.1-2.3",
        "Member {member_id} in group {group_id} has left, removing it from the group",
    ),
    Wording(
        FactKind.MEMBER_LEFT_BY_REQUEST,
        "2.4-2.8",
        "Member[group.instance.id {instance_id}, member.id {member_id}] in group {group_id} has "
        "left, removing it from the group",
    ),
    Wording(
        FactKind.MEMBER_LEFT_BY_REQUEST,
        "3.2-3.9",
        "Member MemberMetadata(memberId={member_id}, groupInstanceId={instance_id}, clientId={…}) "
        "has left group {group_id} through explicit `LeaveGroup`; client reason: {text}",
    ),
    Wording(
        FactKind.MEMBER_LEFT_BY_REQUEST,
        "3.0-3.1",
        "Member MemberMetadata(memberId={member_id}, groupInstanceId={instance_id}, clientId={…}) "
        "has left group {group_id} through explicit `LeaveGroup` request",
    ),
    Wording(
        FactKind.MEMBERS_NOT_REJOINED,
        "2.3-",
        "Group {group_id} removed dynamic members who haven't joined: {members}",
    ),
    Wording(
        FactKind.MEMBERS_NOT_REJOINED,
        "2.3-2.8",
        "Group {group_id} remove dynamic members who haven't joined: {members}",
    ),
    Wording(  # at level DEBUG
        FactKind.MEMBERS_NOT_REJOINED,
        "3.7-",
        "Group {group_id} removed members who haven't sent their sync requests: {members}",
    ),
    Wording(
        FactKind.MEMBERS_NOT_REJOINED,
        "3.0-3.9",
        "Group {group_id} removed members who haven't sent their sync request: {members}",
    ),
    Wording(
        FactKind.GROUP_LOADED,
        "2.0-3.9",
        "Loading group metadata for {group_id} with generation {epoch}",
    ),
    Wording(
        FactKind.GROUP_UNLOADED,
        "2.0-3.9",
        "Unloading group metadata for {group_id} with generation {epoch}",
    ),
    Wording(FactKind.GROUP_LOADED, "3.7-", "Loaded classic group {group_id} with {size} members."),
    Wording(FactKind.GROUP_LOADED, "3.7-", "Loaded consumer group {group_id} with {size} members."),
    Wording(FactKind.GROUP_LOADED, "4.1-", "Loaded share group {group_id} with {size} members."),
    Wording(FactKind.GROUP_LOADED, "4.1-", "Loaded streams group {group_id} with {size} members."),
    Wording(
        FactKind.GROUP_DELETED,
        "2.0-",
        "The following groups were deleted: {members}. A total of {size} offsets were removed.",
    ),
    Wording(
        FactKind.OFFSETS_REMOVED,
        "2.4-3.9",
        "The following offsets of the group {group_id} were deleted: {…}. A total of {size} "
        "offsets were removed.",
    ),
    Wording(
        FactKind.OFFSETS_REMOVED,
        "2.0-3.9",
        "Removed {size} expired offsets in {…} milliseconds.",
    ),
    Wording(
        FactKind.OFFSETS_REMOVED,
        "2.0-3.9",
        "Removed {size} offsets associated with deleted partitions: {text}.",
    ),
    Wording(
        FactKind.OFFSETS_REMOVED,
        "3.7-",
        "Generated {size} tombstone records while cleaning up group metadata in {…} milliseconds.",
    ),
    Wording(
        FactKind.OFFSETS_REMOVED,
        "3.7-",
        "Generated {size} tombstone records in {…} milliseconds while deleting offsets for {text}.",
    ),
    Wording(
        FactKind.PARTITION_LOADED,
        "2.7-3.9",
        "Elected as the group coordinator for partition {log_partition} in epoch {…}",
    ),
    Wording(
        FactKind.PARTITION_UNLOADED,
        "2.7-3.9",
        "Resigned as the group coordinator for partition {log_partition} in epoch {…}",
    ),
    Wording(
        FactKind.PARTITION_LOADED,
        "3.7-",
        "Finished loading of metadata from __consumer_offsets-{log_partition} with epoch {…}",
    ),
    Wording(
        FactKind.PARTITION_UNLOADED,
        "3.7-",
        "Scheduling unloading of metadata for __consumer_offsets-{log_partition} with epoch {…}",
    ),
)

SCOPED: Final[Sequence[Wording]] = (
    Wording(
        FactKind.EPOCH_BUMPED,
        "4.1-",
        "Bumped group epoch to {epoch} with metadata hash {metadata_hash}.",
    ),
    Wording(FactKind.EPOCH_BUMPED, "3.7-4.0", "Bumped group epoch to {epoch}."),
    Wording(
        FactKind.EPOCH_BUMPED,
        "4.1-",
        "Bumped streams group epoch to {epoch} with metadata hash {metadata_hash} and {…}",
    ),
    Wording(
        FactKind.TARGET_COMPUTED,
        "3.7-",
        "Computed a new target assignment for epoch {epoch} with '{text}' assignor{…}",
    ),
    Wording(
        FactKind.MEMBER_JOINED,
        "3.7-",
        "Static member {member_id} with instance id {instance_id} joins the {…} group{…}",
    ),
    Wording(FactKind.MEMBER_JOINED, "3.7-", "Member {member_id} joins the {…} group{…}"),
    Wording(FactKind.MEMBER_JOINED, "4.1-", "Member joins the streams group."),
    Wording(
        FactKind.MEMBER_ID_GIVEN,
        "3.8-",
        "Dynamic member with unknown member id joins the consumer group. Created a new member id "
        "{member_id} and requesting the member to rejoin with this id.",
    ),
    Wording(
        FactKind.STATIC_MEMBER_REPLACED,
        "3.9-",
        "Static member with instance id {instance_id} re-joins the consumer group {…}. "
        "Created a new member {member_id} to replace the existing member {old_member_id}.",
    ),
    Wording(
        FactKind.STATIC_MEMBER_REPLACED,
        "3.8",
        "Static member with unknown member id and instance id {instance_id} re-joins the consumer "
        "group. Created a new member {member_id} to replace the existing member {old_member_id}.",
    ),
    Wording(
        FactKind.STATIC_MEMBER_REPLACED,
        "3.7-3.8",
        "Static member {member_id} with instance id {instance_id} re-joins the consumer group.",
    ),
    Wording(
        FactKind.MEMBER_AWAY,
        "3.7-",
        "Static member {member_id} with instance id {instance_id} temporarily left the {…} group.",
    ),
    Wording(
        FactKind.MEMBER_LEFT,
        "3.7-",
        "Static member {member_id} with instance id {instance_id} left the {…} group.",
    ),
    Wording(FactKind.MEMBER_LEFT, "3.7-", "Member {member_id} left the {…} group."),
    Wording(
        FactKind.MEMBER_LEFT_BY_REQUEST,
        "3.7-",
        "Static member {member_id} with instance id {instance_id} has left group through explicit "
        "`LeaveGroup` request; client reason: {text}",
    ),
    Wording(
        FactKind.MEMBER_LEFT_BY_REQUEST,
        "4.0-",
        "Static member with instance id {instance_id} has left group through explicit `LeaveGroup` "
        "request; client reason: {text}",
    ),
    Wording(
        FactKind.MEMBER_LEFT_BY_REQUEST,
        "3.8-",
        "Dynamic member {member_id} has left group through explicit `LeaveGroup` request; "
        "client reason: {text}",
    ),
    Wording(
        FactKind.MEMBER_LEFT_BY_REQUEST,
        "3.7-",
        "Member {member_id} has left group through explicit `LeaveGroup` request; "
        "client reason: {text}",
    ),
    Wording(
        FactKind.MEMBER_FENCED,
        "4.1-",
        "Streams member {member_id} fenced from the group because {text}.",
    ),
    Wording(
        FactKind.MEMBER_FENCED, "3.7-", "Member {member_id} fenced from the group because {text}."
    ),
    Wording(
        FactKind.MEMBER_REFUSED,
        "3.7-",
        "Static member {member_id} with instance id {instance_id} cannot join the group because "
        "the instance id is owned by member {old_member_id}.",
    ),
    Wording(
        FactKind.MEMBER_REFUSED,
        "3.7-",
        "Static member {member_id} with instance id {instance_id} is fenced by existing member "
        "{old_member_id}.",
    ),
    Wording(
        FactKind.SUBSCRIPTION_CHANGED,
        "3.7-",
        "Member {member_id} updated its subscribed topics to: {text}.",
    ),
    Wording(
        FactKind.SUBSCRIPTION_CHANGED,
        "3.7-",
        "Member {member_id} updated its subscribed regex to: {text}.",
    ),
    Wording(
        FactKind.REGEXES_SCANNED,
        "4.0-",
        "Scanned {…} topics to refresh regular expressions {text} in {…}ms.",
    ),
    Wording(
        FactKind.ASSIGNMENT_CONFIGS_CHANGED,
        "4.2-",
        "Assignment configurations changed to {text}. Triggering rebalance.",
    ),
    Wording(FactKind.GROUP_UPGRADED, "3.8-", "Converted the classic group to a consumer group."),
    Wording(
        FactKind.GROUP_UPGRADED, "4.0-", "Converted the empty classic group to a consumer group."
    ),
    Wording(FactKind.GROUP_DOWNGRADED, "3.8-", "Converted the consumer group to a classic group."),
    Wording(
        FactKind.GROUP_DOWNGRADED, "4.0-", "Converted the empty consumer group to a classic group."
    ),
    Wording(FactKind.GROUP_UNLOADED, "3.7-", "Unloaded group metadata for group epoch {epoch}."),
    Wording(FactKind.GROUP_UNLOADED, "3.7-", "Unloading group metadata for generation {epoch}."),
)
