"""Lines of the old coordinator, in Scala (up to 3.9)."""

from typing import Final

OLD_COORDINATOR: Final = """
GroupCoordinator
    2.1-3.9 info  REBALANCE_PREPARED: Preparing to rebalance group {group_id} in state {word} with old generation
        {epoch} (__consumer_offsets-{log_partition}) (reason: {text})
    2.0     info  REBALANCE_PREPARED: Preparing to rebalance group {group_id} with old generation {epoch}
        (__consumer_offsets-{log_partition})
    2.8-3.9 info  GENERATION_STABILIZED: Stabilized group {group_id} generation {epoch}
        (__consumer_offsets-{log_partition}) with {size} members
    2.0-2.7 info  GENERATION_STABILIZED: Stabilized group {group_id} generation {epoch}
        (__consumer_offsets-{log_partition})
    2.0-3.9 info  GROUP_EMPTIED: Group {group_id} with generation {epoch} is now empty
        (__consumer_offsets-{log_partition})
    2.8     info  ASSIGNMENT_RECEIVED: Assignment received from leader for group {group_id} for generation {epoch}.
        The group has {size} members, {word} of which are static
    2.0-2.7 info  ASSIGNMENT_RECEIVED: Assignment received from leader for group {group_id} for generation {epoch}
    2.3-2.4 debug MEMBER_ID_GIVEN: Dynamic member with unknown member id rejoins group {group_id} in {word} state.
        Created a new member id {member_id} and request{…}
    2.3-2.4 debug MEMBER_JOINED: Dynamic member with unknown member id rejoins group {group_id} in {word} state.
        Created a new member id {member_id} for this member and add{…}
    2.5-2.8 info  MEMBER_JOINED: Static member with unknown member id joins group {group_id} in {word} state.
        Created a new member id {member_id} for this member and add{…}
    2.5-2.8 debug MEMBER_JOINED: Dynamic member with specific member id {member_id} joins group {group_id} in
        {word} state. Adding to the group now
    2.5-2.8 info  MEMBER_JOINED: Adding new static member {instance_id} to group {group_id} with member id
        {member_id}.
    2.5-2.8 info  STATIC_MEMBER_REPLACED: Static member {instance_id} of group {group_id} with unknown member id
        rejoins, assigning new member id {member_id}, while old member id {old_member_id} will be removed
    2.3-2.4 info  STATIC_MEMBER_REPLACED: Static member {instance_id} with unknown member id rejoins, assigning new
        member id {member_id}, while old member {old_member_id} will be removed
    3.2-3.9 info  MEMBER_LEFT_BY_REQUEST: Member MemberMetadata(memberId={member_id},
        groupInstanceId={instance_id}, clientId={…}) has left group {group_id} through explicit `LeaveGroup`;
        client reason: {text}
    3.0-3.1 info  MEMBER_LEFT_BY_REQUEST: Member MemberMetadata(memberId={member_id},
        groupInstanceId={instance_id}, clientId={…}) has left group {group_id} through explicit `LeaveGroup`
        request
    2.4-2.8 info  MEMBER_LEFT_BY_REQUEST: Member[group.instance.id {instance_id}, member.id {member_id}] in group
        {group_id} has left, removing it from the group
    2.0-2.3 info  MEMBER_LEFT_BY_REQUEST: Member {member_id} in group {group_id} has left, removing it from the
        group
    3.0-3.9 info  PENDING_MEMBER_LEFT: Pending member with memberId={member_id} has left group {group_id} through
        explicit `LeaveGroup` request
    2.2-2.8 info  PENDING_MEMBER_LEFT: Pending member {member_id} is leaving group {group_id}.
    2.3-2.7 info  MEMBERS_NOT_REJOINED: Group {group_id} remove dynamic members who haven't joined: {members}
    3.0-3.9 info  MEMBER_REFUSED: Request memberId={member_id} for static member with groupInstanceId={instance_id}
        is fenced by current memberId={old_member_id} during operation {text}
    2.0-3.9 info  GROUP_LOADED: Loading group metadata for {group_id} with generation {epoch}
    2.0-3.9 info  GROUP_UNLOADED: Unloading group metadata for {group_id} with generation {epoch}
    2.4-3.9 info  OFFSETS_REMOVED: The following offsets of the group {group_id} were deleted: {…} A total of
        {size} offsets were removed
    2.0-3.9 info  OFFSETS_REMOVED: Removed {size} offsets associated with deleted partitions: {text}
    2.7-3.9 info  PARTITION_LOADED: Elected as the group coordinator for partition {log_partition}
    2.7-3.9 info  PARTITION_UNLOADED: Resigned as the group coordinator for partition {log_partition}
    2.0-3.9 debug Loaded group metadata {…} with offsets {…}
    2.4     info  Static member joins during {word} stage will not trigger rebalance
    2.7-3.9 info  Static member which joins during Stable stage and doesn't affect selectProtocol will not trigger
        rebalance
    2.4     info  Member id {member_id} was not found in {…} during heartbeat expiration
    2.5-3.9 info  Member id {member_id} was not found in {…} during heartbeat completion check
    2.7-3.9 warn  STORE_FAILED: Failed to persist metadata for group {group_id}: {text}
GroupMetadata
    2.5-2.8 error MEMBER_REFUSED: given member.id {member_id} is identified as a known static member {instance_id},
        but not matching the expected member.id {old_member_id} during {text}, will respond with instance
        fenced error
    2.3-2.4 error MEMBER_REFUSED: given member.id {member_id} is identified as a known static member
        {instance_id},but not matching the expected member.id {old_member_id}
GroupMetadata (Scala)
    2.4-3.9 debug Expired offsets from group {…}
    3.4-3.9 error Failed to invoke {word} callback for {…}
    2.5-2.7 info  Static member {…} of group {…} loaded with member id {…}
GroupMetadataManager (Scala)
    2.0-3.9 error STORE_FAILED: Appending metadata message for group {group_id} generation {epoch} failed due to
        {text}
    2.0-3.9 debug STORE_FAILED: Metadata from group {group_id} with generation {epoch} failed when appending to log
        due to {text}
    2.0-3.9 error LOAD_FAILED: Error loading offsets from __consumer_offsets-{log_partition}
    2.0-3.9 info  PARTITION_LOADED: Finished loading offsets and group metadata from
        __consumer_offsets-{log_partition} in {…}
    2.0-3.9 info  PARTITION_UNLOADED: Finished unloading __consumer_offsets-{log_partition}
    2.0-3.9 info  OFFSETS_REMOVED: Removed {size} expired offsets in {…} milliseconds
    2.0-3.9 info  Scheduling loading of offsets and group metadata from {…}
    2.0-3.9 info  Scheduling unloading of offsets and group metadata from {…}
    2.0-3.9 info  Already loading offsets and group metadata from {…}
    2.8-3.9 debug Started loading offsets and group metadata from {…}
    2.8-3.9 debug Started unloading offsets and group metadata for {…}
    3.0-3.9 info  Not loading offsets and group metadata for {…} since current epoch is {…}
    3.0-3.9 info  Not removing offsets and group metadata for {…} since current epoch is {…}
    2.0-3.9 warn  Attempted to load offsets and group metadata from {…}, but found no log
    2.0-3.9 warn  Loaded offsets and group metadata from {…} with buffer larger {…}
    3.5-3.9 warn  Unknown message key with version {…} while loading offsets and group metadata {…}
    2.0-3.9 warn  Unknown {…} while loading offsets and group metadata {…}
    2.0-3.9 info  Group {…} transitioned to Dead in generation {…}
    2.0-3.9 info  BrokerId {word} is no longer a coordinator for the group {…}
    2.0-3.9 info  Group {…} has moved away from {…} after transaction marker was written {…}
    2.0-3.9 error Failed to append {word} tombstones to {…} for expired/deleted offsets {…}
    2.0-3.9 debug Attempt to load group {…} from log with generation {…} failed because {…}
    2.0-3.9 debug Offset commit {…} from group {…} failed when appending to log due to {…}
    2.0-3.9 warn  group: {…} has received offset commits from consumers as well as transactional producers{…}
"""
