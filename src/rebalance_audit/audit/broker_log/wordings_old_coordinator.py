"""Lines of the old coordinator, in Scala (up to 3.9)."""

from collections.abc import Sequence
from typing import Final

from rebalance_audit.audit.broker_log.fact import FactKind
from rebalance_audit.audit.broker_log.wording import Level, Wording, rows

_K: Final = FactKind
_D, _I, _W, _E = Level.DEBUG, Level.INFO, Level.WARN, Level.ERROR

OLD_COORDINATOR: Final[Sequence[Wording]] = rows(
    {
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
    }
)
