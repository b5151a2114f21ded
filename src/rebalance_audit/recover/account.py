"""Committed offsets of a damaged partition of `__consumer_offsets`: the certain ones, and beside them the uncertain.

Certain is what a coordinator has after the records before the damage, by the rules of `replay`. What follows the
damage is replayed as well, and compared with it.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, TypeAlias

from rebalance_audit.replay.groups import CommittedOffset, Group, GroupSlot
from rebalance_audit.replay.shard import Shard
from rebalance_audit.replay.state import RawRecord, apply_raw
from rebalance_audit.wire.topic_names import TopicNames

TopicAndPartition: TypeAlias = tuple[str, int]
CommittedOffsets: TypeAlias = Mapping[TopicAndPartition, CommittedOffset]

END_OF_LOG: Final = (1 << 63) - 1
"""A cut that no record follows."""


class OffsetDoubt(StrEnum):
    """Why an offset is not certain."""

    OPEN_TRANSACTION = "open_transaction"
    """Part of a transaction that no marker in the log ends."""
    COMMITTED_AFTER_DAMAGE = "committed_after_damage"
    """Written before the damage, in a transaction whose commit marker follows it."""
    DROPPED_AFTER_DAMAGE = "dropped_after_damage"
    """Written before the damage in a transaction; after it, an abort marker or a tombstone dropped the commit."""
    AFTER_DAMAGE = "after_damage"
    """Committed after the damage."""
    REMOVED_AFTER_DAMAGE = "removed_after_damage"
    """A tombstone after the damage: the group or its offset was deleted, or the offset expired."""
    EXPIRED = "expired"
    """The commit itself named the time of its expiry (retention time of the request), and the log goes beyond it."""


class UncertainOffset(NamedTuple):
    """What the log has of a partition's offset beside the certain one."""

    topic_partition: TopicAndPartition
    doubt: OffsetDoubt
    found: CommittedOffset | None
    """None for a tombstone."""
    certain: CommittedOffset | None
    producer_id: int | None = None
    """Of the transaction; None where there is none, or where it has ended."""


class GroupAccount(NamedTuple):
    """One group of the partition."""

    group_id: str
    group: Group | None
    """At the log's end, or else before the damage; None where only its offsets are known."""
    certain: CommittedOffsets
    uncertain: tuple[UncertainOffset, ...]
    """In order of topic, partition, and place in the log."""


class PartitionAccount(NamedTuple):
    """All groups of the partition that exist or have offsets."""

    log_partition: int
    cut_offset: int | None
    """Log offset from which on nothing is certain; None where everything is."""
    certain_until_ms: int | None
    """Time of the last certain record, epoch ms; None where there is none."""
    last_ms: int | None
    """Largest record timestamp of the log, epoch ms; None for a log without records."""
    undecodable: int
    """Records that could not be applied, and stretches that could not be read."""
    groups: tuple[GroupAccount, ...]
    """In order of their ids."""


class RecordsWithCut(Protocol):
    """The records of a partition in log order; but for `is_past_cut`, its attributes are right once all is read."""

    cut_offset: int | None
    is_past_cut: bool
    """Whether the record that was given last is behind the cut."""
    last_ms: int | None
    damaged: int

    def __iter__(self) -> Iterator[RawRecord]: ...


class _Held(NamedTuple):
    """What a coordinator has of a group."""

    group: Group | None
    committed: dict[TopicAndPartition, CommittedOffset]
    pending: dict[tuple[int, TopicAndPartition], CommittedOffset]


_NOTHING: Final = _Held(None, {}, {})
_Found: TypeAlias = tuple[TopicAndPartition, OffsetDoubt, CommittedOffset | None, int | None]
"""Partition, doubt, commit, producer id."""


def partition_account(records: RecordsWithCut, log_partition: int) -> PartitionAccount:
    """Replay the records up to the cut, then the rest. Raises OSError that names the file."""
    shard, names = Shard(log_partition), TopicNames()
    before: dict[str, _Held] | None = None
    certain_until_ms: int | None = None
    undecodable = 0
    for raw in records:
        position = raw[0]
        if before is None:
            if records.is_past_cut:
                before = _held(shard)
            else:
                certain_until_ms = position.record_timestamp_ms
        undecodable += not apply_raw(raw, shard, names)
    after = _held(shard)
    if before is None:
        before = after
    is_cut = records.cut_offset is not None and records.cut_offset < END_OF_LOG
    groups = (
        _group_account(group_id, before.get(group_id, _NOTHING), after[group_id], records.last_ms)
        for group_id in sorted(after)
    )
    return PartitionAccount(
        log_partition,
        records.cut_offset if is_cut else None,
        certain_until_ms,
        records.last_ms,
        undecodable + records.damaged,
        tuple(each for each in groups if each.group is not None or each.certain or each.uncertain),
    )


def _held(shard: Shard) -> dict[str, _Held]:
    return {slot.group_id: _held_of(slot) for slot in shard.slots()}


def _held_of(slot: GroupSlot) -> _Held:
    pending = {
        (producer_id, topic_partition): commit
        for producer_id, commits in slot.pending_offsets.items()
        for topic_partition, commit in commits.items()
    }
    return _Held(slot.group, dict(slot.offsets), pending)


def _group_account(group_id: str, before: _Held, after: _Held, last_ms: int | None) -> GroupAccount:
    expired = {
        topic_partition: commit
        for topic_partition, commit in before.committed.items()
        if last_ms is not None and 0 <= commit.expire_timestamp_ms <= last_ms
    }
    certain = {
        topic_partition: commit
        for topic_partition, commit in before.committed.items()
        if topic_partition not in expired
    }
    found = [
        *((at, OffsetDoubt.EXPIRED, commit, None) for at, commit in expired.items()),
        *_later(before, after),
        *(
            (at, OffsetDoubt.OPEN_TRANSACTION, commit, producer_id)
            for (producer_id, at), commit in after.pending.items()
        ),
        *(
            (at, OffsetDoubt.DROPPED_AFTER_DAMAGE, commit, None)
            for (producer_id, at), commit in before.pending.items()
            if after.pending.get((producer_id, at)) != commit
            and _is_later(commit, after.committed.get(at))
        ),
    ]
    uncertain = [
        UncertainOffset(at, doubt, commit, certain.get(at), producer_id)
        for at, doubt, commit, producer_id in found
    ]
    uncertain.sort(
        key=lambda each: (each.topic_partition, each.found.log_offset if each.found else -1)
    )
    group = before.group if after.group is None else after.group
    return GroupAccount(group_id, group, certain, tuple(uncertain))


def _later(before: _Held, after: _Held) -> Iterator[_Found]:
    """What the rest of the log says of each partition, where that is something else."""
    began_before = {(at, commit) for (_, at), commit in before.pending.items()}
    for at in {**before.committed, **after.committed}:
        earlier, later = before.committed.get(at), after.committed.get(at)
        if later is None:
            yield at, OffsetDoubt.REMOVED_AFTER_DAMAGE, None, None
        elif earlier is None or (
            (later.committed_offset, later.commit_metadata)
            != (earlier.committed_offset, earlier.commit_metadata)
        ):
            is_old = (at, later) in began_before
            doubt = OffsetDoubt.COMMITTED_AFTER_DAMAGE if is_old else OffsetDoubt.AFTER_DAMAGE
            yield at, doubt, later, None


def _is_later(commit: CommittedOffset, other: CommittedOffset | None) -> bool:
    return other is None or commit.log_offset > other.log_offset
