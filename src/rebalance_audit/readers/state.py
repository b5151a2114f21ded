"""The groups of a lake at a moment, replayed from bronze in this process, without Spark.

The same answer as from the segments, as far back as bronze goes: also for a moment whose records Kafka has
compacted away since.
"""

from collections.abc import Collection, Iterator
from itertools import groupby
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.moments import NO_TIMESTAMP_MS
from rebalance_audit.readers.gold import group_ids as gold_group_ids
from rebalance_audit.readers.tables import clusters, open_table, topic_names
from rebalance_audit.replay.changes import NO_PRODUCER_ID, position_of
from rebalance_audit.replay.state import RawRecord, State, state_at
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.segments.columns import ColumnChunk, Run
from rebalance_audit.wire.topic_names import TopicName, TopicNames

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
_ROWS_AT_ONCE: Final = 1 << 18
"""Bounds memory, whatever a partition holds."""
COMMIT_KEYS: Final = pa.array(key_bytes.OFFSET_COMMIT_PREFIXES, pa.binary())


def lake_state(
    lake: str, cluster: str, group_ids: Collection[str] = (), at_ms: int | None = None
) -> State:
    """The groups of a cluster, or only `group_ids`, as of `at_ms` (epoch milliseconds) or the end of bronze.

    Of each log partition all records before the first that is later than `at_ms` are applied. Raises LakeNotReadable,
    and UnknownGroup for a group that neither a record nor a row of gold names.
    """
    return state_at(BronzeLog(lake, cluster), group_ids, at_ms)


class BronzeLog:
    """The records of one cluster in bronze: as `state_at` reads them, and as chunks of columns."""

    def __init__(self, lake: str, cluster: str) -> None:
        """Raises LakeNotReadable where there are none."""
        self._lake = lake
        self._cluster = cluster
        self._table = open_table(lake, RECORDS)
        self._wanted = ds.field("cluster") == cluster
        if self._table.count_rows(filter=self._wanted) == 0:
            there = ", ".join(clusters(lake, RECORDS)) or "no cluster"
            raise LakeNotReadable(
                f"{lake} has no records of cluster {cluster} in bronze; it has {there}."
            )

    def topic_names(self) -> TopicNames:
        """As gold has them."""
        return topic_names(self._lake, self._cluster)

    def names_in_records(self) -> Collection[TopicName]:
        """None."""
        return ()  # gold.topics has them

    def log_partitions(self) -> list[int]:
        """Those with records, in their order."""
        found = self._table.to_table(columns=["partition"], filter=self._wanted)
        return sorted(pc.unique(found.column("partition")).to_pylist())

    def chunks(self, log_partition: int) -> Iterator[ColumnChunk]:
        """The records of a partition in offset order. A source that hides transactions shows commits as plain ones."""
        wanted = self._wanted & (ds.field("partition") == log_partition)
        offsets = np.sort(self._table.to_table(["offset"], filter=wanted).column("offset"))
        for begin in range(0, len(offsets), _ROWS_AT_ONCE):
            last = min(begin + _ROWS_AT_ONCE, len(offsets)) - 1
            at = ds.field("offset")
            window = wanted & (at >= int(offsets[begin])) & (at <= int(offsets[last]))
            yield _chunk(self._table.to_table(list(COLUMNS), filter=window).sort_by("offset"))

    def records(
        self, log_partition: int, group_ids: Collection[str], at_ms: int | None
    ) -> "_PartitionRecords":
        """The records of a partition up to the moment."""
        wanted = self._wanted & (ds.field("partition") == log_partition)
        return _PartitionRecords(self._table, log_partition, wanted, group_ids, at_ms)

    def group_ids(self) -> Collection[str]:
        """Groups of gold, which may name some that bronze has no record of."""
        return gold_group_ids(self._lake, self._cluster)


class _PartitionRecords:
    """The records of one partition in bronze up to the moment."""

    damaged = 0
    """Damaged stretches are not in bronze."""

    def __init__(
        self,
        table: ds.Dataset,
        log_partition: int,
        wanted: ds.Expression,
        group_ids: Collection[str],
        at_ms: int | None,
    ) -> None:
        self._table = table
        self._log_partition = log_partition
        self.has_later = False
        if at_ms is not None:
            moment = pa.scalar(at_ms * 1000, pa.timestamp("us", tz="UTC"))
            later = wanted & (ds.field("timestamp") > moment)
            end = pc.min(table.to_table(["offset"], filter=later).column("offset")).as_py()
            if end is not None:
                self.has_later = True
                wanted &= ds.field("offset") < end
        moments = table.to_table(["timestamp"], filter=wanted).column("timestamp")
        last_us = pc.max(moments.cast(pa.int64())).as_py()
        self.last_ms: int | None = None if last_us is None else last_us // 1000
        if group_ids:
            # If one side is null, the other decides.
            wanted &= ds.field("is_control") | _names_one_of(group_ids)
        self._wanted = wanted

    def __iter__(self) -> Iterator[RawRecord]:
        batches = self._table.to_batches(columns=list(COLUMNS), filter=self._wanted)
        kept = [_without_overridden(pa.Table.from_batches([batch])) for batch in batches if batch]
        if not kept:
            return
        rows = _without_overridden(pa.concat_tables(kept)).sort_by("offset")
        for offset, at, leader_epoch, producer_id, transactional, control, key, value in zip(
            *_columns(rows), strict=True
        ):
            position = position_of(
                self._log_partition, offset, at, leader_epoch, producer_id, transactional
            )
            yield position, bool(control), key, value


def _columns(rows: pa.Table) -> list[list[Any]]:
    """The values of COLUMNS, times in epoch microseconds."""
    micros = rows.column("timestamp").cast(pa.int64())
    return [(micros if name == "timestamp" else rows.column(name)).to_pylist() for name in COLUMNS]


def _chunk(rows: pa.Table) -> ColumnChunk:
    offsets, micros, *run_columns, keys, values = _columns(rows)
    runs = [
        Run(
            len(list(same)),
            leader_epoch,
            NO_PRODUCER_ID if producer_id is None else producer_id,
            -1,
            bool(transactional),
            bool(control),
            "CreateTime",
        )
        for (leader_epoch, producer_id, transactional, control), same in groupby(
            zip(*run_columns, strict=True)
        )
    ]
    times = [NO_TIMESTAMP_MS if at is None else at // 1000 for at in micros]
    return ColumnChunk(offsets, times, keys, values, runs)


def _names_one_of(group_ids: Collection[str]) -> ds.Expression:
    """Keys that name one of the groups: its id follows the type, preceded by its length."""
    found = pc.scalar(value=False)
    for slot in key_bytes.of_groups(group_ids):
        key = pc.binary_slice(
            ds.field("key"), key_bytes.TYPE_BYTES, key_bytes.TYPE_BYTES + len(slot)
        )
        found |= key == pa.scalar(slot, pa.binary())
    return found


def _without_overridden(rows: pa.Table) -> pa.Table:
    """Of the commits that no transaction decides on, only the last of each key; and every other record."""
    kinds = pc.binary_slice(rows.column("key"), 0, key_bytes.TYPE_BYTES)
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
