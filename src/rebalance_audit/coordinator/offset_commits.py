"""OffsetCommit, TxnOffsetCommit, and the markers that end transactions.

Offsets belong to the group id. Who may commit depends on the group's protocol: classic groups compare the generation,
consumer groups the member epoch.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from rebalance_audit.coordinator.classic.handlers import ClassicHandlers
from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.consumer.release import RELEASES, Release
from rebalance_audit.coordinator.context import (
    CoordinatorContext,
    ProtocolHandlers,
    Route,
)
from rebalance_audit.coordinator.handling import (
    NOTHING_TO_DO,
    Dialect,
    ErrorCode,
    RecordDraft,
    Reply,
    Result,
    TransactionWrite,
)
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequestGroup,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    WriteTxnMarkerRequest,
    WriteTxnMarkerResponse,
)
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import ModernGroup, ModernMember
from rebalance_audit.wire.generated.messages import ZERO_UUID, OffsetCommitKey, OffsetCommitValue

WITHOUT_TOPIC_IDS: Final = frozenset({Dialect.R3_7, Dialect.R3_9, Dialect.R4_0})
"""Releases whose offset commits do not have the topic's id."""

_commit_key: Final = lru_cache(1 << 14)(OffsetCommitKey)
_answer: Final = lru_cache(1 << 12)(OffsetCommitResponsePartition)
"""Every commit repeats keys and answers."""

NO_EXPIRY: Final = -1
"""Retention time and expire timestamp of a commit that is kept by the broker's setting."""


MEMBER_EPOCH_VERSION: Final = 9
"""From this version on OffsetCommit and OffsetFetch carry member epochs."""


class RequestedCommit(NamedTuple):
    """Who commits what, and in which kind of commit."""

    group_id: str
    member_id: str
    instance_id: str | None
    generation_or_epoch: int
    is_transactional: bool
    api_version: int
    topics: tuple[OffsetCommitRequestTopic, ...]
    """Those topics that exist, with their names."""


GROUP_NOT_FOUND_FROM_VERSION: Final[Mapping[bool, int]] = {False: 9, True: 6}
"""Transactional? -> first version that answers GROUP_ID_NOT_FOUND; older ones answer ILLEGAL_GENERATION."""


class OffsetCommits(ProtocolHandlers):
    """Serves commits for all groups of one coordinator."""

    def __init__(self, context: CoordinatorContext, classic: ClassicHandlers) -> None:
        """Asks the classic protocol for the state of its groups."""
        self._context = context
        self._classic = classic
        self.requests = {
            Route(OffsetCommitRequest): self.commit,
            Route(TxnOffsetCommitRequest): self.commit_in_transaction,
            Route(WriteTxnMarkerRequest): self.end_transaction,
        }

    def commit(self, request: OffsetCommitRequest, token: int, now_ms: int) -> Result:
        """Serve an OffsetCommit. If a classic member sent it, it also keeps the session alive."""
        known, refused = self._split_by_topic(request.topics)
        committer = RequestedCommit(
            request.group_id,
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            is_transactional=False,
            api_version=request.api_version,
            topics=known,
        )
        error = self._error(committer)
        expires_ms = NO_EXPIRY
        if request.retention_time_ms != NO_EXPIRY:
            expires_ms = now_ms + request.retention_time_ms
        records, answered = self._write(committer, error, now_ms, expires_ms)
        timers = NOTHING_TO_DO.timers
        if error is ErrorCode.NONE:
            timers = self._classic.note_commit(request.group_id, request.member_id, now_ms).timers
        response = OffsetCommitResponse(refused + answered)
        return Result(records, (Reply(token, response),), timers)

    def commit_in_transaction(
        self, request: TxnOffsetCommitRequest, token: int, now_ms: int
    ) -> Result:
        """Serve a TxnOffsetCommit: the same records, pending until the producer's marker."""
        known, refused = self._split_by_topic(request.topics)
        committer = RequestedCommit(
            request.group_id,
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            is_transactional=True,
            api_version=request.api_version,
            topics=known,
        )
        error = self._error(committer) if request.group_id else ErrorCode.INVALID_GROUP_ID
        records, answered = self._write(committer, error, now_ms, NO_EXPIRY)
        replies = (Reply(token, TxnOffsetCommitResponse(refused + answered)),)
        if not records:
            return Result(replies=replies)
        write = TransactionWrite(request.producer_id, request.producer_epoch)
        return Result(records, replies, transaction=write)

    def end_transaction(self, request: WriteTxnMarkerRequest, token: int, _now_ms: int) -> Result:
        """Write a transaction's marker; replay then commits or drops what is pending."""
        write = TransactionWrite(
            request.producer_id,
            request.producer_epoch,
            request.committed,
            request.coordinator_epoch,
        )
        reply = Reply(token, WriteTxnMarkerResponse(ErrorCode.NONE))
        return Result(replies=(reply,), transaction=write)

    # --- who may commit ----------------------------------------------------------------------------

    def _error(self, committer: RequestedCommit) -> ErrorCode:
        group = self._context.group(committer.group_id)
        if isinstance(group, ModernGroup):
            release = RELEASES[self._context.config.dialect]
            return member_commit_error(group, committer, release)
        live = self._classic.live(committer.group_id)
        if live is not None:
            return classic_commit_error(live, committer)
        if committer.generation_or_epoch < 0:
            # The client is no member: the commit makes a simple group.
            return ErrorCode.NONE
        if committer.api_version >= GROUP_NOT_FOUND_FROM_VERSION[committer.is_transactional]:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.ILLEGAL_GENERATION

    # --- what is written ---------------------------------------------------------------------------

    def _split_by_topic(
        self, topics: Iterable[OffsetCommitRequestTopic]
    ) -> tuple[tuple[OffsetCommitRequestTopic, ...], tuple[OffsetCommitResponseTopic, ...]]:
        """Topics that exist, with name and id, and the answers for the others."""
        image = self._context.image
        known: list[OffsetCommitRequestTopic] = []
        refused: list[OffsetCommitResponseTopic] = []
        for requested in topics:
            if requested.name:
                topic, error = image.topic(requested.name), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                topic, error = image.topic_by_id(requested.topic_id), ErrorCode.UNKNOWN_TOPIC_ID
            if topic is None:
                refused.append(refused_topic(requested, error))
            else:
                known.append(
                    OffsetCommitRequestTopic(topic.name, requested.partitions, topic.topic_id)
                )
        return tuple(known), tuple(refused)

    def _write(
        self, committer: RequestedCommit, error: ErrorCode, now_ms: int, expires_ms: int
    ) -> tuple[tuple[RecordDraft, ...], tuple[OffsetCommitResponseTopic, ...]]:
        if error is not ErrorCode.NONE:
            return (), tuple(refused_topic(topic, error) for topic in committer.topics)
        writes_id = self._context.config.dialect not in WITHOUT_TOPIC_IDS
        group_id = committer.group_id
        records: list[RecordDraft] = []
        answered: list[OffsetCommitResponseTopic] = []
        for topic in committer.topics:
            partitions: list[OffsetCommitResponsePartition] = []
            topic_id = topic.topic_id if writes_id else ZERO_UUID
            for partition in topic.partitions:
                metadata = partition.committed_metadata or ""
                found = self._metadata_error(metadata) if metadata else ErrorCode.NONE
                if found is ErrorCode.NONE:
                    key = _commit_key(group_id, topic.name, partition.partition_index)
                    if expires_ms == NO_EXPIRY:
                        value = OffsetCommitValue(
                            partition.committed_offset,
                            metadata,
                            now_ms,
                            partition.committed_leader_epoch,
                            NO_EXPIRY,
                            topic_id,
                        )
                    else:
                        # The only value version with an expiry has neither leader epoch nor topic id.
                        value = OffsetCommitValue(
                            partition.committed_offset,
                            metadata,
                            now_ms,
                            expire_timestamp=expires_ms,
                        )
                    records.append(RecordDraft(key, value))
                partitions.append(_answer(partition.partition_index, found))
            answered.append(
                OffsetCommitResponseTopic(topic.name, tuple(partitions), topic.topic_id)
            )
        return tuple(records), tuple(answered)

    def _metadata_error(self, metadata: str) -> ErrorCode:
        # Kafka's limit of bytes counts UTF-16 code units.
        units = len(metadata.encode("utf-16-be", "surrogatepass")) // 2
        if units > self._context.config.offset_metadata_max_bytes:
            return ErrorCode.OFFSET_METADATA_TOO_LARGE
        return ErrorCode.NONE


def classic_commit_error(live: LiveGroup, committer: RequestedCommit) -> ErrorCode:
    """NONE if a commit fits the classic group as it is now, else the error.

    A commit in a transaction may leave out the member, and does not wait for the end of a rebalance.
    """
    if committer.generation_or_epoch < 0 and live.state is ClassicState.EMPTY:
        return ErrorCode.NONE
    says_who = (
        committer.generation_or_epoch >= 0
        or bool(committer.member_id)
        or committer.instance_id is not None
    )
    if says_who:
        error = live.member_error(committer.member_id, committer.instance_id)
        if error is not ErrorCode.NONE:
            return error
        if committer.generation_or_epoch != live.generation:
            return ErrorCode.ILLEGAL_GENERATION
    elif not committer.is_transactional:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if not committer.is_transactional and live.state is ClassicState.COMPLETING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def member_commit_error(
    group: ModernGroup, committer: RequestedCommit, release: Release
) -> ErrorCode:
    """NONE where this commit may be written, else the error that refuses it (ConsumerGroup.validateOffsetCommit).

    A non-member (epoch below 0) may commit while the group is empty; a transaction may name no member at all.
    From 4.3 on an older epoch is accepted where every partition was assigned no later than at that epoch.
    """
    if group.group_type is not GroupType.CONSUMER:
        return ErrorCode.GROUP_ID_NOT_FOUND
    member_epoch = committer.generation_or_epoch
    if member_epoch < 0 and not group.members:
        return ErrorCode.NONE
    names_no_member = not committer.member_id and committer.instance_id is None
    if committer.is_transactional and member_epoch == -1 and names_no_member:
        return ErrorCode.NONE
    member = group.members.get(committer.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if (
        not committer.is_transactional
        and member.classic is None
        and committer.api_version < MEMBER_EPOCH_VERSION
    ):
        return ErrorCode.UNSUPPORTED_VERSION
    if member_epoch == member.member_epoch:
        return ErrorCode.NONE
    if (
        member_epoch < member.member_epoch
        and release.assignment_epochs
        and _held_since(member, committer)
    ):
        return ErrorCode.NONE
    return _stale(member)


def member_fetch_error(group: ModernGroup, requested: OffsetFetchRequestGroup) -> ErrorCode:
    """NONE where this client may read the group's offsets (ConsumerGroup.validateOffsetFetch).

    An administrator names neither member nor epoch.
    """
    if group.group_type is not GroupType.CONSUMER:
        return ErrorCode.GROUP_ID_NOT_FOUND
    if requested.member_id is None and requested.member_epoch < 0:
        return ErrorCode.NONE
    member = group.members.get(requested.member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return ErrorCode.NONE if requested.member_epoch == member.member_epoch else _stale(member)


def _held_since(member: ModernMember, committer: RequestedCommit) -> bool:
    """Whether the member has held every partition of the commit since the commit's epoch or longer."""
    held = (member.assigned, member.pending_revocation)
    return all(
        any(partition.partition_index in each.get(topic.topic_id, ()) for each in held)
        and member.assignment_epoch_of(topic.topic_id, partition.partition_index)
        <= committer.generation_or_epoch
        for topic in committer.topics
        for partition in topic.partitions
    )


def _stale(member: ModernMember) -> ErrorCode:
    """The error for a stale epoch; a classic member takes the epoch for a generation."""
    if member.classic is None:
        return ErrorCode.STALE_MEMBER_EPOCH
    return ErrorCode.ILLEGAL_GENERATION


def refused_topic(topic: OffsetCommitRequestTopic, error: ErrorCode) -> OffsetCommitResponseTopic:
    """The answer for a topic whose offsets are refused."""
    return OffsetCommitResponseTopic(
        topic.name,
        tuple(
            OffsetCommitResponsePartition(partition.partition_index, error)
            for partition in topic.partitions
        ),
        topic.topic_id,
    )
