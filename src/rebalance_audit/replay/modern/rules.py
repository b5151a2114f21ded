"""Replay of consumer, share and streams group records (types 3 to 24): which rule each record type has.

These records are deltas: each overwrites one part of the group. The rules are those of the replay methods in Kafka's
GroupMetadataManager; what the three group types do differently is data in `kinds`.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

from rebalance_audit.replay.modern.assignments import (
    replay_current,
    replay_streams_current,
    replay_target,
)
from rebalance_audit.replay.modern.epochs import (
    replay_group_epoch,
    replay_streams_group_epoch,
    replay_target_metadata,
)
from rebalance_audit.replay.modern.kinds import CONSUMER, SHARE, STREAMS
from rebalance_audit.replay.modern.members import (
    replay_member,
)
from rebalance_audit.replay.modern.topics import (
    replay_nothing,
    replay_regex,
    replay_share_partition_metadata,
    replay_share_partitions,
    replay_topic_metadata,
    replay_topology,
)
from rebalance_audit.replay.step import ReplayRule
from rebalance_audit.wire.generated.messages import RecordType

RULES: Final[Mapping[RecordType, ReplayRule]] = {
    RecordType.CONSUMER_GROUP_METADATA: partial(replay_group_epoch, CONSUMER),
    RecordType.SHARE_GROUP_METADATA: partial(replay_group_epoch, SHARE),
    RecordType.STREAMS_GROUP_METADATA: replay_streams_group_epoch,
    RecordType.CONSUMER_GROUP_PARTITION_METADATA: partial(replay_topic_metadata, CONSUMER),
    RecordType.SHARE_GROUP_PARTITION_METADATA: replay_share_partition_metadata,
    RecordType.STREAMS_GROUP_PARTITION_METADATA: partial(replay_topic_metadata, STREAMS),
    RecordType.CONSUMER_GROUP_MEMBER_METADATA: partial(replay_member, CONSUMER),
    RecordType.SHARE_GROUP_MEMBER_METADATA: partial(replay_member, SHARE),
    RecordType.STREAMS_GROUP_MEMBER_METADATA: partial(replay_member, STREAMS),
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: partial(replay_target_metadata, CONSUMER),
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA: partial(replay_target_metadata, SHARE),
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA: partial(replay_target_metadata, STREAMS),
    RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: partial(replay_target, CONSUMER),
    RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER: partial(replay_target, SHARE),
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER: partial(replay_target, STREAMS),
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: partial(replay_current, CONSUMER),
    RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT: partial(replay_current, SHARE),
    RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT: replay_streams_current,
    RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION: replay_regex,
    RecordType.SHARE_GROUP_STATE_PARTITION_METADATA: replay_share_partitions,
    RecordType.STREAMS_GROUP_TOPOLOGY: replay_topology,
    RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_RESOLVED_TOPIC_IDS: replay_nothing,
}
"""Record type -> what it does to the slot."""
