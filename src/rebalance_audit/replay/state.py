"""The groups at a moment: the records of every log partition up to it, replayed.

Where the records come from does not matter: segments (`local.state`) and the bronze layer of a lake (`readers.state`)
each feed the same replay.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeAlias

from rebalance_audit.errors import AbsentGroup, require_known
from rebalance_audit.moments import utc_datetime
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.describe import describe_group, describe_unknown, mentioned_topic_ids
from rebalance_audit.replay.shard import Shard
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.records import Undecodable, decode_record
from rebalance_audit.wire.segments.batches import TransactionMarker, parse_marker
from rebalance_audit.wire.topic_names import TopicName, TopicNames

RawRecord: TypeAlias = tuple[Position, bool, bytes | None, bytes | None]
"""Position, whether it is a control record (a transaction marker), key, value."""


class State(NamedTuple):
    """The groups of a log at a moment."""

    groups: list[dict[str, Any]]
    """In order of their ids, each in the shape of `replay.describe`."""
    last_ms: int | None
    """Largest record timestamp that was read, in epoch milliseconds; None if there was no record."""
    undecodable: int
    """Records and damaged stretches that could not be applied."""
    has_later: bool
    """Whether the log has records after the moment."""


class PartitionRecords(Protocol):
    """The records of one log partition up to a moment, in log order. The counts are right after the last record.

    An offset commit may be left out if a later one of the same key overrides it and no transaction decides on either.
    """

    last_ms: int | None
    """Largest record timestamp up to the moment, of records of any group."""
    damaged: int
    """Stretches that could not be read."""
    has_later: bool
    """Whether a record later than the moment follows."""

    def __iter__(self) -> Iterator[RawRecord]: ...


class RecordLog(Protocol):
    """A log that can be read up to any moment."""

    def topic_names(self) -> TopicNames:
        """What is known of topic names beside the records."""

    def names_in_records(self) -> Iterable[TopicName]:
        """Names in all records, whatever their groups and times."""

    def log_partitions(self) -> Iterable[int]:
        """Numbers of the partitions of `__consumer_offsets` that there are."""

    def records(
        self, log_partition: int, group_ids: Collection[str], at_ms: int | None
    ) -> PartitionRecords:
        """The records before the first that is later than `at_ms`; of `group_ids` alone if any are given."""

    def group_ids(self) -> Collection[str]:
        """Ids of all groups that the log names, deleted ones included."""


def state_at(log: RecordLog, group_ids: Collection[str] = (), at_ms: int | None = None) -> State:
    """All groups, or only `group_ids`, as of `at_ms` (epoch milliseconds) or the log's end.

    Raises UnknownGroup for a group that no record names, AbsentGroup for one that does not exist then, and what the log
    raises.
    """
    names = log.topic_names()
    shards: list[Shard] = []
    moments: list[int] = []
    missed, has_later = 0, False
    for log_partition in log.log_partitions():
        records = log.records(log_partition, group_ids, at_ms)
        shard = Shard(log_partition)
        missed += _replay(records, shard, names) + records.damaged
        shards.append(shard)
        has_later |= records.has_later
        if records.last_ms is not None:
            moments.append(records.last_ms)
    met = {name for name in group_ids if any(shard.slot(name) is not None for shard in shards)}
    if not met.issuperset(group_ids):
        require_known(group_ids, met.union(log.group_ids()))
    slots = [slot for shard in shards for slot in shard.groups()]
    if any(topic_id not in names for slot in slots for topic_id in mentioned_topic_ids(slot)):
        # A name is that of the id for ever, so a later record, or one of another group, may have it.
        names.merge(log.names_in_records())
    groups = {
        slot.group_id: described
        for slot in slots
        if (described := describe_group(slot, names)) is not None
    }
    groups |= {
        slot.group_id: describe_unknown(slot, lost)
        for shard in shards
        for slot, lost in shard.lost()
    }
    for group_id in group_ids:
        if group_id not in groups:
            raise AbsentGroup(group_id, str(utc_datetime(at_ms) or at_ms) if has_later else None)
    return State(
        [groups[group_id] for group_id in sorted(groups)],
        max(moments, default=None),
        missed,
        has_later,
    )


def _replay(records: PartitionRecords, shard: Shard, names: TopicNames) -> int:
    """Apply the records; `names` learns their topic names. Returns how many could not be decoded."""
    return sum(not apply_raw(raw, shard, names) for raw in records)


def apply_raw(raw: RawRecord, shard: Shard, names: TopicNames) -> bool:
    """Apply a record as it is in the log; `names` learns its topic names. False for one that cannot be decoded."""
    position, is_control, key, value = raw
    if is_control:
        marker = parse_marker(key, value)
        if isinstance(marker, TransactionMarker):
            shard.apply_transaction_marker(position.producer_id, marker.committed, position)
        return True
    record = decode_record(key, value)
    if isinstance(record, Undecodable):
        group = key_bytes.group_bytes(key)
        if group is not None:
            shard.lose(group.decode(errors="replace"), position, record.record_type)
        return False
    names.add_record(record.key, record.value, position.record_timestamp_ms)
    shard.apply(record, position)
    return True
