"""The arrays that the compiled walk works in, and what they hold as objects."""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rebalance_audit.audit.commits.collect import CommitsApart, Summaries
from rebalance_audit.scan import kernel, places
from rebalance_audit.wire.segments.batches import LOG_APPEND_TIME, TRANSACTIONAL, timestamp_type_of
from rebalance_audit.wire.segments.columns import ColumnChunk, Run

if TYPE_CHECKING:
    from rebalance_audit.audit.commits.summary import Numbers

BATCH_RECORDS: Final = 1 << 14
"""Records of the largest batch that is walked; a coordinator's has hundreds."""
_ROWS: Final = 1 << 16
_SUMMARIES: Final = 1 << 17
_KEY_BYTES: Final = 8 << 20
_SLOTS: Final = 2
"""Slots of a hash table for each of its rows."""

Row = tuple[int, int, bytes | None, bytes | None]
"""Log offset, record timestamp (epoch ms), key, value."""


class Room:
    """Where one walk keeps what it has found, some 40 MB."""

    def __init__(self) -> None:
        self.tally = np.zeros(places.TALLIES, np.int64)
        self._batch = np.empty((BATCH_RECORDS, 6), np.int64)
        self._kept = np.empty((_ROWS, 6), np.int64)
        self._naming = np.empty((_ROWS, 6), np.int64)
        self._runs = np.empty((_ROWS, 5), np.int64)
        self._key_slots = np.full(_SLOTS * _ROWS, -1, np.int32)
        self._keys = np.empty((_ROWS, 5), np.int64)
        self._group_slots = np.full(_SLOTS * _ROWS, -1, np.int32)
        self._groups = np.empty((_ROWS, 4), np.int64)
        self._key_bytes = np.empty(_KEY_BYTES, np.uint8)
        self._summaries = np.empty((_SUMMARIES, 11), np.int64)
        self._cuts = np.empty((_ROWS, 3), np.int64)
        self._id_slots = np.full(_SLOTS * _ROWS, -1, np.int32)
        self._ids = np.empty((_ROWS, 2), np.int64)
        self._rows: list[Row] = []
        self.drawn_bytes = 0
        """Of the keys and values that were drawn since the last `take`."""

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
            self._id_slots,
            self._ids,
            self.tally,
        )
        return int(status), int(stopped)

    def draw(self, data: Any) -> list[Row]:
        """Take the records out of the window before its bytes change; returns those that may name a topic."""
        tally = self.tally
        kept = self._kept[: tally[places.KEPT]]
        self._rows += _rows(data, kept)
        self.drawn_bytes += int(kept[:, places.ROW_KEY_BYTES :: 2].sum())
        naming = _rows(data, self._naming[: tally[places.NAMING]])
        tally[places.KEPT_BEFORE] = len(self._rows)
        tally[places.KEPT] = tally[places.NAMING] = 0
        return naming

    def forget_topic_ids(self) -> None:
        """Commits tell the name of each topic's id once more."""
        self._id_slots.fill(-1)
        self.tally[places.TOPIC_IDS] = 0

    @property
    def is_empty(self) -> bool:
        """Whether no batch with records was walked since the last `take`."""
        return not self.tally[places.RECORDS]

    def take(self) -> CommitsApart:
        """All that was drawn, as the stretch of the log that it is; the arrays are empty then."""
        tally = self.tally
        rows = self._rows
        offsets, times, keys, values = map(list, zip(*rows, strict=True)) if rows else ([],) * 4
        runs = [
            Run(
                records,
                leader_epoch,
                producer_id,
                producer_epoch,
                bool(bits & TRANSACTIONAL),
                is_control=False,
                timestamp_type=timestamp_type_of(2, bits & LOG_APPEND_TIME),
            )
            for leader_epoch, producer_id, producer_epoch, bits, records in self._runs[
                : tally[places.RUNS]
            ].tolist()
        ]
        apart = CommitsApart(ColumnChunk(offsets, times, keys, values, runs, 0), self._commits())
        self._rows, self.drawn_bytes = [], 0
        ids = tally[places.TOPIC_IDS]
        tally[:] = 0
        tally[places.TOPIC_IDS] = ids
        self._key_slots.fill(-1)
        self._group_slots.fill(-1)
        return apart

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
                )
            found.append((at, ids[group], summaries))
        return found


def _rows(data: Any, where: Any) -> list[Row]:
    return [
        (
            offset,
            at_ms,
            None if key_bytes < 0 else data[key : key + key_bytes].tobytes(),
            None if value_bytes < 0 else data[value : value + value_bytes].tobytes(),
        )
        for offset, at_ms, key, key_bytes, value, value_bytes in where.tolist()
    ]
