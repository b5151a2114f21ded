"""Records as the workers of an ingest write them into data files of bronze."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.lake.records.commit_packs import commits_first
from rebalance_audit.lake.records.record_columns import DAMAGE, OF_SEGMENTS
from rebalance_audit.lake.storage.data_files import FILE, DataFile, DataFolder
from rebalance_audit.moments import utc_datetime
from rebalance_audit.tables.arrow_types import padded, schema_of_columns
from rebalance_audit.wire.segments.folder import FileMark

WRITTEN: Final[Mapping[str, str]] = {
    **FILE,
    "partition": "int",
    "offset": "bigint",
    DAMAGE: OF_SEGMENTS[DAMAGE],
}
"""What leaves a task: a row for its file, and one for each damaged stretch."""


def write_records(
    batches: Iterable[pa.RecordBatch], folder: DataFolder, constants: Mapping[str, object]
) -> Iterator[pa.RecordBatch]:
    """Write records with the columns of RECORD, and perhaps rows of DAMAGE; yields rows of WRITTEN.

    `constants` are the values of the table's other columns.
    """
    file, written = DataFile(folder, constants, PartitionSpans()), schema_of_columns(WRITTEN)
    for batch in commits_first(batches):
        records = batch
        if DAMAGE in batch.schema.names and batch[DAMAGE].null_count < batch.num_rows:
            is_damage = batch[DAMAGE].is_valid()
            yield padded(batch.filter(is_damage), written)
            records = batch.filter(pc.invert(is_damage))
        file.write(records)
    for row in file.described():
        yield padded(row, written)


@dataclass(frozen=True, slots=True)
class PartitionInBronze:
    """One partition. Offsets are None while bronze has no record of it."""

    first_offset: int | None = None
    next_offset: int | None = None
    records: int = 0
    compacted_offsets: int = 0
    last_record_at: datetime | None = None
    last_digest: str | None = None
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    open_transaction_offset: int | None = None
    read_to_offset: int | None = None
    """Up to which offset a live log was read, records or not; None while it was never read live."""
    files: frozenset[FileMark] = frozenset()
    """Segment files whose records are all in bronze."""

    @property
    def missing_offsets(self) -> int:
        """How many offsets between the first and the last record have no record."""
        if self.first_offset is None or self.next_offset is None:
            return 0
        return self.next_offset - self.first_offset - self.records

    def and_also(self, other: "PartitionInBronze") -> "PartitionInBronze":
        """The partition with the records of another part of it added."""
        nexts = [each for each in (self.next_offset, other.next_offset) if each is not None]
        firsts = [each for each in (self.first_offset, other.first_offset) if each is not None]
        times = [each for each in (self.last_record_at, other.last_record_at) if each is not None]
        later = other if (other.next_offset or 0) > (self.next_offset or 0) else self
        return replace(
            self,
            first_offset=min(firsts, default=None),
            next_offset=max(nexts, default=None),
            records=self.records + other.records,
            last_record_at=max(times, default=None),
            last_digest=later.last_digest,
        )


class PartitionSpans:
    """What a file has of each log partition; `data_files.Summary`."""

    def __init__(self) -> None:
        self._parts: dict[int, PartitionInBronze] = {}

    def add(self, rows: pa.RecordBatch) -> None:
        """Take rows of bronze."""
        partitions, offsets = rows["partition"].to_numpy(), rows["offset"].to_numpy()
        times = rows["timestamp"].cast(pa.int64())
        for number in np.unique(partitions).tolist():
            places = np.flatnonzero(partitions == number)
            last = int(places[np.argmax(offsets[places])])
            micros = pc.max(times.take(pa.array(places))).as_py()
            part = PartitionInBronze(
                first_offset=int(offsets[places].min()),
                next_offset=int(offsets[last]) + 1,
                records=len(places),
                last_record_at=utc_datetime(None if micros is None else micros // 1000),
                last_digest=digest(rows["key"][last].as_py(), rows["value"][last].as_py()),
            )
            self._parts[number] = self._parts.get(number, PartitionInBronze()).and_also(part)

    def report(self) -> list[tuple[object, ...]]:
        """For `parts_in`."""
        return [
            (number, *(getattr(part, name) for name in _COUNTED))
            for number, part in self._parts.items()
        ]


_COUNTED: Final = ("first_offset", "next_offset", "records", "last_record_at", "last_digest")


def parts_in(report: Iterable[Sequence[Any]]) -> dict[int, PartitionInBronze]:
    """The parts that PartitionSpans reports, by their partitions."""
    parts = {}
    for number, *values in report:
        found = dict(zip(_COUNTED, values, strict=True))
        at = found["last_record_at"]
        found["last_record_at"] = None if at is None else datetime.fromisoformat(at)
        parts[number] = PartitionInBronze(**found)
    return parts


def digest(key: bytes | None, value: bytes | None) -> str:
    """SHA-256 of a record, as hexadecimal digits; null differs from empty."""
    found = hashlib.sha256()
    for part in (key, value):
        found.update(b"-" if part is None else b"%d:" % len(part))
        found.update(part or b"")
    return found.hexdigest()
