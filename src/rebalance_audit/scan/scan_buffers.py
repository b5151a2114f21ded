"""The arrays that the compiled walk works in, and what they hold as objects."""

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import numpy as np

from rebalance_audit.audit.commits.collect import CommitsApart, Summaries
from rebalance_audit.audit.holes import Holes, holes_of
from rebalance_audit.scan import kernel, places
from rebalance_audit.scan.runs import runs_of
from rebalance_audit.scan.walk_arrays import ROWS, WalkArrays
from rebalance_audit.wire.segments.columns import ColumnChunk

if TYPE_CHECKING:
    from rebalance_audit.audit.commits.summary import Numbers

_SUMMARIES: Final = 1 << 17
_KEY_BYTES: Final = 8 << 20
_SECRETS: Final = 67
_SLOTS: Final = 2
"""Slots of a hash table for each of its rows."""

_STRETCH_BYTES: Final = 32 << 20
"""Of keys and values of group records in one stretch, about."""

_Row: TypeAlias = tuple[int, int, bytes | None, bytes | None]
"""Log offset, record timestamp (epoch ms), key, value."""


def secrets_from(seed: int | None) -> Any:
    """The secrets of `numbers.hash_of`."""
    words = np.iinfo(np.uint64)
    return np.random.default_rng(seed).integers(0, words.max, _SECRETS, np.uint64, endpoint=True)


class Walked(NamedTuple):
    """Batches that the compiled walk took, and their counts."""

    apart: CommitsApart
    records: int
    offset_commits: int
    transaction_markers: int
    first_ms: int
    last_ms: int
    next_offset: int
    """After the highest offset."""
    first_offset: int
    holes: Holes
    """Between the records."""
    naming: list[_Row]
    """Offset commits that may be the first to name a topic's id."""


class ScanBuffers(WalkArrays):
    """Where one walk keeps what it has found, some 40 MB."""

    def __init__(self, seed: int | None = None) -> None:
        """`seed`: of the hash tables; by default a random one. What is found does not depend on it."""
        super().__init__()
        self._secrets = secrets_from(seed)
        self._kept = np.empty((ROWS, 6), np.int64)
        self._naming = np.empty((ROWS, 6), np.int64)
        self._key_slots = np.full(_SLOTS * ROWS, -1, np.int32)
        self._keys = np.empty((ROWS, 5), np.int64)
        self._group_slots = np.full(_SLOTS * ROWS, -1, np.int32)
        self._groups = np.empty((ROWS, 4), np.int64)
        self._key_bytes = np.empty(_KEY_BYTES, np.uint8)
        self._summaries = np.empty((_SUMMARIES, places.SUMMARY_COLUMNS), np.int64)
        self._cuts = np.empty((ROWS, 3), np.int64)
        self._holes = np.empty((ROWS, 2), np.int64)
        self._id_slots = np.full(_SLOTS * ROWS, -1, np.int32)
        self._ids = np.empty((ROWS, 2), np.int64)
        self._rows: list[_Row] = []
        self._drawn_bytes = 0
        """Of the keys and values that were drawn since the last `take`."""
        self._naming_rows: list[_Row] = []

    def walk(
        self, data: Any, at: int, end: int, loaded: int, end_offset: int, *, proven: bool = False
    ) -> tuple[int, int]:
        """See `kernel.walk`."""
        status, stopped = kernel.walk(
            data,
            at,
            end,
            loaded,
            end_offset,
            proven,
            self._batch,
            self._head,
            self._kept,
            self._naming,
            self._runs,
            self._key_slots,
            self._keys,
            self._group_slots,
            self._groups,
            self._key_bytes,
            self._summaries,
            self._cuts,
            self._holes,
            self._id_slots,
            self._ids,
            self._secrets,
            self.tally,
        )
        return int(status), int(stopped)

    def draw(self, data: Any) -> None:
        """Take the records out of the window before its bytes change."""
        tally = self.tally
        kept = self._kept[: tally[places.KEPT]]
        self._rows += _rows(data, kept)
        self._drawn_bytes += int(kept[:, places.ROW_KEY_BYTES :: 2].sum())
        self._naming_rows += _rows(data, self._naming[: tally[places.NAMING]])
        tally[places.KEPT_BEFORE] = len(self._rows)
        tally[places.KEPT] = tally[places.NAMING] = 0

    @property
    def is_heavy(self) -> bool:
        """Whether much memory is in use for what was drawn."""
        return self._drawn_bytes > _STRETCH_BYTES

    def take(self) -> Walked:
        """All that was drawn, as the stretch of the log that it is; the arrays are empty then."""
        tally = self.tally
        rows = self._rows
        offsets, times, keys, values = map(list, zip(*rows, strict=True)) if rows else ([],) * 4
        runs = runs_of(self._runs[: tally[places.RUNS]])
        apart = CommitsApart(ColumnChunk(offsets, times, keys, values, runs, 0), self._commits())
        records, commits, markers, first_ms, last_ms, next_offset = tally[:6].tolist()
        first_offset = int(tally[places.FIRST_OFFSET])
        holes = holes_of(self._holes[: tally[places.HOLES]].tolist())
        naming = self._naming_rows
        self._rows, self._naming_rows, self._drawn_bytes = [], [], 0
        tally[:] = 0  # with the ids of topics: each stretch names those that it has
        self._id_slots.fill(-1)
        self._key_slots.fill(-1)
        self._group_slots.fill(-1)
        return Walked(
            apart,
            records,
            commits,
            markers,
            first_ms,
            last_ms,
            next_offset,
            first_offset,
            holes,
            naming,
        )

    def _commits(self) -> list[tuple[int, bytes, Summaries]]:
        tally = self.tally
        arena = self._key_bytes[: tally[places.KEY_BYTES]].tobytes()
        where = self._keys[: tally[places.KEYS], : places.KEY_SIZE + 1].tolist()
        keys = [arena[at : at + size] for at, size in where]
        groups = self._groups[: tally[places.GROUPS]]
        cuts = self._cuts[: tally[places.CUTS]].tolist()
        still_open = [
            (first, group)
            for group, first in enumerate(groups[:, places.GROUP_FIRST].tolist())
            if first >= 0
        ]
        cuts += [(len(self._rows), group, first) for first, group in sorted(still_open)]
        ids = [
            key[4 : 4 + int.from_bytes(key[2:4])]
            for key in map(keys.__getitem__, groups[:, places.GROUP_KEY].tolist())
        ]
        rows = self._summaries[: tally[places.SUMMARIES]].tolist()
        found: list[tuple[int, bytes, Summaries]] = []
        for at, group, first in cuts:
            summaries: dict[bytes, Numbers] = {}
            following = first
            while following >= 0:
                (
                    first_ms,
                    last_ms,
                    first_offset,
                    last_offset,
                    commits,
                    longest_ms,
                    pause_ms,
                    epoch,
                    transactional,
                    first_position,
                    last_position,
                    unchanged,
                    key,
                    following,
                ) = rows[following]
                summaries[keys[key]] = (
                    first_ms,
                    last_ms,
                    first_offset,
                    last_offset,
                    commits,
                    longest_ms,
                    None if commits == 1 else pause_ms,
                    epoch,
                    transactional == 1,
                    first_position,
                    last_position,
                    unchanged,
                )
            found.append((at, ids[group], summaries))
        return found


def _rows(data: Any, where: Any) -> list[_Row]:
    return [
        (
            offset,
            at_ms,
            None if key_bytes < 0 else data[key : key + key_bytes].tobytes(),
            None if value_bytes < 0 else data[value : value + value_bytes].tobytes(),
        )
        for offset, at_ms, key, key_bytes, value, value_bytes in where.tolist()
    ]
