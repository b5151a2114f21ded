"""The groups of a lake at a moment, replayed from bronze in this process, without Spark.

The same answer as from the segments, for as long as bronze remembers: also for a moment whose records Kafka's
compaction has taken away since.
"""

from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.readers.tables import clusters, open_table, topic_names
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.describe import describe_group
from rebalance_audit.replay.positions import position_of
from rebalance_audit.replay.shard import Shard
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_PREFIXES, TYPE_BYTES
from rebalance_audit.wire.records import Undecodable, decode_record
from rebalance_audit.wire.segments.batches import TransactionMarker, parse_marker
from rebalance_audit.wire.topic_names import TopicNames

RECORDS: Final = "bronze.records"
COLUMNS: Final = (
    "offset",
    "timestamp",
    "leader_epoch",
    "producer_id",
    "is_transactional",
    "is_control",
    "key",
    "value",
)
COMMIT_KEYS: Final = pa.array(OFFSET_COMMIT_PREFIXES, pa.binary())


class LakeState(NamedTuple):
    """What the log had said by a moment."""

    groups: list[dict[str, Any]]
    """In order of their ids, each in the shape of `coordinator.describe`."""
    known: frozenset[str]
    """Of the groups that were asked for those that any record names, also of such that are gone."""
    last_ms: int | None
    """Largest record timestamp that was read; None where nothing was."""
    undecodable: int
    """Records that could not be applied."""


def state_from_lake(
    lake: str, cluster: str, group_ids: Collection[str] = (), at_ms: int | None = None
) -> LakeState:
    """The groups, or only `group_ids`, as of `at_ms` or the log's end.

    Of each log partition all records before the first that is later than `at_ms` are applied. Raises LakeNotReadable.
    """
    log = _Log(lake, cluster, tuple(group_ids))
    names = topic_names(lake, cluster)
    parts = [log.replay(partition, names, at_ms) for partition in log.partitions()]
    groups = [
        described
        for part in parts
        for slot in part.shard.groups()
        if (described := describe_group(slot, names)) is not None
    ]
    return LakeState(
        groups=sorted(groups, key=lambda group: str(group["group_id"])),
        known=frozenset(
            name for name in group_ids if any(part.shard.slot(name) is not None for part in parts)
        ),
        last_ms=max((part.last_ms for part in parts if part.last_ms is not None), default=None),
        undecodable=sum(part.undecodable for part in parts),
    )


class _Replayed(NamedTuple):
    shard: Shard
    last_ms: int | None
    undecodable: int


class _Log:
    """The records of one cluster in bronze."""

    def __init__(self, lake: str, cluster: str, group_ids: tuple[str, ...]) -> None:
        self._table = open_table(lake, RECORDS)
        self._wanted = ds.field("cluster") == cluster
        self._groups = group_ids
        if self._table.count_rows(filter=self._wanted) == 0:
            there = ", ".join(clusters(lake, RECORDS)) or "no cluster"
            raise LakeNotReadable(
                f"{lake} has no records of cluster {cluster} in bronze; it has {there}."
            )

    def partitions(self) -> list[int]:
        """Numbers of the log partitions."""
        found = self._table.to_table(columns=["partition"], filter=self._wanted)
        return sorted(pc.unique(found.column("partition")).to_pylist())

    def replay(self, partition: int, names: TopicNames, at_ms: int | None) -> _Replayed:
        """Apply a partition's records; `names` learns the topic names that they tell."""
        wanted = self._wanted & (ds.field("partition") == partition)
        if at_ms is not None:
            moment = pa.scalar(at_ms * 1000, pa.timestamp("us", tz="UTC"))
            later = wanted & (ds.field("timestamp") > moment)
            end = pc.min(self._table.to_table(["offset"], filter=later).column("offset")).as_py()
            if end is not None:
                wanted &= ds.field("offset") < end
        moments = self._table.to_table(["timestamp"], filter=wanted).column("timestamp")
        last = pc.max(moments.cast(pa.int64())).as_py()
        shard = Shard(partition)
        undecodable = 0
        for position, is_control, key, value in self._rows(partition, wanted):
            if is_control:
                marker = parse_marker(key, value)
                if isinstance(marker, TransactionMarker):
                    shard.apply_transaction_marker(position.producer_id, marker.committed, position)
                continue
            record = decode_record(key, value)
            if isinstance(record, Undecodable):
                undecodable += 1
                continue
            names.add_record(record.key, record.value, position.record_timestamp_ms)
            shard.apply(record, position)
        return _Replayed(shard, None if last is None else last // 1000, undecodable)

    def _rows(
        self, partition: int, wanted: ds.Expression
    ) -> Iterator[tuple[Position, bool, bytes | None, bytes | None]]:
        """What can matter of a partition, in log order: all but commits that a later one of their key overrides."""
        if self._groups:
            # Where one side is null the other decides.
            wanted &= ds.field("is_control") | self._of_groups()
        batches = self._table.to_batches(columns=list(COLUMNS), filter=wanted)
        kept = [_without_overridden(pa.Table.from_batches([batch])) for batch in batches if batch]
        if not kept:
            return
        rows = _without_overridden(pa.concat_tables(kept)).sort_by("offset")
        micros = rows.column("timestamp").cast(pa.int64())
        columns = (micros if name == "timestamp" else rows.column(name) for name in COLUMNS)
        for offset, at, leader_epoch, producer_id, transactional, control, key, value in zip(
            *(column.to_pylist() for column in columns), strict=True
        ):
            position = position_of(partition, offset, at, leader_epoch, producer_id, transactional)
            yield position, bool(control), key, value

    def _of_groups(self) -> ds.Expression:
        """Keys that name one of the groups: its id follows the type, its length in front."""
        found = pc.scalar(value=False)
        for group_id in self._groups:
            name = group_id.encode()
            prefix = len(name).to_bytes(2) + name
            slot = pc.binary_slice(ds.field("key"), TYPE_BYTES, TYPE_BYTES + len(prefix))
            found |= slot == pa.scalar(prefix, pa.binary())
        return found


def _without_overridden(rows: pa.Table) -> pa.Table:
    """Of the commits that no transaction decides over only the last of each key, and every other record."""
    kinds = pc.binary_slice(rows.column("key"), 0, TYPE_BYTES)
    commit = np.asarray(pc.fill_null(pc.is_in(kinds, COMMIT_KEYS), fill_value=False))
    special = np.zeros(len(rows), np.bool_)
    for flag in ("is_transactional", "is_control"):
        special |= np.asarray(pc.fill_null(rows.column(flag), fill_value=False))
    plain = np.flatnonzero(commit & ~special)
    offsets = np.asarray(rows.column("offset"))
    plain = plain[np.argsort(offsets[plain], kind="stable")]
    keys = rows.column("key").take(pa.array(plain)).combine_chunks().dictionary_encode()
    last = np.empty(len(keys.dictionary), np.int64)
    last[np.asarray(keys.indices)] = plain  # of equal indices the last one stays
    others = np.flatnonzero(~commit | special)
    return rows.take(pa.array(np.concatenate([others, last])))
