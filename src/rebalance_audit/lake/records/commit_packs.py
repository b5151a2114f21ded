"""Offset commits for the reducer: packed by key, so that a shuffle carries sixteen bytes for each.

A pack holds offset and time of commits with one key, from one batch of records. Nothing is summed up yet: only the
reducer knows between which records of the group a commit lies.
"""

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.commits.collect import Summaries
from rebalance_audit.audit.commits.summary import CommitSummary
from rebalance_audit.lake.records import routing
from rebalance_audit.wire.key_bytes import group_bytes

PACK_DDL: Final = (
    "partition int, group_id string, offset bigint, timestamp timestamp, leader_epoch int, "
    "producer_id bigint, is_transactional boolean, key binary, value binary"
)
"""The columns of the reducer's input. `offset` and `timestamp` are the first commit's, `value` has all of them."""

_GIVEN: Final = ("partition", "offset", "timestamp", "leader_epoch", "is_transactional", "key")
_NUMBERS: Final = np.dtype("<i8")
_UNKNOWN_EPOCH: Final = -1
_MICROS: Final = 1000


def commit_packs(records: DataFrame, groups_regex: str | None) -> DataFrame:
    """Packs of the offset commits of some groups; of records of bronze or of a source.

    Left out: tombstones, commits without a time, and keys that name no group.
    """
    commits = routing.commits(records, groups_regex)
    there = commits.where(F.col("value").isNotNull() & F.col("timestamp").isNotNull())
    return there.select(*_GIVEN).mapInArrow(_packed, PACK_DDL)


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if batch.num_rows:
            yield pack_commits(batch)


def pack_commits(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The commits of one batch, which has at least one row, as packs with the columns of PACK_DDL."""
    keys = batch.column("key").dictionary_encode()
    distinct = keys.dictionary.to_pylist()
    offsets = batch.column("offset").to_numpy()
    times = batch.column("timestamp").cast(pa.int64()).to_numpy() // _MICROS
    epochs = pc.fill_null(batch.column("leader_epoch"), _UNKNOWN_EPOCH).to_numpy()
    flags = pc.fill_null(batch.column("is_transactional"), False).to_numpy(zero_copy_only=False)
    columns = (
        keys.indices.to_numpy(),
        batch.column("partition").to_numpy(),
        epochs,
        flags,
    )
    order = np.lexsort((offsets, *reversed(columns)))
    columns = tuple(column[order] for column in columns)
    numbers = np.stack((offsets[order], times[order])).astype(_NUMBERS)
    differs = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    begins = [0, *(np.flatnonzero(differs) + 1).tolist()]
    rows: dict[str, list[Any]] = {name: [] for name in _ARROW}
    for begin, end in zip(begins, [*begins[1:], len(order)], strict=True):
        code, partition, epoch, flag = (column[begin] for column in columns)
        group = _group_of(distinct[code])
        if group is None:
            continue
        part = numbers[:, begin:end]
        rows["partition"].append(int(partition))
        rows["group_id"].append(group)
        rows["offset"].append(int(part[0, 0]))
        rows["timestamp"].append(int(part[1, 0]) * _MICROS)
        rows["leader_epoch"].append(None if epoch == _UNKNOWN_EPOCH else int(epoch))
        rows["producer_id"].append(None)
        rows["is_transactional"].append(bool(flag))
        rows["key"].append(distinct[code])
        rows["value"].append(part.tobytes())
    arrays = [pa.array(rows[name], kind) for name, kind in _ARROW.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(_ARROW))


_ARROW: Final = {
    "partition": pa.int32(),
    "group_id": pa.string(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", "UTC"),
    "leader_epoch": pa.int32(),
    "producer_id": pa.int64(),
    "is_transactional": pa.bool_(),
    "key": pa.binary(),
    "value": pa.binary(),
}


def _group_of(key: bytes) -> str | None:
    """As `routing.group_id` names the group of the other records."""
    group = group_bytes(key)
    try:
        return None if group is None else group.decode()
    except UnicodeDecodeError:
        return None


class _Part(NamedTuple):
    """Commits with one key, in order of their offsets."""

    offsets: np.ndarray[Any, Any]
    times: np.ndarray[Any, Any]
    leader_epoch: int | None
    is_transactional: bool

    def summary(self) -> CommitSummary:
        pauses = np.diff(self.times)
        return CommitSummary(
            int(self.times[0]),
            int(self.times[-1]),
            int(self.offsets[0]),
            int(self.offsets[-1]),
            len(self.offsets),
            max(0, int(pauses.max())) if len(pauses) else 0,
            int(pauses[-1]) if len(pauses) else None,
            self.leader_epoch,
            self.is_transactional,
        )


class HeldCommits:
    """The commits of one group that have been read, but not yet the record of the group that follows them."""

    def __init__(self) -> None:
        self._parts: dict[bytes, list[_Part]] = {}

    def hold(
        self, key: bytes, value: bytes, leader_epoch: int | None, *, is_transactional: bool
    ) -> None:
        """Take a pack; packs come in order of their first offsets."""
        offsets, times = np.frombuffer(value, _NUMBERS).reshape(2, -1)
        part = _Part(offsets, times, leader_epoch, is_transactional)
        self._parts.setdefault(key, []).append(part)

    def take(self, from_offset: int, before: int | None = None) -> Summaries:
        """What was committed from one log offset on and before another one; None: to the end of what is held.

        Commits before `from_offset` are dropped: an earlier run has taken them.
        """
        found: dict[bytes, CommitSummary] = {}
        rest: dict[bytes, list[_Part]] = {}
        for key, parts in self._parts.items():
            taken = []
            for part in parts:
                begin = int(np.searchsorted(part.offsets, from_offset))
                end = (
                    len(part.offsets)
                    if before is None
                    else int(np.searchsorted(part.offsets, before))
                )
                if begin < end:
                    taken.append(_cut(part, begin, end))
                if end < len(part.offsets):
                    rest.setdefault(key, []).append(_cut(part, end, len(part.offsets)))
            if taken:
                found[key] = _joined(taken)
        self._parts = rest
        return found


def _cut(part: _Part, begin: int, end: int) -> _Part:
    if (begin, end) == (0, len(part.offsets)):
        return part
    return part._replace(offsets=part.offsets[begin:end], times=part.times[begin:end])


def _joined(parts: list[_Part]) -> CommitSummary:
    """The summary of all; files of a table can lie across each other, and then so do the packs."""
    parts.sort(key=lambda part: int(part.offsets[0]))
    if any(left.offsets[-1] > right.offsets[0] for left, right in pairwise(parts)):
        last = max(parts, key=lambda part: int(part.offsets[-1]))
        offsets = np.concatenate([part.offsets for part in parts])
        order = np.argsort(offsets)
        times = np.concatenate([part.times for part in parts])[order]
        return last._replace(offsets=offsets[order], times=times).summary()
    return reduce(CommitSummary.then, [part.summary() for part in parts])
