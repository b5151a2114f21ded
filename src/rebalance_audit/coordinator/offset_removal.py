"""How committed offsets and groups end: OffsetDelete, DeleteGroups, deleted topics, and expiry."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from rebalance_audit.coordinator.classic.handlers import ClassicHandlers
from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.context import (
    CoordinatorContext,
    ProtocolHandlers,
    ResultDraft,
    Route,
    TimerRoute,
)
from rebalance_audit.coordinator.group_tombstones import group_tombstones
from rebalance_audit.coordinator.handling import (
    ErrorCode,
    RecordDraft,
    Result,
    Timer,
    TimerChange,
    TimerKind,
    answered,
)
from rebalance_audit.coordinator.requests.offsets import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    OffsetCommitResponsePartition,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponseTopic,
    TopicsDeleted,
)
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import CommittedOffset, GroupSlot, ModernGroup
from rebalance_audit.wire.consumer_protocol import PROTOCOL_TYPE
from rebalance_audit.wire.generated.messages import OffsetCommitKey

CHECK_INTERVAL_MS: Final = 600_000
"""`offsets.retention.check.interval.ms`"""

CurrentGroup: TypeAlias = LiveGroup | ModernGroup

EXPIRING_TYPES: Final = frozenset({GroupType.CLASSIC, GroupType.CONSUMER, GroupType.STREAMS})
"""Group types that expiry ends: share groups have no offsets here, and stay."""


class OffsetRemoval(ProtocolHandlers):
    """Serves deletions, for all groups of one coordinator."""

    def __init__(self, context: CoordinatorContext, classic: ClassicHandlers) -> None:
        """Asks the classic protocol for the state of its groups."""
        self._context = context
        self._classic = classic
        self.requests = {
            Route(OffsetDeleteRequest): self.delete,
            Route(DeleteGroupsRequest): self.delete_groups,
            Route(TopicsDeleted): self.forget_topics,
        }
        self.timers = {TimerRoute(TimerKind.EXPIRY): self.expire}

    # --- OffsetDelete ------------------------------------------------------------------------------

    def delete(self, request: OffsetDeleteRequest, token: int, _now_ms: int) -> Result:
        """Serve an OffsetDelete. A topic that the group consumes keeps its offsets."""
        error = self._delete_error(request.group_id)
        if error is not ErrorCode.NONE:
            return answered(token, OffsetDeleteResponse(error))
        group = self._classic.current_group(request.group_id)
        assert group is not None
        slot = self._context.shard.slot(request.group_id) or GroupSlot(request.group_id)
        held = dict.fromkeys(partitions_with_offsets(slot))
        records: list[RecordDraft] = []
        topics: list[OffsetDeleteResponseTopic] = []
        for topic in request.topics:
            found = self._topic_error(group, topic)
            if found is ErrorCode.NONE:
                records += (
                    offset_tombstone(slot.group_id, topic.name, number)
                    for number in topic.partition_indexes
                    if (topic.name, number) in held
                )
            partitions = tuple(
                OffsetCommitResponsePartition(number, found) for number in topic.partition_indexes
            )
            topics.append(OffsetDeleteResponseTopic(topic.name, partitions))
        response = OffsetDeleteResponse(ErrorCode.NONE, tuple(topics))
        return replace(answered(token, response), records=tuple(records))

    def _delete_error(self, group_id: str) -> ErrorCode:
        if not group_id:
            return ErrorCode.INVALID_GROUP_ID
        group = self._classic.current_group(group_id)
        if group is None:
            return ErrorCode.GROUP_ID_NOT_FOUND
        knows_topics = isinstance(group, ModernGroup) or group.protocol_type == PROTOCOL_TYPE
        if not knows_topics and not is_empty(group):
            # Which topics the members of another protocol type use is unknown.
            return ErrorCode.NON_EMPTY_GROUP
        return ErrorCode.NONE

    def _topic_error(self, group: CurrentGroup, topic: OffsetDeleteRequestTopic) -> ErrorCode:
        if self._context.image.topic(topic.name) is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if is_subscribed_to(group, topic.name):
            return ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        return ErrorCode.NONE

    # --- DeleteGroups ------------------------------------------------------------------------------

    def delete_groups(self, request: DeleteGroupsRequest, token: int, now_ms: int) -> Result:
        """Serve a DeleteGroups: offsets and group are deleted in one write; a group with members stays."""
        outcome = ResultDraft()
        results: list[DeletableGroupResult] = []
        for group_id in dict.fromkeys(request.groups_names):
            group = self._classic.current_group(group_id)
            error = ErrorCode.NONE
            if group is None:
                error = ErrorCode.GROUP_ID_NOT_FOUND
            elif not is_empty(group):
                error = ErrorCode.NON_EMPTY_GROUP
            else:
                slot = self._context.shard.slot(group_id) or GroupSlot(group_id)
                if slot.group is not None:
                    places = partitions_with_offsets(slot)
                    outcome.records += (offset_tombstone(group_id, *place) for place in places)
                self._end(slot, outcome, now_ms)
            results.append(DeletableGroupResult(group_id, error))
        outcome.reply(token, DeleteGroupsResponse(tuple(results)))
        return outcome.result()

    def _end(self, slot: GroupSlot, outcome: ResultDraft, now_ms: int) -> None:
        """End a group without members, whether a record shows it or not."""
        if slot.group is not None:
            outcome.records += group_tombstones(slot.group)
        self._classic.release(slot.group_id, outcome, now_ms)

    # --- deleted topics ----------------------------------------------------------------------------

    def forget_topics(self, request: TopicsDeleted, _token: int, _now_ms: int) -> Result:
        """Drop all offsets of deleted topics; an offset of a topic created again by that name stays."""
        ids = {topic.name: topic.topic_id for topic in request.topics}
        records: dict[tuple[str, str, int], RecordDraft] = {}
        for slot in self._context.shard.groups():
            for (name, number), offset in _all_offsets(slot):
                if name in ids and offset.topic_id in {None, ids[name]}:
                    place = (slot.group_id, name, number)
                    records.setdefault(place, offset_tombstone(*place))
        return Result(tuple(records.values()), atomic=False)

    # --- expiry ------------------------------------------------------------------------------------

    def loaded(self, now_ms: int) -> Result:
        """Start the periodic expiry."""
        first = TimerChange(Timer(TimerKind.EXPIRY), now_ms + CHECK_INTERVAL_MS)
        return Result(timers=(first,))

    def expire(self, _timer: Timer, now_ms: int) -> Result:
        """Drop expired offsets, and empty groups that have none left."""
        outcome = ResultDraft()
        for group in self._classic.current_groups():
            if group.group_type not in EXPIRING_TYPES:
                continue
            group_id = group.group_id
            slot = self._context.shard.slot(group_id) or GroupSlot(group_id)
            expired = dict(self._expired(slot, group, now_ms))
            outcome.records += (offset_tombstone(group_id, *place) for place in expired)
            remain = slot.offsets.keys() - expired.keys() or slot.pending_offsets
            if not remain and is_empty(group):
                self._end(slot, outcome, now_ms)
        outcome.arm(Timer(TimerKind.EXPIRY), now_ms + CHECK_INTERVAL_MS)
        return outcome.result(atomic=False)

    def _expired(
        self, slot: GroupSlot, group: CurrentGroup, now_ms: int
    ) -> Iterator[tuple[tuple[str, int], CommittedOffset]]:
        pending = {place for held in slot.pending_offsets.values() for place in held}
        for place, offset in sorted(slot.offsets.items()):
            if place in pending or is_subscribed_to(group, place[0]):
                continue
            expires_ms = self._expires_ms(group, offset)
            if expires_ms is not None and now_ms >= expires_ms:
                yield place, offset

    def _expires_ms(self, group: CurrentGroup, offset: CommittedOffset) -> int | None:
        """When the offset of a topic without consumers expires; None as long as that is unknown."""
        base_ms = _retained_from_ms(group, offset)
        if base_ms is None:
            return None
        if offset.expire_timestamp_ms >= 0:
            return offset.expire_timestamp_ms
        return base_ms + self._context.config.offsets_retention_ms


def _retained_from_ms(group: CurrentGroup, offset: CommittedOffset) -> int | None:
    """When retention begins: at the commit, or, if all members have left the group, at their departure."""
    if isinstance(group, ModernGroup) or group.protocol_type is None:
        return offset.commit_timestamp_ms
    if group.state is ClassicState.EMPTY:
        return offset.commit_timestamp_ms if group.state_since_ms < 0 else group.state_since_ms
    if group.state is ClassicState.STABLE and group.subscribed_topics is not None:
        return offset.commit_timestamp_ms
    return None


def is_empty(group: CurrentGroup) -> bool:
    """Whether the group may be deleted or expire."""
    return group.group_state() == ClassicState.EMPTY.value


def is_subscribed_to(group: CurrentGroup, topic: str) -> bool:
    """Whether the group consumes the topic, by name or by a resolved regular expression."""
    if isinstance(group, LiveGroup):
        return group.is_subscribed_to(topic)
    return any(
        topic in member.subscribed_topic_names
        or topic in group.regexes.get(member.subscribed_topic_regex, ())
        for member in group.members.values()
    )


def offset_tombstone(group_id: str, topic: str, number: int) -> RecordDraft:
    """The end of one committed offset."""
    return RecordDraft(OffsetCommitKey(group_id, topic, number), None)


def partitions_with_offsets(slot: GroupSlot) -> Iterator[tuple[str, int]]:
    """Every partition that has an offset, committed or pending, once: committed ones first."""
    return iter(dict.fromkeys(place for place, _ in _all_offsets(slot)))


def _all_offsets(slot: GroupSlot) -> Iterator[tuple[tuple[str, int], CommittedOffset]]:
    yield from slot.offsets.items()
    for held in slot.pending_offsets.values():
        yield from held.items()
