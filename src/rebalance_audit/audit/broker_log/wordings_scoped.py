"""Lines of the new coordinator after `[GroupId g]`."""

from collections.abc import Sequence
from typing import Final

from rebalance_audit.audit.broker_log.fact import FactKind
from rebalance_audit.audit.broker_log.wording import Level, Wording, rows

_K: Final = FactKind
_D, _I, _W, _E = Level.DEBUG, Level.INFO, Level.WARN, Level.ERROR

AFTER_GROUP_ID: Final[Sequence[Wording]] = rows(
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
