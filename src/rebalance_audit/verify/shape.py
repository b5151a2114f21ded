"""Size, age and shape of a partition: records by kind, keys, what the cleaner would remove, groups by growth.

From the numbers of its records follows how long a coordinator takes to load it, an estimate.
"""

import json
from collections import Counter
from collections.abc import Mapping
from functools import cache
from hashlib import blake2b
from typing import Final, NamedTuple

from rebalance_audit.resources import read_text
from rebalance_audit.verify.coordinators import Coordinator
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.key_bytes import group_bytes
from rebalance_audit.wire.segments.columns import ColumnChunk

MARKER: Final = "TRANSACTION_MARKER"
GROUPS_LISTED: Final = 10
KEYS_MAX: Final = 1 << 22
"""Bounds memory to some 500 MB, whatever a log holds."""
_KEY_BYTES: Final = 64
"""A longer key is kept as a digest."""
_NAMES: Final = {kind.value: kind.name for kind in RecordType}
_NO_KEY: Final = "NO_KEY"


class GroupGrowth(NamedTuple):
    """What one group wrote."""

    group_id: str
    record_count: int
    size_bytes: int
    """Of keys and values."""
    first_ms: int
    last_ms: int


class PartitionShape(NamedTuple):
    """What a partition is made of. Times are epoch milliseconds, sizes bytes of keys and values."""

    record_count: int
    size_bytes: int
    first_ms: int | None
    last_ms: int | None
    by_kind: Mapping[str, int]
    """Name of the record type -> records, most first; a type without a name by its number."""
    bytes_by_kind: Mapping[str, int]
    key_count: int | None
    """None, as the next three, if there are more than KEYS_MAX."""
    dead_key_count: int | None
    """Keys whose last record is a tombstone."""
    superseded_count: int | None
    """Records with a later one of the same key."""
    superseded_bytes: int | None
    cleanable_count: int | None
    """What the cleaner would remove of them now: it leaves the last segment alone. None if segments are unknown."""
    group_count: int
    largest_groups: tuple[GroupGrowth, ...]
    """By bytes, the largest first."""


class ShapeCount:
    """Counts what a reader finds. Keeps each key once, as the coordinator and the cleaner do."""

    def __init__(self) -> None:
        self._last: dict[bytes, int] = {}
        """Key -> size of its last record; negative for a tombstone."""
        self._kinds: Counter[int | str] = Counter()
        self._bytes_of_kind: Counter[int | str] = Counter()
        self._groups: dict[bytes, list[int]] = {}
        """Group -> records, bytes, first and last time."""
        self._count = self._bytes = 0
        self._first_ms: int | None = None
        self._last_ms: int | None = None
        self._superseded = self._superseded_bytes = 0
        self._cleanable: int | None = None
        self._has_all_keys = True

    def enter_last_segment(self) -> None:
        """What comes from here on, the cleaner leaves alone."""
        self._cleanable = self._superseded

    def take(self, chunk: ColumnChunk) -> None:
        """The next records."""
        for run, rows in chunk.by_run():
            for _, at_ms, key, value in rows:
                self._count += 1
                if at_ms >= 0:
                    first, last = self._first_ms, self._last_ms
                    self._first_ms = at_ms if first is None else min(first, at_ms)
                    self._last_ms = at_ms if last is None else max(last, at_ms)
                size = len(key or b"") + len(value or b"")
                self._bytes += size
                if run.is_control:
                    self._kinds[MARKER] += 1
                elif key is None:
                    self._kinds[_NO_KEY] += 1
                else:
                    self._add(key, at_ms, size, is_tombstone=value is None)

    def _add(self, key: bytes, at_ms: int, size: int, *, is_tombstone: bool) -> None:
        kind = int.from_bytes(key[:2], signed=True)
        self._kinds[kind] += 1
        self._bytes_of_kind[kind] += size
        short = (
            key if len(key) <= _KEY_BYTES else blake2b(key, digest_size=_KEY_BYTES // 4).digest()
        )
        before = self._last.get(short)
        if before is not None:
            self._superseded += 1
            self._superseded_bytes += abs(before)
        if before is not None or len(self._last) < KEYS_MAX:
            self._last[short] = -size if is_tombstone else size
        else:
            self._has_all_keys = False
        group = group_bytes(key)
        if group is None:
            return
        of_group = self._groups.get(group)
        if of_group is None:
            self._groups[group] = [1, size, at_ms, at_ms]
            return
        of_group[0] += 1
        of_group[1] += size
        of_group[2] = min(of_group[2], at_ms)
        of_group[3] = max(of_group[3], at_ms)

    def finish(self) -> PartitionShape:
        """The counts."""
        has_all = self._has_all_keys
        largest = sorted(self._groups.items(), key=lambda entry: (-entry[1][1], entry[0]))
        return PartitionShape(
            record_count=self._count,
            size_bytes=self._bytes,
            first_ms=self._first_ms,
            last_ms=self._last_ms,
            by_kind={_name(kind): count for kind, count in self._kinds.most_common()},
            bytes_by_kind={
                _name(kind): self._bytes_of_kind[kind] for kind, _ in self._kinds.most_common()
            },
            key_count=len(self._last) if has_all else None,
            dead_key_count=sum(size < 0 for size in self._last.values()) if has_all else None,
            superseded_count=self._superseded if has_all else None,
            superseded_bytes=self._superseded_bytes if has_all else None,
            cleanable_count=self._cleanable if has_all else None,
            group_count=len(self._groups),
            largest_groups=tuple(
                GroupGrowth(group.decode(errors="replace"), *numbers)
                for group, numbers in largest[:GROUPS_LISTED]
            ),
        )


def _name(kind: int | str) -> str:
    return kind if isinstance(kind, str) else _NAMES.get(kind, str(kind))


_FILE: Final = "schemas/loading/rates.json"
_OTHERS: Final = "others"
_MS: Final = 1000


class LoadTime(NamedTuple):
    """Between what the load of a partition lies, in milliseconds."""

    least_ms: int
    most_ms: int

    @property
    def text(self) -> str:
        """`<1 s`, `2-9 s`; seconds are as exact as an estimate across machines can be."""
        least, most = self.least_ms // _MS, -(-self.most_ms // _MS)
        return "<1 s" if most <= 1 else f"{least}-{most} s" if least else f"<{most} s"


class _Rate(NamedTuple):
    by_size: bool
    """By kB, else by records; in a millisecond."""
    least: float
    most: float


@cache
def _rates(kind: str) -> Mapping[str, _Rate]:
    measured = json.loads(read_text(_FILE))["rates"][kind]
    return {
        name: _Rate(rate["unit"] == "kB", rate["least"], rate["most"])
        for name, rate in measured.items()
    }


def load_time_of(shape: PartitionShape, coordinator: Coordinator) -> LoadTime:
    """The estimate: each kind of record at its slowest and fastest measured rate (`schemas/loading/rates.json`)."""
    rates = _rates(coordinator.kind)
    least = most = 0.0
    for kind, count in shape.by_kind.items():
        rate = rates.get(kind, rates[_OTHERS])
        amount = shape.bytes_by_kind[kind] / 1000 if rate.by_size else count
        least += amount / rate.most
        most += amount / rate.least
    return LoadTime(int(least), int(most) + 1)
