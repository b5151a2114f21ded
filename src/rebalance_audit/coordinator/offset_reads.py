"""OffsetFetch."""

from rebalance_audit.coordinator.assignors.client_members import grouped
from rebalance_audit.coordinator.context import (
    CoordinatorContext,
    ProtocolHandlers,
    Route,
)
from rebalance_audit.coordinator.handling import ErrorCode, Result, answered
from rebalance_audit.coordinator.offset_commits import member_fetch_error
from rebalance_audit.coordinator.requests.offsets import (
    NO_OFFSET,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from rebalance_audit.replay.groups import GroupSlot, ModernGroup
from rebalance_audit.wire.generated.messages import ZERO_UUID


class OffsetReads(ProtocolHandlers):
    """Serves OffsetFetch for all groups of one coordinator."""

    def __init__(self, context: CoordinatorContext) -> None:
        """Of the context, the groups and the topics matter here."""
        self._context = context
        self.requests = {Route(OffsetFetchRequest): self.fetch}

    def fetch(self, request: OffsetFetchRequest, token: int, _now_ms: int) -> Result:
        """Serve an OffsetFetch. An unknown group has no offsets, which is no error."""
        groups = tuple(
            self._fetch_group(requested, require_stable=request.require_stable)
            for requested in request.groups
        )
        return answered(token, OffsetFetchResponse(groups))

    def _fetch_group(
        self, requested: OffsetFetchRequestGroup, *, require_stable: bool
    ) -> OffsetFetchResponseGroup:
        slot = self._context.shard.slot(requested.group_id) or GroupSlot(requested.group_id)
        if isinstance(slot.group, ModernGroup):
            error = member_fetch_error(slot.group, requested)
            if error is not ErrorCode.NONE:
                return OffsetFetchResponseGroup(requested.group_id, error_code=error)
        topics = _all_topics(slot) if requested.topics is None else requested.topics
        unstable: set[tuple[str, int]] = set()
        if require_stable:
            unstable.update(*slot.pending_offsets.values())
        return OffsetFetchResponseGroup(
            requested.group_id,
            tuple(self._fetch_topic(slot, topic, unstable) for topic in topics),
        )

    def _fetch_topic(
        self, slot: GroupSlot, topic: OffsetFetchRequestTopic, unstable: set[tuple[str, int]]
    ) -> OffsetFetchResponseTopic:
        name = topic.name
        if not name:
            found = self._context.image.topic_by_id(topic.topic_id)
            if found is None:
                return _without_offsets(topic, ErrorCode.UNKNOWN_TOPIC_ID)
            name = found.name
        return OffsetFetchResponseTopic(
            name,
            tuple(
                _fetch_partition(slot, name, number, topic.topic_id, unstable)
                for number in topic.partition_indexes
            ),
            topic.topic_id,
        )


def _fetch_partition(
    slot: GroupSlot, name: str, number: int, topic_id: bytes, unstable: set[tuple[str, int]]
) -> OffsetFetchResponsePartition:
    if (name, number) in unstable:
        unstable_error = ErrorCode.UNSTABLE_OFFSET_COMMIT
        return OffsetFetchResponsePartition(number, NO_OFFSET, error_code=unstable_error)
    offset = slot.offsets.get((name, number))
    if offset is None or _is_of_another_topic(offset.topic_id, topic_id):
        return OffsetFetchResponsePartition(number, NO_OFFSET)
    return OffsetFetchResponsePartition(
        number, offset.committed_offset, offset.leader_epoch, offset.commit_metadata
    )


def _is_of_another_topic(committed_id: bytes | None, asked_id: bytes) -> bool:
    """Whether the offset belongs to an earlier topic of the same name; False if either side has no topic id."""
    return committed_id is not None and asked_id not in {ZERO_UUID, committed_id}


def _all_topics(slot: GroupSlot) -> tuple[OffsetFetchRequestTopic, ...]:
    return tuple(OffsetFetchRequestTopic(*each) for each in grouped(sorted(slot.offsets)))


def _without_offsets(topic: OffsetFetchRequestTopic, error: ErrorCode) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        topic.name,
        tuple(
            OffsetFetchResponsePartition(number, NO_OFFSET, error_code=error)
            for number in topic.partition_indexes
        ),
        topic.topic_id,
    )
