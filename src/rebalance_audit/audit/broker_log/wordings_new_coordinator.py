"""Lines of the new coordinator, in Java, that name their group themselves or none."""

from collections.abc import Sequence
from typing import Final

from rebalance_audit.audit.broker_log.fact import FactKind
from rebalance_audit.audit.broker_log.wording import Level, Wording, rows

_K: Final = FactKind
_D, _I, _W, _E = Level.DEBUG, Level.INFO, Level.WARN, Level.ERROR

NEW_COORDINATOR: Final[Sequence[Wording]] = rows(
    {
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
                _K.CLASSIC_JOIN_REFUSED,
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
        "InternalTopicManager": [
            (None, "4.1", _I, "Topic configuration failed for topology epoch {…}"),
            (None, "4.1", _I, "Valid topic configuration found{…}"),
        ],
    }
)
