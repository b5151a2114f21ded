"""Replay of offset commits (types 0 and 1) and of the transaction markers that end pending ones.

The rules are those of Kafka's OffsetMetadataManager. Offsets belong to the group id, not to the group object: they
outlive a change of the group's type.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from rebalance_audit.replay.changes import (
    Change,
    GroupCreated,
    GroupType,
    OffsetCommitted,
    OffsetPending,
    OffsetRemoved,
    Position,
    TransactionEnded,
)
from rebalance_audit.replay.groups import ClassicGroup, CommittedOffset, GroupSlot
from rebalance_audit.replay.step import ReplayRule, ReplayStep
from rebalance_audit.wire.generated import messages


def replay_offset_commit(
    step: ReplayStep, key: messages.OffsetCommitKey, value: messages.OffsetCommitValue | None
) -> None:
    """Keep the committed offset, as pending if it is part of a transaction; the tombstone drops both."""
    if value is None:
        _remove(step, key)
        return
    topic_id = value.topic_id
    _keep(
        step,
        key,
        CommittedOffset(
            value.offset,
            value.leader_epoch,
            value.metadata,
            value.commit_timestamp,
            value.expire_timestamp,
            None if topic_id == messages.ZERO_UUID else topic_id,
            step.position.log_offset,
        ),
    )


def replay_plain_commits(
    slot: GroupSlot,
    commits: Iterable[tuple[messages.OffsetCommitKey, messages.OffsetCommitValue]],
    first: Position,
) -> list[Change]:
    """Apply all that one request committed, one record per offset from `first` on, in one go.

    The result equals that of `replay_offset_commit` for each of them, provided that the slot has a group and no record
    from `first` on, none is a tombstone and no transaction is involved.
    """
    log_partition, log_offset, at_ms, leader_epoch, _, _ = first
    offsets = slot.offsets
    changes: list[Change] = []
    for key, value in commits:
        _, topic, number = key
        committed, metadata, commit_ms, epoch, expires_ms, topic_id = value
        known_id = None if topic_id == messages.ZERO_UUID else topic_id
        offsets[topic, number] = CommittedOffset(
            committed, epoch, metadata, commit_ms, expires_ms, known_id, log_offset
        )
        position = Position(log_partition, log_offset, at_ms, leader_epoch)
        changes.append(OffsetCommitted(position, topic, number, committed))
        log_offset += 1
    slot.last_log_offset = log_offset - 1
    return changes


def replay_legacy_offset_commit(
    step: ReplayStep,
    key: messages.LegacyOffsetCommitKey,
    value: messages.LegacyOffsetCommitValue | None,
) -> None:
    """An offset commit of the first releases: no leader epoch, no expiry, no topic id."""
    if value is None:
        _remove(step, key)
        return
    _keep(
        step,
        key,
        CommittedOffset(
            value.offset,
            -1,
            value.metadata,
            value.commit_timestamp,
            -1,
            None,
            step.position.log_offset,
        ),
    )


def _keep(
    step: ReplayStep,
    key: messages.OffsetCommitKey | messages.LegacyOffsetCommitKey,
    offset: CommittedOffset,
) -> None:
    slot, position = step.slot, step.position
    if slot.group is None:
        slot.group = ClassicGroup(slot.group_id)
        step.changes.append(GroupCreated(position, GroupType.CLASSIC, simple=True, replaced=None))
    topic_partition = (key.topic, key.partition)
    if position.producer_id < 0:
        slot.offsets[topic_partition] = offset
        step.changes.append(
            OffsetCommitted(position, key.topic, key.partition, offset.committed_offset)
        )
        return
    # Like Kafka's loader, look at the producer id alone: only transactions write offsets with one.
    slot.pending_offsets.setdefault(position.producer_id, {})[topic_partition] = offset
    step.changes.append(OffsetPending(position, key.topic, key.partition, position.producer_id))


def _remove(
    step: ReplayStep, key: messages.OffsetCommitKey | messages.LegacyOffsetCommitKey
) -> None:
    slot = step.slot
    topic_partition = (key.topic, key.partition)
    slot.offsets.pop(topic_partition, None)
    for producer_id, pending in list(slot.pending_offsets.items()):
        pending.pop(topic_partition, None)
        if not pending:
            del slot.pending_offsets[producer_id]
    step.changes.append(OffsetRemoved(step.position, key.topic, key.partition))


def end_transaction(
    slot: GroupSlot, producer_id: int, position: Position, *, committed: bool
) -> list[Change]:
    """Commit or drop the producer's pending commits; one older than what has been committed since is dropped.

    Nothing pending is no anomaly: a marker goes to every partition that its transaction touched.
    """
    pending = slot.pending_offsets.pop(producer_id, None)
    if pending is None:
        return []
    changes: list[Change] = []
    if committed:
        for topic_partition, offset in pending.items():
            current = slot.offsets.get(topic_partition)
            if current is None or offset.log_offset > current.log_offset:
                slot.offsets[topic_partition] = offset
                changes.append(OffsetCommitted(position, *topic_partition, offset.committed_offset))
    changes.append(TransactionEnded(position, producer_id, committed, len(pending)))
    return changes


RULES: Final[Mapping[messages.RecordType, ReplayRule]] = {
    messages.RecordType.LEGACY_OFFSET_COMMIT: replay_legacy_offset_commit,
    messages.RecordType.OFFSET_COMMIT: replay_offset_commit,
}
"""Record type -> what it does to the slot."""
