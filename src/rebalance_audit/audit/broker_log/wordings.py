"""Kafka's lines about groups, by release: the one table from a coordinator's words to facts.

In a pattern, {name} stands for a field of `BrokerFact`, {word} for one word and {…} for anything. SCOPED rows come
after `[GroupId g]` (in some releases `[Group g]` or `[GroupId=g]`, with a streams member `[GroupId g][MemberId m]`);
the others name the group themselves or none. Case does not matter, nor what follows a pattern. A row without a kind
tells nothing that the records do not hold, or nothing about a group: its lines are known, and make no fact.

The releases are those whose source has the wording, from 2.0 on; the old and the new coordinator of 3.6 to 3.9
(`group.coordinator.new.enable`) differ, so both have rows. Sources: GroupCoordinator, GroupMetadata,
GroupMetadataManager (Scala); GroupMetadataManager, ClassicGroup, ConsumerGroup, StreamsGroup, OffsetMetadataManager,
GroupCoordinatorShard, GroupCoordinatorService, InternalTopicManager, TopicRegexResolver, CoordinatorRuntime and its
helpers (Java).
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.fact import FactKind


class Level(StrEnum):
    """The level at which Kafka logs a line."""

    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class Wording(NamedTuple):
    """One row."""

    kind: FactKind | None
    releases: str
    level: Level
    logger: str
    """The class that logs it, without its package."""
    pattern: str


_Row = tuple[FactKind | None, str, Level, str]

_K: Final = FactKind
_D, _I, _W, _E = Level.DEBUG, Level.INFO, Level.WARN, Level.ERROR


def _rows(by_logger: Mapping[str, Iterable[_Row]]) -> tuple[Wording, ...]:
    return tuple(
        Wording(kind, releases, level, logger, pattern)
        for logger, rows in by_logger.items()
        for kind, releases, level, pattern in rows
    )


PLAIN: Final[Sequence[Wording]] = _rows(
    {
        # Where one pattern is the begin of another, the longer one comes first.
        "GroupCoordinator": [
            (
                _K.REBALANCE_PREPARED,
                "2.1-3.9",
                _I,
                (
                    "Preparing to rebalance group {group_id} in state {word} with old generation {epoch} "
                    "(__consumer_offsets-{log_partition}) (reason: {text})"
                ),
            ),
            (
                _K.REBALANCE_PREPARED,
                "2.0",
                _I,
                (
                    "Preparing to rebalance group {group_id} with old generation {epoch} "
                    "(__consumer_offsets-{log_partition})"
                ),
            ),
            (
                _K.GENERATION_STABILIZED,
                "2.8-3.9",
                _I,
                (
                    "Stabilized group {group_id} generation {epoch} (__consumer_offsets-{log_partition}) with "
                    "{size} members"
                ),
            ),
            (
                _K.GENERATION_STABILIZED,
                "2.0-2.7",
                _I,
                "Stabilized group {group_id} generation {epoch} (__consumer_offsets-{log_partition})",
            ),
            (
                _K.GROUP_EMPTIED,
                "2.0-3.9",
                _I,
                "Group {group_id} with generation {epoch} is now empty (__consumer_offsets-{log_partition})",
            ),
            (
                _K.ASSIGNMENT_RECEIVED,
                "2.8",
                _I,
                (
                    "Assignment received from leader for group {group_id} for generation {epoch}. "
                    "The group has {size} members, {word} of which are static"
                ),
            ),
            (
                _K.ASSIGNMENT_RECEIVED,
                "2.0-2.7",
                _I,
                "Assignment received from leader for group {group_id} for generation {epoch}",
            ),
            (
                _K.MEMBER_ID_GIVEN,
                "2.3-2.4",
                _D,
                (
                    "Dynamic member with unknown member id rejoins group {group_id} in {word} state. "
                    "Created a new member id {member_id} and request{…}"
                ),
            ),
            (
                _K.MEMBER_JOINED,
                "2.3-2.4",
                _D,
                (
                    "Dynamic member with unknown member id rejoins group {group_id} in {word} state. "
                    "Created a new member id {member_id} for this member and add{…}"
                ),
            ),
            (
                _K.MEMBER_JOINED,
                "2.5-2.8",
                _I,
                (
                    "Static member with unknown member id joins group {group_id} in {word} state. "
                    "Created a new member id {member_id} for this member and add{…}"
                ),
            ),
            (
                _K.MEMBER_JOINED,
                "2.5-2.8",
                _D,
                (
                    "Dynamic member with specific member id {member_id} joins group {group_id} in {word} state. "
                    "Adding to the group now"
                ),
            ),
            (
                _K.MEMBER_JOINED,
                "2.5-2.8",
                _I,
                "Adding new static member {instance_id} to group {group_id} with member id {member_id}.",
            ),
            (
                _K.STATIC_MEMBER_REPLACED,
                "2.5-2.8",
                _I,
                (
                    "Static member {instance_id} of group {group_id} with unknown member id rejoins, assigning "
                    "new member id {member_id}, while old member id {old_member_id} will be removed"
                ),
            ),
            (
                _K.STATIC_MEMBER_REPLACED,
                "2.3-2.4",
                _I,
                (
                    "Static member {instance_id} with unknown member id rejoins, assigning "
                    "new member id {member_id}, while old member {old_member_id} will be removed"
                ),
            ),
            (
                _K.MEMBER_LEFT_BY_REQUEST,
                "3.2-3.9",
                _I,
                (
                    "Member MemberMetadata(memberId={member_id}, groupInstanceId={instance_id}, clientId={…}) "
                    "has left group {group_id} through explicit `LeaveGroup`; client reason: {text}"
                ),
            ),
            (
                _K.MEMBER_LEFT_BY_REQUEST,
                "3.0-3.1",
                _I,
                (
                    "Member MemberMetadata(memberId={member_id}, groupInstanceId={instance_id}, clientId={…}) "
                    "has left group {group_id} through explicit `LeaveGroup` request"
                ),
            ),
            (
                _K.MEMBER_LEFT_BY_REQUEST,
                "2.4-2.8",
                _I,
                (
                    "Member[group.instance.id {instance_id}, member.id {member_id}] in group {group_id} has "
                    "left, removing it from the group"
                ),
            ),
            (
                _K.MEMBER_LEFT_BY_REQUEST,
                "2.0-2.3",
                _I,
                "Member {member_id} in group {group_id} has left, removing it from the group",
            ),
            (
                _K.PENDING_MEMBER_LEFT,
                "3.0-3.9",
                _I,
                (
                    "Pending member with memberId={member_id} has left group {group_id} through explicit "
                    "`LeaveGroup` request"
                ),
            ),
            (
                _K.PENDING_MEMBER_LEFT,
                "2.2-2.8",
                _I,
                "Pending member {member_id} is leaving group {group_id}.",
            ),
            (
                _K.MEMBERS_NOT_REJOINED,
                "2.3-2.7",
                _I,
                "Group {group_id} remove dynamic members who haven't joined: {members}",
            ),
            (
                _K.MEMBER_REFUSED,
                "3.0-3.9",
                _I,
                (
                    "Request memberId={member_id} for static member with groupInstanceId={instance_id} "
                    "is fenced by current memberId={old_member_id} during operation {text}"
                ),
            ),
            (
                _K.GROUP_LOADED,
                "2.0-3.9",
                _I,
                "Loading group metadata for {group_id} with generation {epoch}",
            ),
            (
                _K.GROUP_UNLOADED,
                "2.0-3.9",
                _I,
                "Unloading group metadata for {group_id} with generation {epoch}",
            ),
            (
                _K.OFFSETS_REMOVED,
                "2.4-3.9",
                _I,
                (
                    "The following offsets of the group {group_id} were deleted: {…} A total of {size} offsets "
                    "were removed"
                ),
            ),
            (
                _K.OFFSETS_REMOVED,
                "2.0-3.9",
                _I,
                "Removed {size} offsets associated with deleted partitions: {text}",
            ),
            (
                _K.PARTITION_LOADED,
                "2.7-3.9",
                _I,
                "Elected as the group coordinator for partition {log_partition}",
            ),
            (
                _K.PARTITION_UNLOADED,
                "2.7-3.9",
                _I,
                "Resigned as the group coordinator for partition {log_partition}",
            ),
            (None, "2.0-3.9", _D, "Loaded group metadata {…} with offsets {…}"),
            (None, "2.4", _I, "Static member joins during {word} stage will not trigger rebalance"),
            (
                None,
                "2.7-3.9",
                _I,
                (
                    "Static member which joins during Stable stage and doesn't affect selectProtocol "
                    "will not trigger rebalance"
                ),
            ),
            (
                None,
                "2.4",
                _I,
                "Member id {member_id} was not found in {…} during heartbeat expiration",
            ),
            (
                None,
                "2.5-3.9",
                _I,
                "Member id {member_id} was not found in {…} during heartbeat completion check",
            ),
            (
                _K.STORE_FAILED,
                "2.7-3.9",
                _W,
                "Failed to persist metadata for group {group_id}: {text}",
            ),
        ],
        "GroupMetadata": [
            (
                _K.MEMBER_REFUSED,
                "2.5-2.8",
                _E,
                (
                    "given member.id {member_id} is identified as a known static member {instance_id}, "
                    "but not matching the expected member.id {old_member_id} during {text}, "
                    "will respond with instance fenced error"
                ),
            ),
            (
                _K.MEMBER_REFUSED,
                "2.3-2.4",
                _E,
                (
                    "given member.id {member_id} is identified as a known static member {instance_id},"
                    "but not matching the expected member.id {old_member_id}"
                ),
            ),
        ],
        "GroupMetadata (Scala)": [
            (None, "2.4-3.9", _D, "Expired offsets from group {…}"),
            (None, "3.4-3.9", _E, "Failed to invoke {word} callback for {…}"),
            (None, "2.5-2.7", _I, "Static member {…} of group {…} loaded with member id {…}"),
        ],
        "InternalTopicManager": [
            (None, "4.1", _I, "Topic configuration failed for topology epoch {…}"),
            (None, "4.1", _I, "Valid topic configuration found{…}"),
        ],
        "GroupMetadataManager (Scala)": [
            (
                _K.STORE_FAILED,
                "2.0-3.9",
                _E,
                "Appending metadata message for group {group_id} generation {epoch} failed due to {text}",
            ),
            (
                _K.STORE_FAILED,
                "2.0-3.9",
                _D,
                "Metadata from group {group_id} with generation {epoch} failed when appending to log due to {text}",
            ),
            (
                _K.LOAD_FAILED,
                "2.0-3.9",
                _E,
                "Error loading offsets from __consumer_offsets-{log_partition}",
            ),
            (
                _K.PARTITION_LOADED,
                "2.0-3.9",
                _I,
                "Finished loading offsets and group metadata from __consumer_offsets-{log_partition} in {…}",
            ),
            (
                _K.PARTITION_UNLOADED,
                "2.0-3.9",
                _I,
                "Finished unloading __consumer_offsets-{log_partition}",
            ),
            (
                _K.OFFSETS_REMOVED,
                "2.0-3.9",
                _I,
                "Removed {size} expired offsets in {…} milliseconds",
            ),
            (None, "2.0-3.9", _I, "Scheduling loading of offsets and group metadata from {…}"),
            (None, "2.0-3.9", _I, "Scheduling unloading of offsets and group metadata from {…}"),
            (None, "2.0-3.9", _I, "Already loading offsets and group metadata from {…}"),
            (None, "2.8-3.9", _D, "Started loading offsets and group metadata from {…}"),
            (None, "2.8-3.9", _D, "Started unloading offsets and group metadata for {…}"),
            (
                None,
                "3.0-3.9",
                _I,
                "Not loading offsets and group metadata for {…} since current epoch is {…}",
            ),
            (
                None,
                "3.0-3.9",
                _I,
                "Not removing offsets and group metadata for {…} since current epoch is {…}",
            ),
            (
                None,
                "2.0-3.9",
                _W,
                "Attempted to load offsets and group metadata from {…}, but found no log",
            ),
            (
                None,
                "2.0-3.9",
                _W,
                "Loaded offsets and group metadata from {…} with buffer larger {…}",
            ),
            (
                None,
                "3.5-3.9",
                _W,
                "Unknown message key with version {…} while loading offsets and group metadata {…}",
            ),
            (None, "2.0-3.9", _W, "Unknown {…} while loading offsets and group metadata {…}"),
            (None, "2.0-3.9", _I, "Group {…} transitioned to Dead in generation {…}"),
            (None, "2.0-3.9", _I, "BrokerId {word} is no longer a coordinator for the group {…}"),
            (
                None,
                "2.0-3.9",
                _I,
                "Group {…} has moved away from {…} after transaction marker was written {…}",
            ),
            (
                None,
                "2.0-3.9",
                _E,
                "Failed to append {word} tombstones to {…} for expired/deleted offsets {…}",
            ),
            (
                None,
                "2.0-3.9",
                _D,
                "Attempt to load group {…} from log with generation {…} failed because {…}",
            ),
            (
                None,
                "2.0-3.9",
                _D,
                "Offset commit {…} from group {…} failed when appending to log due to {…}",
            ),
            (
                None,
                "2.0-3.9",
                _W,
                "group: {…} has received offset commits from consumers as well as transactional producers{…}",
            ),
        ],
        "GroupMetadataManager": [
            (
                _K.REBALANCE_PREPARED,
                "3.6-",
                _I,
                "Preparing to rebalance group {group_id} in state {word} with old generation {epoch} (reason: {text})",
            ),
            (
                _K.GENERATION_STABILIZED,
                "3.6-",
                _I,
                "Stabilized group {group_id} generation {epoch} with {size} members",
            ),
            (_K.GROUP_EMPTIED, "3.6-", _I, "Group {group_id} with generation {epoch} is now empty"),
            (
                _K.ASSIGNMENT_RECEIVED,
                "3.0-",
                _I,
                (
                    "Assignment received from leader {member_id} for group {group_id} for generation {epoch}. "
                    "The group has {size} members, {word} of which are static"
                ),
            ),
            (
                _K.MEMBER_ID_GIVEN,
                "2.5-",
                _I,
                (
                    "Dynamic member with unknown member id joins group {group_id} in {word} state. "
                    "Created a new member id {member_id} and request{…}"
                ),
            ),
            (
                _K.MEMBER_JOINED,
                "2.5-3.9",
                _I,
                (
                    "Dynamic member with unknown member id joins group {group_id} in {word} state. "
                    "Created a new member id {member_id} for this member and add{…}"
                ),
            ),
            (
                _K.MEMBER_ID_GIVEN,
                "4.0-",
                _I,
                (
                    "Dynamic member with unknown member id joins group {group_id} in state {word}. "
                    "Created a new member id {member_id} and request{…}"
                ),
            ),
            (
                _K.MEMBER_JOINED,
                "3.6-",
                _I,
                (
                    "Dynamic member with unknown member id joins group {group_id} in state {word}. "
                    "Created a new member id {member_id} and added{…}"
                ),
            ),
            (
                _K.MEMBER_JOINED,
                "3.0-",
                _D,
                (
                    "Pending dynamic member with id {member_id} joins group {group_id} in {word} state. Adding "
                    "to the group now"
                ),
            ),
            (
                _K.MEMBER_JOINED,
                "3.0-",
                _I,
                (
                    "Static member with groupInstanceId={instance_id} and unknown member id joins group "
                    "{group_id} in {word} state. Created a new member id {member_id} for this member and add{…}"
                ),
            ),
            (
                _K.STATIC_MEMBER_REPLACED,
                "3.0-",
                _I,
                (
                    "Static member with groupInstanceId={instance_id} and unknown member id joins group "
                    "{group_id} in {word} state. Replacing previously mapped member {old_member_id} with this "
                    "groupInstanceId"
                ),
            ),
            (
                _K.MEMBER_EXPIRED,
                "2.0-",
                _I,
                "Member {member_id} in group {group_id} has failed, removing it from the group",
            ),
            (
                _K.PENDING_MEMBER_EXPIRED,
                "2.2-",
                _I,
                "Pending member {member_id} in group {group_id} has been removed after session timeout expiration",
            ),
            (
                _K.MEMBERS_NOT_REJOINED,
                "2.8-",
                _I,
                "Group {group_id} removed dynamic members who haven't joined: {members}",
            ),
            (
                _K.MEMBERS_NOT_REJOINED,
                "3.6-",
                _D,
                "Group {group_id} removed members who haven't sent their sync requests: {members}",
            ),
            (
                _K.MEMBERS_NOT_REJOINED,
                "3.0-3.9",
                _D,
                "Group {group_id} removed members who haven't sent their sync request: {members}",
            ),
            (
                _K.NO_MEMBER_REJOINED,
                "2.4-",
                _E,
                "Group {group_id} could not complete rebalance because no members rejoined",
            ),
            (
                _K.ASSIGNMENT_INCOMPLETE,
                "2.5-",
                _W,
                "Setting empty assignments for members {members} of {group_id} for generation {epoch}",
            ),
            (
                _K.STORE_FAILED,
                "3.6-",
                _W,
                (
                    "Failed to persist metadata for group {group_id} static member {member_id} with group instance id "
                    "{instance_id} due to {text}. Reverting to old member id {old_member_id}."
                ),
            ),
            (
                _K.STORE_FAILED,
                "2.4-",
                _W,
                "Failed to write empty metadata for group {group_id}: {text}",
            ),
            (_K.GROUP_LOADED, "3.6-", _I, "Loaded classic group {group_id} with {size} members"),
            (_K.GROUP_LOADED, "3.6", _I, "Loaded generic group {group_id} with {size} members"),
            (_K.GROUP_LOADED, "3.6-", _I, "Loaded consumer group {group_id} with {size} members"),
            (_K.GROUP_LOADED, "4.1-", _I, "Loaded share group {group_id} with {size} members"),
            (_K.GROUP_LOADED, "4.1-", _I, "Loaded streams group {group_id} with {size} members"),
            (
                _K.UPGRADE_REFUSED,
                "3.8-",
                _I,
                "Cannot upgrade classic group {group_id} to consumer group because {text}",
            ),
            (
                _K.UPGRADE_REFUSED,
                "3.8-3.9",
                _W,
                "Cannot upgrade the classic group {group_id} to consumer group because {text}",
            ),
            (
                _K.UPGRADE_REFUSED,
                "4.0-",
                _W,
                "Cannot upgrade classic group {group_id} to consumer group: {text}",
            ),
            (
                _K.DOWNGRADE_REFUSED,
                "3.8-",
                _I,
                "Cannot downgrade consumer group {group_id} to classic group because {text}",
            ),
            (
                _K.DOWNGRADE_REFUSED,
                "3.8-",
                _W,
                "Cannot downgrade the consumer group {group_id}: {text}",
            ),
            (
                _K.DOWNGRADE_REFUSED,
                "4.3-",
                _I,
                "Cannot join the consumer group {group_id} with the classic protocol because {text}",
            ),
            (None, "2.4-", _I, "Group {…} is dead, skipping rebalance stage"),
            (None, "3.8-", _D, "Cannot find the group, skipping {…}"),
            (
                None,
                "3.6-",
                _I,
                (
                    "Static member which joins during Stable stage and doesn't affect the selected protocol "
                    "will not trigger a rebalance"
                ),
            ),
            (
                None,
                "2.4-",
                _I,
                "Received notification of heartbeat expiration for member {…} after group {…} had already been {…}",
            ),
            (
                None,
                "3.8-",
                _D,
                "Received notification of sync expiration for an unknown classic group {…}",
            ),
            (None, "3.0-", _E, "Received unexpected notification of sync expiration {…}"),
            (None, "2.4-", _D, "Member {…} has already been removed from the group"),
            (
                None,
                "2.4-",
                _W,
                "Attempt to add rejoining member {…} of group {…} in unexpected group state {…}",
            ),
            (
                None,
                "2.5-",
                _W,
                "Sending empty assignment to member {…} of {…} for generation {…} with no errors",
            ),
            (None, "2.8-", _D, "Loaded member {…} in {…}"),
            (None, "3.8-", _W, "Loaded group {…} with an unknown group type {…}"),
            (None, "3.8", _W, "Removed group {…} with an unknown group type {…}"),
            (None, "3.9-", _W, "onUnloaded group with an unknown group type {…}"),
            (
                None,
                "3.8-",
                _D,
                "Skip downgrading the consumer group {…} to classic group because it's empty",
            ),
            (None, "4.0-", _D, "Cannot complete join phase of group {…} because {…}"),
            (None, "4.1-", _I, "Existing deleting entries found in share group {…}"),
            (
                None,
                "4.1-",
                _I,
                "Initializing topic {…} for share group {…} found in deleting state {…}",
            ),
            (
                None,
                "4.2-",
                _W,
                "Some topics for share group id {…} were not found in the metadata image {…}",
            ),
            (None, "4.1-", _D, "ShareGroupCurrentMemberAssignment tombstone {…}"),
            (None, "4.1-", _D, "ShareGroupMemberMetadata tombstone {…}"),
            (None, "4.1-", _D, "ShareGroupMetadata tombstone {…}"),
            (None, "4.1-", _D, "ShareGroupStatePartitionMetadata tombstone {…}"),
            (None, "4.1-", _D, "ShareGroupTargetAssignmentMember tombstone {…}"),
            (None, "4.1-", _D, "ShareGroupTargetAssignmentMetadata tombstone {…}"),
        ],
        "ClassicGroup": [
            (
                _K.MEMBER_REFUSED,
                "3.6-",
                _I,
                (
                    "Request memberId={member_id} for static member with groupInstanceId={instance_id} "
                    "is fenced by existing memberId={old_member_id} during operation {text}"
                ),
            ),
            (
                None,  # names no group
                "2.4-",
                _I,
                "Group leader [{…} failed to join before {…}rebalance timeout{…}",
            ),
            (
                None,
                "2.4-",
                _W,
                "Failed to parse Consumer Protocol {…} of group {…}",
            ),
        ],
        "OffsetMetadataManager": [
            (None, "3.7-", _D, "Replaying offset commit with key {…}"),
            (None, "3.7-", _D, "Replaying transactional offset commit with {…}"),
            (None, "3.7-", _D, "Committed transaction{…}"),
            (None, "3.7-", _D, "Aborted transactional offset commits for producer id {…}"),
            (None, "3.8-", _D, "Replayed end transaction marker with result {…}"),
            (None, "3.8-", _I, "Skipped the materialization of transactional offset commit {…}"),
        ],
        "GroupCoordinatorShard": [
            (
                _K.GROUP_DELETED,
                "2.0-",
                _I,
                "The following groups were deleted: {members}. A total of {size} offsets were removed",
            ),
            (
                _K.OFFSETS_REMOVED,
                "3.7-",
                _I,
                "Generated {size} tombstone records while cleaning up group metadata in {…} milliseconds",
            ),
            (
                _K.OFFSETS_REMOVED,
                "3.7-",
                _I,
                "Generated {size} tombstone records in {…} milliseconds while deleting offsets for {text}",
            ),
            (
                None,
                "4.3-",
                _I,
                "Generated {size} records in {…} milliseconds while cleaning share group state for topics {…}",
            ),
            (None, "4.1-", _E, "Unable to delete share group{…}"),
            (
                None,
                "4.4-",
                _W,
                "Unexpected error scanning streams group {…} for topology cleanup; skipping",
            ),
        ],
        "GroupCoordinatorService": [
            (None, "2.0-", _I, "Starting up"),
            (None, "2.0-", _I, "Startup complete"),
            (None, "2.0-", _I, "Shutting down"),
            (None, "2.0-", _I, "Shutdown complete"),
            (None, "3.6-", _W, "Group coordinator is already running"),
            (None, "3.6-", _W, "Group coordinator is already shutting down"),
            (None, "3.6-3.7", _E, "Heartbeat request {…} hit an unexpected exception: {…}"),
            (None, "3.6-3.7", _E, "JoinGroup request {…} hit an unexpected exception: {…}"),
            (None, "3.6-3.7", _E, "SyncGroup request {…} hit an unexpected exception: {…}"),
            (None, "3.7", _E, "LeaveGroup request {…} hit an unexpected exception: {…}"),
            (None, "3.7", _E, "DescribeGroups request {…} hit an unexpected exception: {…}"),
            (None, "3.7", _E, "ConsumerGroupDescribe request {…} hit an unexpected exception: {…}"),
            (None, "3.8-", _E, "Operation {…} with {…} hit an unexpected exception: {…}"),
            (None, "3.8-", _E, "Could not delete offsets for deleted {…}"),
            (None, "4.1-", _E, "Error deleting share group {…}"),
            (None, "4.1-", _E, "Failed to delete share group state due to: {…}"),
            (None, "4.1-", _E, "Failed to retrieve {…} share group{…}"),
            (None, "4.1-", _E, "Failed to retrieve {…}"),
            (None, "4.1-", _E, "Failed to read summary of the share partition"),
            (None, "4.1-", _E, "Partition end offset fetch failed for topicPartition {…}"),
            (None, "4.1-", _E, "Received error while {…} share group {…}"),
            (None, "4.1-", _E, "Received error while calling initialize state for {…}"),
            (None, "4.1-", _E, "Result is null for the {…}"),
            (None, "4.1-", _W, "Unable to cleanup {…}"),
            (None, "4.1-", _E, "Unable to initialize share group state {…}"),
            (None, "4.4-", _E, "Topology description plugin {…}"),
        ],
        "CoordinatorRuntime": [
            (
                _K.PARTITION_LOADED,
                "3.6-",
                _I,
                "Finished loading of metadata from __consumer_offsets-{log_partition} with epoch {word}",
            ),
            (
                _K.PARTITION_UNLOADED,
                "3.6-",
                _I,
                "Scheduling unloading of metadata for __consumer_offsets-{log_partition} with epoch {word}",
            ),
            (
                _K.LOAD_FAILED,
                "3.6-",
                _E,
                "Failed to load metadata from __consumer_offsets-{log_partition} with epoch {word} due to {text}",
            ),
            (
                _K.COORDINATOR_RELOADED,
                "3.8-",
                _E,
                (
                    "The state machine of the coordinator __consumer_offsets-{log_partition} is out of sync with "
                    "the underlying log"
                ),
            ),
            (
                _K.WRITE_FAILED,
                "3.8-4.2",
                _E,
                "Writing records to __consumer_offsets-{log_partition} failed due to: {text}",
            ),
            (
                _K.WRITE_FAILED,
                "4.3-",
                _E,
                "Failed to flush the pending records to __consumer_offsets-{log_partition}: {text}",
            ),
            (
                _K.WRITE_FAILED,
                "4.3-",
                _W,
                "Failed to write records to __consumer_offsets-{log_partition} because {text}",
            ),
            (
                _K.WRITE_FAILED,
                "4.3-",
                _E,
                "Failed to write records to __consumer_offsets-{log_partition} due to an unexpected error: {text}",
            ),
            (
                _K.WRITE_FAILED,
                "4.3-",
                _E,
                "Failed to write a batch of {size} record(s) to __consumer_offsets-{log_partition} because {text}",
            ),
            (None, "4.3-", _E, "Failed to write the transaction marker to {…}"),
            (None, "3.8-", _E, "Replaying record{…} to {…} failed due to: {…}"),
            (None, "3.6-", _I, "Scheduling loading of metadata from {…} with epoch {…}"),
            (None, "3.6-", _I, "Started unloading metadata for {…} with epoch {…}"),
            (None, "3.6-", _I, "Finished unloading metadata for {…} with epoch {…}"),
            (None, "3.6-", _E, "Failed to unload {…}"),
            (None, "3.6-", _I, "Ignored {…} metadata {…}"),
            (None, "3.6-", _I, "Ignoring {…} metadata {…}"),
            (None, "3.6-", _I, "Ignoring load completion from {…} because context is in {…} state"),
            (None, "3.8-", _I, "Ignored load completion from {…} because context is in {…} state"),
            (None, "3.8-", _D, "Ignored high watermark updated for {…}"),
            (None, "3.6-", _I, "The coordinator {…} is already {…}"),
            (None, "3.6-", _E, "Cannot load coordinator {…} in state {…}"),
            (None, "3.6-", _E, "Execution of {…} failed due to {…}"),
            (None, "3.6-", _D, "Executing {…}"),
            (None, "3.6-", _D, "Scheduled execution of {…}"),
            (None, "3.6-", _D, "Scheduling applying of a new metadata image with {…}"),
            (None, "3.6-", _D, "Scheduling write event {…}"),
            (None, "3.6-", _D, "Applying new metadata image with {…}"),
            (None, "3.6-", _D, "High watermark of {…}"),
            (None, "3.8-", _D, "Updating high watermark of {…}"),
            (None, "3.6-", _D, "Updated {…} offset of {…}"),
            (None, "3.6", _D, "Update {…} offset of {…}"),
            (None, "3.6-", _D, "Transition from {…} to {…}"),
            (None, "3.6-", _D, "Revert last written offset of {…}"),
            (None, "3.6-", _D, "Registering timer {…}"),
            (None, "3.6-", _I, "The write event {…} for the {…}"),
            (None, "4.0-", _I, "The write event for the task {…}"),
            (None, "3.6-", _I, "Failed to enqueue write event {…} for timer {…}"),
            (None, "3.8-", _D, "Failed to complete the loading of metadata for {…}"),
            (None, "4.0-", _E, "Completion of event {…} failed due to {…}"),
            (None, "4.0-", _W, "Tried to flush an empty batch for {…}"),
            (None, "3.6-", _I, "Closing coordinator runtime"),
            (None, "3.6-", _I, "Coordinator runtime {…}"),
            (None, "3.6-", _W, "Coordinator loader is {…}"),
            (None, "3.6-", _W, "Loaded metadata from {…} with buffer larger {…}"),
            (
                None,
                "3.6-",
                _W,
                "Unknown record type {…} while loading offsets and group metadata from {…}",
            ),
            (None, "4.3-", _D, "Replaying {…}"),
            (None, "3.6-", _I, "Draining {…}"),
            (None, "3.6-", _D, "Event processor {…}"),
            (None, "3.6-", _I, "Shutting down event processor"),
            (None, "3.6-", _I, "Shutdown completed"),
            (None, "3.6-", _I, "Starting"),
            (None, "3.6-", _E, "Exiting with exception"),
            (None, "3.6-", _E, "Failed to {word} event {…} due to: {…}"),
        ],
        "GroupConfig": [
            (None, "4.3-", _W, "The group config {…} for group {…} has value {…}"),
            (None, "4.3-", _W, "The effective {…} for group {…} is not greater than {…}"),
        ],
        "assignors": [
            (None, "3.7", _I, "The subscription list is empty, returning an empty assignment"),
            (None, "3.7-", _W, "Member Id {…} not found"),
            (
                None,
                "3.7-",
                _E,
                "The member {…} is assigned more partitions than the maximum possible",
            ),
            (None, "3.7-", _D, "The topic {…} is no longer present in the subscribed topics list"),
            (None, "3.7-", _D, "Detected that {…}"),
        ],
    }
)

SCOPED: Final[Sequence[Wording]] = _rows(
    {
        "GroupMetadataManager": [
            (
                _K.EPOCH_BUMPED,
                "4.1-",
                _I,
                "Bumped group epoch to {epoch} with metadata hash {metadata_hash}",
            ),
            (_K.EPOCH_BUMPED, "3.6-4.0", _I, "Bumped group epoch to {epoch}"),
            (
                _K.EPOCH_BUMPED,
                "4.1-",
                _I,
                "Bumped streams group epoch to {epoch} with metadata hash {metadata_hash}",
            ),
            (
                _K.TARGET_COMPUTED,
                "3.7-",
                _I,
                "Computed a new target assignment for epoch {epoch} with '{text}' assignor",
            ),
            (_K.TARGET_COMPUTED, "3.6", _I, "Computed a new target assignment for epoch {epoch}"),
            (
                _K.ASSIGNMENT_FAILED,
                "3.6-",
                _E,
                "Failed to compute a new target assignment for epoch {epoch}: {text}",
            ),
            (
                _K.MEMBER_JOINED,
                "3.7-",
                _I,
                "Static member {member_id} with instance id {instance_id} joins the {word} group",
            ),
            (_K.MEMBER_JOINED, "3.6-", _I, "Member {member_id} joins the {word} group"),
            (_K.MEMBER_JOINED, "4.1-", _I, "Member joins the {word} group"),
            (
                _K.MEMBER_ID_GIVEN,
                "3.8-",
                _I,
                (
                    "Dynamic member with unknown member id joins the consumer group. Created a new member id "
                    "{member_id} and requesting the member to rejoin with this id"
                ),
            ),
            (
                _K.STATIC_MEMBER_REPLACED,
                "3.9-",
                _I,
                (
                    "Static member with instance id {instance_id} re-joins the {word} group using the {word} protocol. "
                    "Created a new member {member_id} to replace the existing member {old_member_id}."
                ),
            ),
            (
                _K.STATIC_MEMBER_REPLACED,
                "3.8",
                _I,
                (
                    "Static member with unknown member id and instance id {instance_id} re-joins the consumer "
                    "group. Created a new member {member_id} to replace the existing member {old_member_id}."
                ),
            ),
            (
                _K.STATIC_MEMBER_REPLACED,
                "3.7-3.8",
                _I,
                "Static member {member_id} with instance id {instance_id} re-joins the {word} group",
            ),
            (
                _K.MEMBER_AWAY,
                "3.7-",
                _I,
                "Static member {member_id} with instance id {instance_id} temporarily left the {word} group",
            ),
            (
                _K.MEMBER_LEFT,
                "3.7-",
                _I,
                "Static member {member_id} with instance id {instance_id} left the {word} group",
            ),
            (_K.MEMBER_LEFT, "3.6-", _I, "Member {member_id} left the {word} group"),
            (
                _K.MEMBER_LEFT_BY_REQUEST,
                "3.8-",
                _I,
                (
                    "Static member {member_id} with instance id {instance_id} has left group through explicit "
                    "`LeaveGroup` request; client reason: {text}"
                ),
            ),
            (
                _K.MEMBER_LEFT_BY_REQUEST,
                "4.0-",
                _I,
                (
                    "Static member with instance id {instance_id} has left group through explicit `LeaveGroup` "
                    "request; client reason: {text}"
                ),
            ),
            (
                _K.MEMBER_LEFT_BY_REQUEST,
                "3.8-",
                _I,
                (
                    "Dynamic member {member_id} has left group through explicit `LeaveGroup` request; "
                    "client reason: {text}"
                ),
            ),
            (
                _K.PENDING_MEMBER_LEFT,
                "3.7-",
                _I,
                (
                    "Pending member {member_id} has left group through explicit `LeaveGroup` request; "
                    "client reason: {text}"
                ),
            ),
            (
                _K.MEMBER_LEFT_BY_REQUEST,
                "3.7-",
                _I,
                (
                    "Member {member_id} has left group through explicit `LeaveGroup` request; "
                    "client reason: {text}"
                ),
            ),
            (
                _K.MEMBER_FENCED,
                "4.1-",
                _I,
                "Streams member {member_id} fenced from the group because {text}",
            ),
            (
                _K.MEMBER_FENCED,
                "3.6-",
                _I,
                "Member {member_id} fenced from the group because {text}",
            ),
            (
                _K.MEMBER_REFUSED,
                "3.7-",
                _I,
                (
                    "Static member {member_id} with instance id {instance_id} cannot join the group because "
                    "the instance id is owned by member {old_member_id}."
                ),
            ),
            (
                _K.MEMBER_REFUSED,
                "3.7-3.9",
                _I,
                (
                    "Static member {member_id} with instance id {instance_id} cannot join the group because "
                    "the instance id is is owned by member {old_member_id}."
                ),
            ),
            (
                _K.MEMBER_REFUSED,
                "3.7-",
                _I,
                (
                    "Static member {member_id} with instance id {instance_id} is fenced by existing member "
                    "{old_member_id}."
                ),
            ),
            (
                _K.SUBSCRIPTION_CHANGED,
                "3.6-",
                _I,
                "Member {member_id} updated its subscribed topics to: {text}",
            ),
            (
                _K.SUBSCRIPTION_CHANGED,
                "3.6-",
                _I,
                "Member {member_id} updated its subscribed regex to: {text}",
            ),
            (
                _K.MEMBER_UPDATED,
                "4.1",
                _I,
                "Member {member_id} updated its member metdata to {text}",
            ),
            (_K.MEMBER_UPDATED, "4.2", _I, "Member updated its member metdata to {text}"),
            (_K.MEMBER_UPDATED, "4.3-", _I, "Member updated its member metadata to {text}"),
            (
                _K.ASSIGNMENT_CONFIGS_CHANGED,
                "4.2-",
                _I,
                "Assignment configurations changed to {text}. Triggering rebalance",
            ),
            (
                _K.TOPOLOGY_INITIALIZED,
                "4.1-",
                _I,
                "Member initialized the topology with epoch {word}",
            ),
            (_K.GROUP_UPGRADED, "3.8-", _I, "Converted the classic group to a consumer group"),
            (
                _K.GROUP_UPGRADED,
                "4.0-",
                _I,
                "Converted the empty classic group to a consumer group",
            ),
            (_K.GROUP_UPGRADED, "4.2-", _I, "Converted the empty classic group to a streams group"),
            (_K.GROUP_DOWNGRADED, "3.8-", _I, "Converted the consumer group to a classic group"),
            (
                _K.GROUP_DOWNGRADED,
                "4.0-",
                _I,
                "Converted the empty consumer group to a classic group",
            ),
            (
                _K.GROUP_DOWNGRADED,
                "4.2-",
                _I,
                "Converted the empty streams group to a classic group",
            ),
            (_K.GROUP_UNLOADED, "3.8-", _I, "Unloaded group metadata for group epoch {epoch}"),
            (_K.GROUP_UNLOADED, "3.8-", _I, "Unloading group metadata for generation {epoch}"),
            (None, "3.6-4.0", _I, "Computed new subscription metadata: {…}"),
            (None, "4.1-", _I, "Computed new metadata hash: {…}"),
            (None, "3.6-3.7", _I, "Member {member_id} transitioned from {…} to {…}"),
            (None, "3.8-", _I, "Member {member_id} new assignment state: {…}"),
            (None, "4.1-", _I, "Member's new assignment state: {…}"),
            (None, "4.1-", _I, "Configuring the topology {…}"),
            (None, "4.1-", _I, "Member joined with currently initialized topology {…}"),
            (None, "4.1-", _I, "Member joined with stale topology epoch {…}"),
            (None, "3.6-", _D, "Could not fence {…}"),
            (None, "3.6-", _D, "Ignoring {…} timeout for {…} because {…}"),
            (None, "4.0-", _W, "Couldn't update regular expression due to: {…}"),
            (
                None,
                "4.0-",
                _D,
                "Received result of regular expression resolution but it no longer exists",
            ),
            (
                None,
                "4.0-",
                _D,
                "Received updated regular expressions based on the context of member {…}",
            ),
            (None, "4.2-", _D, "Cannot compute delayed target assignment{…}"),
            (None, "4.2-", _D, "Skipping delayed target assignment{…}"),
            (None, "4.2-", _D, "Group not found during initial rebalance"),
            (None, "4.4-", _W, "The configured task assignor {…} is not available{…}"),
            (None, "4.4-", _W, "The refined assignment does not hand out as many active tasks {…}"),
            (None, "4.4-", _D, "Requested topology description push at topology epoch {…}"),
        ],
        "TopicRegexResolver": [
            (
                _K.REGEXES_SCANNED,
                "4.0-",
                _I,
                "Scanned {word} topics to refresh regular expressions {text} in {…}ms",
            ),
            (None, "4.0-", _D, "Refreshing regular expressions: {…}"),
            (None, "4.0-", _W, "Couldn't parse regular expression {…}"),
        ],
        "InternalTopicManager": [
            (None, "4.1-", _I, "Topic configuration failed for topology epoch {…}"),
            (None, "4.1-", _I, "Valid topic configuration found{…}"),
        ],
        "ConsumerGroup": [
            (None, "4.0-", _D, "Cannot remove the {…}"),
            (None, "4.1-", _D, "Setting the process ID of {…}"),
            (None, "4.0-", _W, "Size of assignment epochs {…} is not equal to partitions {…}"),
        ],
        "StreamsGroup": [
            (None, "4.1-", _I, "Shutdown requested for the streams application"),
            (None, "4.1-", _I, "Clearing shutdown requested for the streams application"),
            (None, "4.2-", _E, "updatedMember is unexpectedly null in {…}"),
        ],
        "OffsetMetadataManager": [
            (None, "3.6-", _D, "Committing {…}offsets {…}"),
            (None, "3.7-", _D, "Expired offset for partition={…}"),
            (None, "3.7-", _D, "Removing expired offset and metadata for {…}"),
            (None, "4.1-", _I, "Creating a simple consumer group via manual offset commit"),
        ],
    }
)
