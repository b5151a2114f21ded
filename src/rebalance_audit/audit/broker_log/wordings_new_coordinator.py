"""Lines of the new coordinator, in Java."""

from typing import Final

NEW_COORDINATOR: Final = """
GroupMetadataManager
    3.6-    info  REBALANCE_PREPARED: Preparing to rebalance group {group_id} in state {word} with old generation
        {epoch} (reason: {text})
    3.6-    info  GENERATION_STABILIZED: Stabilized group {group_id} generation {epoch} with {size} members
    3.6-    info  GROUP_EMPTIED: Group {group_id} with generation {epoch} is now empty
    3.0-    info  ASSIGNMENT_RECEIVED: Assignment received from leader {member_id} for group {group_id} for
        generation {epoch}. The group has {size} members, {word} of which are static
    2.5-    info  MEMBER_ID_GIVEN: Dynamic member with unknown member id joins group {group_id} in {word} state.
        Created a new member id {member_id} and request{…}
    2.5-3.9 info  MEMBER_JOINED: Dynamic member with unknown member id joins group {group_id} in {word} state.
        Created a new member id {member_id} for this member and add{…}
    4.0-    info  MEMBER_ID_GIVEN: Dynamic member with unknown member id joins group {group_id} in state {word}.
        Created a new member id {member_id} and request{…}
    3.6-    info  MEMBER_JOINED: Dynamic member with unknown member id joins group {group_id} in state {word}.
        Created a new member id {member_id} and added{…}
    3.0-    debug MEMBER_JOINED: Pending dynamic member with id {member_id} joins group {group_id} in {word} state.
        Adding to the group now
    3.0-    info  MEMBER_JOINED: Static member with groupInstanceId={instance_id} and unknown member id joins group
        {group_id} in {word} state. Created a new member id {member_id} for this member and add{…}
    3.0-    info  STATIC_MEMBER_REPLACED: Static member with groupInstanceId={instance_id} and unknown member id
        joins group {group_id} in {word} state. Replacing previously mapped member {old_member_id} with this
        groupInstanceId
    2.0-    info  MEMBER_EXPIRED: Member {member_id} in group {group_id} has failed, removing it from the group
    2.2-    info  PENDING_MEMBER_EXPIRED: Pending member {member_id} in group {group_id} has been removed after
        session timeout expiration
    2.8-    info  MEMBERS_NOT_REJOINED: Group {group_id} removed dynamic members who haven't joined: {members}
    3.6-    debug MEMBERS_NOT_REJOINED: Group {group_id} removed members who haven't sent their sync requests:
        {members}
    3.0-3.9 debug MEMBERS_NOT_REJOINED: Group {group_id} removed members who haven't sent their sync request:
        {members}
    2.4-    error NO_MEMBER_REJOINED: Group {group_id} could not complete rebalance because no members rejoined
    2.5-    warn  ASSIGNMENT_INCOMPLETE: Setting empty assignments for members {members} of {group_id} for
        generation {epoch}
    3.6-    warn  STORE_FAILED: Failed to persist metadata for group {group_id} static member {member_id} with
        group instance id {instance_id} due to {text}. Reverting to old member id {old_member_id}.
    2.4-    warn  STORE_FAILED: Failed to write empty metadata for group {group_id}: {text}
    3.6-    info  GROUP_LOADED: Loaded classic group {group_id} with {size} members
    3.6     info  GROUP_LOADED: Loaded generic group {group_id} with {size} members
    3.6-    info  GROUP_LOADED: Loaded consumer group {group_id} with {size} members
    4.1-    info  GROUP_LOADED: Loaded share group {group_id} with {size} members
    4.1-    info  GROUP_LOADED: Loaded streams group {group_id} with {size} members
    3.8-    info  UPGRADE_REFUSED: Cannot upgrade classic group {group_id} to consumer group because {text}
    3.8-3.9 warn  UPGRADE_REFUSED: Cannot upgrade the classic group {group_id} to consumer group because {text}
    4.0-    warn  UPGRADE_REFUSED: Cannot upgrade classic group {group_id} to consumer group: {text}
    3.8-    info  DOWNGRADE_REFUSED: Cannot downgrade consumer group {group_id} to classic group because {text}
    3.8-    warn  DOWNGRADE_REFUSED: Cannot downgrade the consumer group {group_id}: {text}
    4.3-    info  CLASSIC_JOIN_REFUSED: Cannot join the consumer group {group_id} with the classic protocol because
        {text}
    2.4-    info  Group {…} is dead, skipping rebalance stage
    3.8-    debug Cannot find the group, skipping {…}
    3.6-    info  Static member which joins during Stable stage and doesn't affect the selected protocol will not
        trigger a rebalance
    2.4-    info  Received notification of heartbeat expiration for member {…} after group {…} had already been {…}
    3.8-    debug Received notification of sync expiration for an unknown classic group {…}
    3.0-    error Received unexpected notification of sync expiration {…}
    2.4-    debug Member {…} has already been removed from the group
    2.4-    warn  Attempt to add rejoining member {…} of group {…} in unexpected group state {…}
    2.5-    warn  Sending empty assignment to member {…} of {…} for generation {…} with no errors
    2.8-    debug Loaded member {…} in {…}
    3.8-    warn  Loaded group {…} with an unknown group type {…}
    3.8     warn  Removed group {…} with an unknown group type {…}
    3.9-    warn  onUnloaded group with an unknown group type {…}
    3.8-    debug Skip downgrading the consumer group {…} to classic group because it's empty
    4.0-    debug Cannot complete join phase of group {…} because {…}
    4.1-    info  Existing deleting entries found in share group {…}
    4.1-    info  Initializing topic {…} for share group {…} found in deleting state {…}
    4.2-    warn  Some topics for share group id {…} were not found in the metadata image {…}
    4.1-    debug ShareGroupCurrentMemberAssignment tombstone {…}
    4.1-    debug ShareGroupMemberMetadata tombstone {…}
    4.1-    debug ShareGroupMetadata tombstone {…}
    4.1-    debug ShareGroupStatePartitionMetadata tombstone {…}
    4.1-    debug ShareGroupTargetAssignmentMember tombstone {…}
    4.1-    debug ShareGroupTargetAssignmentMetadata tombstone {…}
ClassicGroup
    3.6-    info  MEMBER_REFUSED: Request memberId={member_id} for static member with groupInstanceId={instance_id}
        is fenced by existing memberId={old_member_id} during operation {text}
    2.4-    info  Group leader [{…} failed to join before {…}rebalance timeout{…}
    2.4-    warn  Failed to parse Consumer Protocol {…} of group {…}
OffsetMetadataManager
    3.7-    debug Replaying offset commit with key {…}
    3.7-    debug Replaying transactional offset commit with {…}
    3.7-    debug Committed transaction{…}
    3.7-    debug Aborted transactional offset commits for producer id {…}
    3.8-    debug Replayed end transaction marker with result {…}
    3.8-    info  Skipped the materialization of transactional offset commit {…}
InternalTopicManager
    4.1     info  Topic configuration failed for topology epoch {…}
    4.1     info  Valid topic configuration found{…}
"""
"""Lines that name their group themselves or none."""

AFTER_GROUP_ID: Final = """
GroupMetadataManager
    4.1-    info  EPOCH_BUMPED: Bumped group epoch to {epoch} with metadata hash {metadata_hash}
    3.6-4.0 info  EPOCH_BUMPED: Bumped group epoch to {epoch}
    4.1-    info  EPOCH_BUMPED: Bumped streams group epoch to {epoch} with metadata hash {metadata_hash}
    3.7-    info  TARGET_COMPUTED: Computed a new target assignment for epoch {epoch} with '{text}' assignor
    3.6     info  TARGET_COMPUTED: Computed a new target assignment for epoch {epoch}
    3.6-    error ASSIGNMENT_FAILED: Failed to compute a new target assignment for epoch {epoch}: {text}
    3.7-    info  MEMBER_JOINED: Static member {member_id} with instance id {instance_id} joins the {word} group
    3.6-    info  MEMBER_JOINED: Member {member_id} joins the {word} group
    4.1-    info  MEMBER_JOINED: Member joins the {word} group
    3.8-    info  MEMBER_ID_GIVEN: Dynamic member with unknown member id joins the consumer group. Created a new
        member id {member_id} and requesting the member to rejoin with this id
    3.9-    info  STATIC_MEMBER_REPLACED: Static member with instance id {instance_id} re-joins the {word} group
        using the {word} protocol. Created a new member {member_id} to replace the existing member
        {old_member_id}.
    3.8     info  STATIC_MEMBER_REPLACED: Static member with unknown member id and instance id {instance_id}
        re-joins the consumer group. Created a new member {member_id} to replace the existing member
        {old_member_id}.
    3.7-3.8 info  STATIC_MEMBER_REPLACED: Static member {member_id} with instance id {instance_id} re-joins the
        {word} group
    3.7-    info  MEMBER_AWAY: Static member {member_id} with instance id {instance_id} temporarily left the {word}
        group
    3.7-    info  MEMBER_LEFT: Static member {member_id} with instance id {instance_id} left the {word} group
    3.6-    info  MEMBER_LEFT: Member {member_id} left the {word} group
    3.8-    info  MEMBER_LEFT_BY_REQUEST: Static member {member_id} with instance id {instance_id} has left group
        through explicit `LeaveGroup` request; client reason: {text}
    4.0-    info  MEMBER_LEFT_BY_REQUEST: Static member with instance id {instance_id} has left group through
        explicit `LeaveGroup` request; client reason: {text}
    3.8-    info  MEMBER_LEFT_BY_REQUEST: Dynamic member {member_id} has left group through explicit `LeaveGroup`
        request; client reason: {text}
    3.7-    info  PENDING_MEMBER_LEFT: Pending member {member_id} has left group through explicit `LeaveGroup`
        request; client reason: {text}
    3.7-    info  MEMBER_LEFT_BY_REQUEST: Member {member_id} has left group through explicit `LeaveGroup` request;
        client reason: {text}
    4.1-    info  MEMBER_FENCED: Streams member {member_id} fenced from the group because {text}
    3.6-    info  MEMBER_FENCED: Member {member_id} fenced from the group because {text}
    3.7-    info  MEMBER_REFUSED: Static member {member_id} with instance id {instance_id} cannot join the group
        because the instance id is owned by member {old_member_id}.
    3.7-3.9 info  MEMBER_REFUSED: Static member {member_id} with instance id {instance_id} cannot join the group
        because the instance id is is owned by member {old_member_id}.
    3.7-    info  MEMBER_REFUSED: Static member {member_id} with instance id {instance_id} is fenced by existing
        member {old_member_id}.
    3.6-    info  SUBSCRIPTION_CHANGED: Member {member_id} updated its subscribed topics to: {text}
    3.6-    info  SUBSCRIPTION_CHANGED: Member {member_id} updated its subscribed regex to: {text}
    4.1     info  MEMBER_UPDATED: Member {member_id} updated its member metdata to {text}
    4.2     info  MEMBER_UPDATED: Member updated its member metdata to {text}
    4.3-    info  MEMBER_UPDATED: Member updated its member metadata to {text}
    4.2-    info  ASSIGNMENT_CONFIGS_CHANGED: Assignment configurations changed to {text}. Triggering rebalance
    4.1-    info  TOPOLOGY_INITIALIZED: Member initialized the topology with epoch {word}
    3.8-    info  GROUP_UPGRADED: Converted the classic group to a consumer group
    4.0-    info  GROUP_UPGRADED: Converted the empty classic group to a consumer group
    4.2-    info  GROUP_UPGRADED: Converted the empty classic group to a streams group
    3.8-    info  GROUP_DOWNGRADED: Converted the consumer group to a classic group
    4.0-    info  GROUP_DOWNGRADED: Converted the empty consumer group to a classic group
    4.2-    info  GROUP_DOWNGRADED: Converted the empty streams group to a classic group
    3.8-    info  GROUP_UNLOADED: Unloaded group metadata for group epoch {epoch}
    3.8-    info  GROUP_UNLOADED: Unloading group metadata for generation {epoch}
    3.6-4.0 info  Computed new subscription metadata: {…}
    4.1-    info  Computed new metadata hash: {…}
    3.6-3.7 info  Member {member_id} transitioned from {…} to {…}
    3.8-    info  Member {member_id} new assignment state: {…}
    4.1-    info  Member's new assignment state: {…}
    4.1-    info  Configuring the topology {…}
    4.1-    info  Member joined with currently initialized topology {…}
    4.1-    info  Member joined with stale topology epoch {…}
    3.6-    debug Could not fence {…}
    3.6-    debug Ignoring {…} timeout for {…} because {…}
    4.0-    warn  Couldn't update regular expression due to: {…}
    4.0-    debug Received result of regular expression resolution but it no longer exists
    4.0-    debug Received updated regular expressions based on the context of member {…}
    4.2-    debug Cannot compute delayed target assignment{…}
    4.2-    debug Skipping delayed target assignment{…}
    4.2-    debug Group not found during initial rebalance
    4.4-    warn  The configured task assignor {…} is not available{…}
    4.4-    warn  The refined assignment does not hand out as many active tasks {…}
    4.4-    debug Requested topology description push at topology epoch {…}
TopicRegexResolver
    4.0-    info  REGEXES_SCANNED: Scanned {word} topics to refresh regular expressions {text} in {…}ms
    4.0-    debug Refreshing regular expressions: {…}
    4.0-    warn  Couldn't parse regular expression {…}
InternalTopicManager
    4.1-    info  Topic configuration failed for topology epoch {…}
    4.1-    info  Valid topic configuration found{…}
ConsumerGroup
    4.0-    debug Cannot remove the {…}
    4.1-    debug Setting the process ID of {…}
    4.0-    warn  Size of assignment epochs {…} is not equal to partitions {…}
StreamsGroup
    4.1-    info  Shutdown requested for the streams application
    4.1-    info  Clearing shutdown requested for the streams application
    4.2-    error updatedMember is unexpectedly null in {…}
OffsetMetadataManager
    3.6-    debug Committing {…}offsets {…}
    3.7-    debug Expired offset for partition={…}
    3.7-    debug Removing expired offset and metadata for {…}
    4.1-    info  Creating a simple consumer group via manual offset commit
"""
"""Lines after `[GroupId g]`."""
