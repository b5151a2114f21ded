"""Records of a lake's bronze as chunks of columns, partition by partition in offset order, without Spark."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from rebalance_audit.moments import NO_TIMESTAMP_MS
from rebalance_audit.readers.state import COLUMNS, RECORDS
from rebalance_audit.readers.tables import open_table
from rebalance_audit.replay.positions import NO_PRODUCER_ID
from rebalance_audit.wire.segments.columns import ColumnChunk, Run

_OFFSETS_AT_ONCE: Final = 1 << 18
"""Bounds memory, whatever a partition holds."""
_OFFSET, _TIMESTAMP, _EPOCH, _PRODUCER, _TRANSACTIONAL, _CONTROL, _KEY, _VALUE = range(len(COLUMNS))
_RUN_FIELDS: Final = itemgetter(_EPOCH, _PRODUCER, _TRANSACTIONAL, _CONTROL)


def bronze_partitions(lake: str, cluster: str) -> list[int]:
    """Partitions of `__consumer_offsets` in bronze. Raises LakeNotReadable."""
    table = open_table(lake, RECORDS)
    found = table.to_table(columns=["partition"], filter=ds.field("cluster") == cluster)
    return sorted(pc.unique(found.column("partition")).to_pylist())


def bronze_chunks(lake: str, cluster: str, log_partition: int) -> Iterator[ColumnChunk]:
    """The records of a partition. A source that hides transactions shows their commits as plain ones."""
    table = open_table(lake, RECORDS)
    wanted = (ds.field("cluster") == cluster) & (ds.field("partition") == log_partition)
    offsets = table.to_table(columns=["offset"], filter=wanted).column("offset")
    if not len(offsets):
        return
    ends = pc.min_max(offsets).as_py()
    for begin in range(ends["min"], ends["max"] + 1, _OFFSETS_AT_ONCE):
        at = ds.field("offset")
        window = wanted & (at >= begin) & (at < begin + _OFFSETS_AT_ONCE)
        rows = table.to_table(columns=list(COLUMNS), filter=window).sort_by("offset")
        if rows.num_rows:
            yield _chunk(rows)


def _chunk(rows: pa.Table) -> ColumnChunk:
    micros = rows.column("timestamp").cast(pa.int64()).to_pylist()
    columns: list[list[Any]] = [
        micros if name == "timestamp" else rows.column(name).to_pylist() for name in COLUMNS
    ]
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
            zip(*columns, strict=True), key=_RUN_FIELDS
        )
    ]
    times = [NO_TIMESTAMP_MS if at is None else at // 1000 for at in micros]
    return ColumnChunk(columns[_OFFSET], times, columns[_KEY], columns[_VALUE], runs, 0)
