"""Offset commits for the reducer: packed by key, so that a shuffle carries 24 bytes for each.

A pack holds offset, time and committed offset of commits with one key, from some batches of records. Nothing is summed
up yet: only the reducer knows between which records of the group a commit lies.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from rebalance_audit.audit.commits.summary import NO_POSITION, POSITION_AT, POSITION_END, Summaries
from rebalance_audit.audit.hours.commit_hours import run_begins
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.commit_columns import ByteColumn, are_decodable
from rebalance_audit.lake.records.record_columns import RECORD
from rebalance_audit.segments.commits import summed_up
from rebalance_audit.tables.arrow_types import ddl_of_columns
from rebalance_audit.wire.key_bytes import (
    OFFSET_COMMIT_PREFIXES,
    TYPE_BYTES,
    group_bytes,
    group_id_text,
)

if TYPE_CHECKING:
    from rebalance_audit.audit.commits.summary import Numbers

GROUP_RECORD: Final = (
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
"""The columns of a group record in the reducer's input."""
INPUT: Final = (*GROUP_RECORD, "kind")
"""The reducer's input. `kind` is that of a pack, else null. Of a pack, `offset` and `timestamp` are the first commit's,
and `value` has those of all."""
PACK: Final = {name: RECORD.get(name, "string") for name in INPUT}
"""Name -> type as DDL."""
PACK_DDL: Final = ddl_of_columns(PACK)

PACKED_AT_ONCE: Final = 1 << 19
"""Commits, about: each takes some 200 bytes meanwhile, and the reducer is faster with few large packs."""

_TYPES: Final = pa.array(OFFSET_COMMIT_PREFIXES, pa.binary())
_GIVEN: Final = (
    *("partition", "offset", "timestamp", "leader_epoch", "is_transactional", "key", "value"),
)
_NUMBERS: Final = np.dtype("<i8")
_UNKNOWN_EPOCH: Final = -1
IS_DECODABLE: Final = "is_decodable"
"""Column of commits for which that is known; else they are looked at once more."""
COMMITS: Final = "commits"
UNDECODABLE: Final = "undecodable"
"""Of commits that cannot be decoded: the audit sees them, silver does not have them."""
TOMBSTONES: Final = "tombstones"
"""They delete committed offsets, and show no active member."""
DECIDED: Final = "decided"
"""Of `routing.decided_commits`: times are those of markers, whose offsets make a fourth column.

They come after the group's other packs, which have the same commits at the time when they were written.
"""
_KINDS: Final = (COMMITS, UNDECODABLE, TOMBSTONES, DECIDED)
_MICROS: Final = 1000
_END: Final = (1 << 63) - 1
"""After every offset."""
_NOTHING: Final[Summaries] = {}


def commit_packs(records: DataFrame, groups_regex: str | None) -> DataFrame:
    """Packs of the offset commits of some groups; of records of bronze or of a source.

    Left out: commits without a time, and keys that name no group.
    """
    commits = routing.commits(records, groups_regex)
    return commits.select(*_GIVEN).mapInArrow(packed, PACK_DDL)


def decided_packs(decided: DataFrame) -> DataFrame:
    """Packs of `routing.decided_commits`."""
    return decided.select(*_GIVEN, routing.MARKER_OFFSET).mapInArrow(packed, PACK_DDL)


def are_commits(batch: pa.RecordBatch) -> pa.BooleanArray:
    """Which rows `routing.is_commit` is true of, by the columns `key` and `is_control`; never null."""
    types = pc.binary_slice(batch["key"], 0, TYPE_BYTES)
    control = pc.fill_null(batch["is_control"], False)
    return pc.and_not(pc.is_in(types, value_set=_TYPES), control)


class Packing:
    """Makes packs of commits, many commits at once."""

    def __init__(self) -> None:
        self._waiting: list[pa.RecordBatch] = []
        self._count = 0

    def add(self, commits: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Take commits with the columns _GIVEN, perhaps MARKER_OFFSET and IS_DECODABLE; packs as PACK_DDL."""
        given = (*_GIVEN, routing.MARKER_OFFSET, IS_DECODABLE)
        columns = [name for name in given if name in commits.schema.names]
        with_time = commits.select(columns)
        if commits["timestamp"].null_count:
            with_time = with_time.filter(commits["timestamp"].is_valid())
        if with_time.num_rows:
            self._waiting.append(with_time)
            self._count += with_time.num_rows
        if self._count >= PACKED_AT_ONCE:
            yield from self.rest()

    def rest(self) -> Iterator[pa.RecordBatch]:
        """A pack of what waits."""
        if self._waiting:
            packs = pack_commits(self._waiting)
            self._waiting, self._count = [], 0
            yield packs


def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Packs of commits."""
    packing = Packing()
    for batch in batches:
        yield from packing.add(batch)
    yield from packing.rest()


def pack_commits(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """The commits of batches, which have at least one row, as packs with the columns of PACK_DDL."""
    table = pa.Table.from_batches(batches).combine_chunks()
    keys = table["key"].combine_chunks().dictionary_encode()
    # As `routing.group_id` names the group of the other records.
    ids = [group_id_text(group_bytes(key)) for key in keys.dictionary.to_pylist()]
    groups = pa.array(ids, pa.string())
    offsets = table["offset"].to_numpy()
    times = table["timestamp"].cast(pa.int64()).to_numpy() // _MICROS
    is_decided = routing.MARKER_OFFSET in table.column_names
    epochs = pc.fill_null(table["leader_epoch"], _UNKNOWN_EPOCH).to_numpy()
    flags = pc.fill_null(table["is_transactional"], False).to_numpy()
    values = table["value"].combine_chunks()
    decodable = (
        table[IS_DECODABLE].to_numpy()
        if IS_DECODABLE in table.column_names
        else are_decodable(keys, values)
    )
    of_decodable = _KINDS.index(DECIDED if is_decided else COMMITS)
    kinds = np.where(decodable, of_decodable, _KINDS.index(UNDECODABLE))
    kinds[values.is_null().to_numpy(zero_copy_only=False)] = _KINDS.index(TOMBSTONES)
    columns = [keys.indices.to_numpy(), table["partition"].to_numpy(), epochs, flags, kinds]
    varying = [column for column in columns if (column != column[0]).any()]
    order = np.lexsort((offsets, *reversed(varying)))
    numbers = [offsets, times, _positions(values)]
    if is_decided:
        numbers.append(table[routing.MARKER_OFFSET].to_numpy())
    numbers = [column[order] for column in numbers]
    columns = [column[order] for column in columns]
    codes, partitions, epochs, flags, kinds = columns
    begins = run_begins(*columns)
    first = pa.array(codes[begins])
    first_offsets = np.full(len(begins), _END) if is_decided else numbers[0][begins]
    packs = pa.RecordBatch.from_arrays(
        [
            pa.array(partitions[begins], pa.int32()),
            groups.take(first),
            pa.array(first_offsets, pa.int64()),
            pa.array(numbers[1][begins] * _MICROS, pa.timestamp("us", "UTC")),
            pa.array(epochs[begins], pa.int32(), mask=epochs[begins] == _UNKNOWN_EPOCH),
            pa.nulls(len(begins), pa.int64()),
            pa.array(flags[begins]),
            keys.dictionary.take(first),
            _values(begins, *numbers),
            pa.array(_KINDS).take(pa.array(kinds[begins])),
        ],
        names=INPUT,
    )
    wanted = packs["group_id"].is_valid()
    if is_decided:
        wanted = pc.and_(wanted, pc.equal(packs["kind"], DECIDED))
    return packs.filter(wanted)


def pack_columns(value: bytes, count: int = 3) -> npt.NDArray[np.int64]:
    """What a pack holds: rows of log offsets, times (ms) and committed offsets, of DECIDED four."""
    return np.frombuffer(value, _NUMBERS).reshape(count, -1)


def _positions(values: pa.BinaryArray) -> npt.NDArray[np.int64]:
    """The offset that each value commits, as `position_in` has it."""
    column = ByteColumn(values)
    found = column.field(column.starts + POSITION_AT, ">i8")
    return np.where(column.lengths >= POSITION_END, found, NO_POSITION)


def _values(begins: npt.NDArray[np.int64], *columns: npt.NDArray[np.int64]) -> pa.Array:
    """Of each pack, which begins at a row of all columns, one column after the other, as bytes."""
    count, width = len(columns[0]), len(columns)
    sizes = np.append(begins[1:], count) - begins
    numbers = np.empty(width * count, _NUMBERS)
    # The columns of the packs before lie before those of a pack.
    places = np.arange(count) + (width - 1) * np.repeat(begins, sizes)
    for number, column in enumerate(columns):
        numbers[places + number * np.repeat(sizes, sizes)] = column
    bounds = np.append(begins, count).astype(np.int32) * (width * _NUMBERS.itemsize)
    return pa.Array.from_buffers(
        pa.binary(), len(begins), [None, pa.py_buffer(bounds), pa.py_buffer(numbers)]
    )


class _Part(NamedTuple):
    """Commits with one key, in order of their offsets."""

    offsets: npt.NDArray[np.int64]
    times: npt.NDArray[np.int64]
    committed: npt.NDArray[np.int64]
    """The offsets that they commit."""
    key: int
    """Its place among the keys that were held."""
    leader_epoch: int | None
    is_transactional: bool

    def from_offset(self, log_offset: int) -> "_Part":
        begin = int(np.searchsorted(self.offsets, log_offset))
        return self._replace(
            offsets=self.offsets[begin:],
            times=self.times[begin:],
            committed=self.committed[begin:],
        )


class HeldCommits:
    """The commits of one group that have been read, but not yet the record of the group that follows them."""

    def __init__(self) -> None:
        self._keys: dict[bytes, int] = {}
        self._parts: list[_Part] = []
        self._ready: dict[int, Summaries] = {}

    def hold(
        self, key: bytes, value: bytes, leader_epoch: int | None, *, is_transactional: bool
    ) -> None:
        """Take a pack."""
        offsets, times, committed = pack_columns(value)
        place = self._keys.setdefault(key, len(self._keys))
        part = _Part(offsets, times, committed, place, leader_epoch, is_transactional)
        self._parts.append(part)

    def expect(self, from_offset: int, log_offsets: Sequence[int]) -> None:
        """Sum up what was committed before each of the group's records at these offsets, which ascend.

        Every pack that begins before the last of them has been held. Commits before `from_offset` are dropped: an
        earlier run has taken them.
        """
        parts = [part for part in self._parts if part.offsets[-1] >= from_offset]
        if not parts or not log_offsets:
            return
        end = log_offsets[-1]
        self._parts = [part.from_offset(end) for part in parts if part.offsets[-1] >= end]
        self._ready.update(self._summed_up(parts, from_offset, log_offsets))

    def take(self, before: int) -> Summaries:
        """What was committed since the last expected record and before the one at this offset."""
        return self._ready.pop(before, _NOTHING)

    def take_rest(self, from_offset: int) -> Summaries:
        """What was committed after the last expected record."""
        found = self._summed_up(self._parts, from_offset, (_END,))
        self._parts = []
        return found.get(_END, _NOTHING)

    def _summed_up(
        self, parts: Sequence[_Part], from_offset: int, ends: Sequence[int]
    ) -> Mapping[int, Summaries]:
        """By the end of each stretch that has commits; files of a table can lie across each other, and so do parts."""
        if not parts:
            return {}
        sizes = [len(part.offsets) for part in parts]
        of_part = np.repeat(np.arange(len(parts)), sizes)
        keys = np.repeat([part.key for part in parts], sizes)
        offsets = np.concatenate([part.offsets for part in parts])
        times = np.concatenate([part.times for part in parts])
        committed = np.concatenate([part.committed for part in parts])
        # A stretch has the commits before its end, and none at or after the last end.
        stretches = np.searchsorted(np.array(ends, np.int64), offsets, side="right")
        order = np.lexsort((offsets, keys, stretches))
        wanted = (offsets >= from_offset) & (stretches < len(ends))
        order = order[wanted[order]]
        if not len(order):
            return {}
        of_part, keys, stretches = of_part[order], keys[order], stretches[order]
        offsets, times, committed = offsets[order], times[order], committed[order]
        begins = run_begins(keys, stretches)
        lasts = np.append(begins[1:], len(order)) - 1
        of_last = [parts[number] for number in of_part[lasts].tolist()]
        numbers = summed_up(
            times,
            offsets,
            committed,
            begins,
            [(part.leader_epoch, part.is_transactional) for part in of_last],
        )
        names = [*self._keys]
        found: dict[int, dict[bytes, Numbers]] = {}
        places = zip(stretches[begins].tolist(), keys[begins].tolist(), numbers, strict=True)
        for stretch, key, summary in places:
            found.setdefault(ends[stretch], {})[names[key]] = summary
        return found


HELD_BYTES: Final = 8 << 20
"""At most so many bytes of others are held: a log may have no commits."""


def commits_first(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows of one task, which will be one file, the few that are no commits last.

    Parquet keeps the smallest and largest value of each page of a column. With 99 of 100 records offset commits, every
    page would have others among them; so a reader of group records skips nearly all pages (`routing.is_other`). The
    rows have the columns `key` and `is_control`.
    """
    held: list[pa.RecordBatch] = []
    held_bytes = 0
    for batch in batches:
        is_commit = are_commits(batch)
        yield batch.filter(is_commit)
        others = batch.filter(pc.invert(is_commit))
        if others.num_rows:
            held.append(others)
            held_bytes += others.nbytes
            if held_bytes > HELD_BYTES:
                yield from held
                held, held_bytes = [], 0
    yield from held
