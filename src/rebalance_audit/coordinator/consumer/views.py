"""Consumer groups as administrators see them: ConsumerGroupDescribe, and the metrics that KIP-848 names.

Metrics of threads, queues and loads belong to the machine that runs a coordinator; they are not here.
"""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Final, NamedTuple

from rebalance_audit.coordinator.assignors.group_spec import effective_assignor
from rebalance_audit.coordinator.consumer.modern import group_of_type
from rebalance_audit.coordinator.consumer.release import RELEASES
from rebalance_audit.coordinator.context import CoordinatorContext
from rebalance_audit.coordinator.handling import ErrorCode, RefusedError, TopicImage
from rebalance_audit.coordinator.requests.consumer import (
    MEMBER_TYPE_CLASSIC,
    MEMBER_TYPE_CONSUMER,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedAssignment,
    DescribedConsumerGroup,
    DescribedConsumerMember,
    DescribedTopicPartitions,
)
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import (
    ClientAssignorResult,
    ModernGroup,
    ModernMember,
    type_of,
)
from rebalance_audit.replay.partitions import Partitions, union
from rebalance_audit.replay.shard import Shard


def describe(
    context: CoordinatorContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    """Each group that was asked for, with its own error."""
    if not request.group_ids:
        refused = DescribedConsumerGroup("", ErrorCode.INVALID_REQUEST, "GroupIds can't be empty.")
        return ConsumerGroupDescribeResponse((refused,))
    return ConsumerGroupDescribeResponse(
        tuple(_group(context, group_id) for group_id in request.group_ids)
    )


def _group(context: CoordinatorContext, group_id: str) -> DescribedConsumerGroup:
    if not group_id:
        return DescribedConsumerGroup(
            group_id, ErrorCode.INVALID_GROUP_ID, "GroupId can't be empty."
        )
    try:
        group = group_of_type(context, group_id, GroupType.CONSUMER)
    except RefusedError as refused:
        return DescribedConsumerGroup(group_id, refused.error_code, str(refused))
    first_epoch = RELEASES[context.config.dialect].first_epoch
    members = group.members.values()
    return DescribedConsumerGroup(
        group_id,
        group_state=group.group_state(),
        group_epoch=group.group_epoch if group.has_epoch_record else first_epoch,
        assignment_epoch=group.assignment_epoch if group.has_assignment_record else first_epoch,
        assignor_name=effective_assignor(
            (member.server_assignor for member in members), context.config.server_assignors
        ),
        members=tuple(_member(group, member, context.image) for member in members),
    )


def _member(group: ModernGroup, member: ModernMember, image: TopicImage) -> DescribedConsumerMember:
    return DescribedConsumerMember(
        member.member_id,
        member.instance_id,
        member.rack_id,
        member.member_epoch,
        member.client_id,
        member.client_host,
        member.subscribed_topic_names,
        member.subscribed_topic_regex,
        _assignment(
            union(member.assigned, member.pending_revocation), member.client_assignor_result, image
        ),
        _assignment(
            group.target_of(member.member_id), group.target_results.get(member.member_id), image
        ),
        MEMBER_TYPE_CONSUMER if member.classic is None else MEMBER_TYPE_CLASSIC,
    )


def _assignment(
    partitions: Partitions, result: ClientAssignorResult | None, image: TopicImage
) -> DescribedAssignment:
    named = (
        DescribedTopicPartitions(topic.topic_id, topic.name, tuple(sorted(numbers)))
        for topic_id, numbers in partitions.items()
        if isinstance(topic_id, bytes) and (topic := image.topic_by_id(topic_id)) is not None
    )
    described = DescribedAssignment(tuple(sorted(named, key=lambda entry: entry.topic_name)))
    return described if result is None else described._replace(**result._asdict())


RATE_WINDOW_MS: Final = 30_000
CONSUMER_GROUP_STATES: Final = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")


class Metrics(NamedTuple):
    """Values under the KIP's names."""

    group_count: Mapping[GroupType, int]
    """`group-count` by protocol."""
    consumer_group_count: Mapping[str, int]
    """`consumer-group-count` by state; Dead is always 0, since nothing keeps a deleted group."""
    consumer_group_rebalance_count: int
    """Group epochs bumped by heartbeats, JoinGroups and resolved expressions; not by members that left."""
    consumer_group_rebalance_rate: float
    """Those group epochs per second, over the last 30 seconds."""


class RebalanceMeter:
    """Counts rebalances of consumer groups; soft state, like a broker's meters."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self.count = 0
        self._recent_ms: deque[int] = deque()

    def mark(self, now_ms: int) -> None:
        """Count one bump of a group epoch."""
        self.count += 1
        self._recent_ms.append(now_ms)
        self._forget(now_ms)

    def rate(self, now_ms: int) -> float:
        """Rebalances per second over the window that ends now."""
        self._forget(now_ms)
        return len(self._recent_ms) * 1000 / RATE_WINDOW_MS

    def _forget(self, now_ms: int) -> None:
        while self._recent_ms and self._recent_ms[0] <= now_ms - RATE_WINDOW_MS:
            self._recent_ms.popleft()


def measure(shard: Shard, meter: RebalanceMeter, now_ms: int) -> Metrics:
    """The metrics of a shard's groups."""
    groups = Counter(dict.fromkeys(GroupType, 0))
    states = Counter(dict.fromkeys(CONSUMER_GROUP_STATES, 0))
    for slot in shard.groups():
        group = slot.group
        assert group is not None
        kind = type_of(group)
        groups[kind] += 1
        if kind is GroupType.CONSUMER:
            states[group.group_state()] += 1
    return Metrics(groups, states, meter.count, meter.rate(now_ms))
