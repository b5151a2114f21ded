"""Offset commits for the reducer: packed by key, so that a shuffle carries sixteen bytes for each.

A pack holds offset and time of commits with one key, from some batches of records. Nothing is summed up yet: only the
reducer knows between which records of the group a commit lies.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
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

PACKED_AT_ONCE: Final = 1 << 19
"""Commits, about: each takes some 200 bytes meanwhile, and the reducer is faster with few large packs."""

_NAMES: Final = (
    "partition",
    "group_id",
    "offset",
    "timestamp",
    "leader_epoch",
    "producer_id",
    "is_transactional",
    "key",
    "value",
)
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
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= PACKED_AT_ONCE:
            yield pack_commits(waiting)
            waiting = []
    if any(each.num_rows for each in waiting):
        yield pack_commits(waiting)


def pack_commits(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The commits of batches, which have at least one row, as packs with the columns of PACK_DDL."""
    table = pa.Table.from_batches(batches).combine_chunks()
    keys = table["key"].combine_chunks().dictionary_encode()
    groups = pa.array([_group_of(key) for key in keys.dictionary.to_pylist()], pa.string())
    offsets = table["offset"].to_numpy()
    times = table["timestamp"].cast(pa.int64()).to_numpy() // _MICROS
    epochs = pc.fill_null(table["leader_epoch"], _UNKNOWN_EPOCH).to_numpy()
    flags = pc.fill_null(table["is_transactional"], False).to_numpy()
    columns = (keys.indices.to_numpy(), table["partition"].to_numpy(), epochs, flags)
    order = np.lexsort((offsets, *reversed(columns)))
    offsets, times = offsets[order], times[order]
    codes, partitions, epochs, flags = (column[order] for column in columns)
    differs = np.any(
        [column[1:] != column[:-1] for column in (codes, partitions, epochs, flags)], axis=0
    )
    begins = np.concatenate(([0], np.flatnonzero(differs) + 1))
    first = pa.array(codes[begins])
    packs = pa.RecordBatch.from_arrays(
        [
            pa.array(partitions[begins], pa.int32()),
            groups.take(first),
            pa.array(offsets[begins], pa.int64()),
            pa.array(times[begins] * _MICROS, pa.timestamp("us", "UTC")),
            pa.array(epochs[begins], pa.int32(), mask=epochs[begins] == _UNKNOWN_EPOCH),
            pa.nulls(len(begins), pa.int64()),
            pa.array(flags[begins]),
            keys.dictionary.take(first),
            _values(begins, offsets, times),
        ],
        names=_NAMES,
    )
    return packs.filter(packs["group_id"].is_valid())


def _values(
    begins: npt.NDArray[np.int64], offsets: npt.NDArray[np.int64], times: npt.NDArray[np.int64]
) -> pa.Array:
    """Of each pack, which begins at a row of both columns, the offsets and then the times, as bytes."""
    ends = np.append(begins[1:], len(offsets))
    sizes = ends - begins
    numbers = np.empty(2 * len(offsets), _NUMBERS)
    # What lies before the pack is there twice.
    places = np.arange(len(offsets)) + np.repeat(begins, sizes)
    numbers[places] = offsets
    numbers[places + np.repeat(sizes, sizes)] = times
    bounds = np.append(begins, len(offsets)).astype(np.int32) * (2 * _NUMBERS.itemsize)
    return pa.Array.from_buffers(
        pa.binary(), len(begins), [None, pa.py_buffer(bounds), pa.py_buffer(numbers)]
    )


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
        self._begin = 0
        """Lowest offset of what is held."""

    def hold(
        self, key: bytes, value: bytes, leader_epoch: int | None, *, is_transactional: bool
    ) -> None:
        """Take a pack; packs come in order of their first offsets."""
        offsets, times = np.frombuffer(value, _NUMBERS).reshape(2, -1)
        part = _Part(offsets, times, leader_epoch, is_transactional)
        first = int(offsets[0])
        self._begin = min(self._begin, first) if self._parts else first
        self._parts.setdefault(key, []).append(part)

    def take(self, from_offset: int, before: int | None = None) -> Summaries:
        """What was committed from one log offset on and before another one; None: to the end of what is held.

        Commits before `from_offset` are dropped: an earlier run has taken them.
        """
        if not self._parts or (before is not None and before <= self._begin):
            return {}  # most records of a group follow one another at once
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
        self._begin = min((int(part.offsets[0]) for of in rest.values() for part in of), default=0)
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
