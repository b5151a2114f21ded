"""meta.ingested: how much of each partition bronze has, and from which log.

Bronze itself says what it has: where rows have gone that it had, an ingest reads them again. What comes after a
partition's last offset is new, and is appended without reading bronze. So these rows must be complete: each names the
version of bronze that it describes, and rows of later versions (of a killed ingest, or of another program) are added
before use.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.lake.records.routing import of_partition
from rebalance_audit.lake.storage.data_files import DataFiles
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.table_log import TableMark
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.moments import utc_datetime
from rebalance_audit.shown_settings import without_credentials
from rebalance_audit.tables.schemas import TableName, table_schemas
from rebalance_audit.wire.segments.folder import FileMark


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


AT: Final = "last_record_at"
_KEPT: Final = (
    "partition",
    "bronze_version",
    "bronze_commit",
    "kafka_cluster_id",
    "topic_id",
    "source",
)
"""The other columns that are read."""


class Ledger:
    """The rows of one cluster, kept up to date with what this process appends."""

    def __init__(self, lake: Lake, cluster: str) -> None:
        """Read the rows, and add what bronze got since they were written. Raises LakeNotReadable."""
        self.lake = lake
        self.cluster = cluster
        self.partitions: dict[int, PartitionInBronze] = {}
        self.bronze_version = 0
        """Version of bronze.records that the partitions describe; version 0 is the table's creation, without rows."""
        self.bronze_commit: str | None = None
        """What the commit of that version says of its maker; None if unknown."""
        self.cluster_id: str | None = None
        self.topic_id: str | None = None
        self._source: str | None = None
        self.lost: dict[int, PartitionInBronze] = {}
        """Partitions where bronze has fewer rows than were known, as they were known."""
        self._load()
        self._saved = self._state()
        self.catch_up()

    def next_offsets(self) -> dict[int, int]:
        """Partition -> offset after its last record in bronze, for partitions that have any."""
        return {
            number: part.next_offset
            for number, part in self.partitions.items()
            if part.next_offset is not None
        }

    def files(self) -> dict[int, frozenset[FileMark]]:
        """Partition -> segment files whose records are all in bronze."""
        return {number: part.files for number, part in self.partitions.items() if part.files}

    def forget_files(self) -> None:
        """Let an ingest read every segment file again."""
        self.partitions = {
            number: replace(part, files=frozenset()) for number, part in self.partitions.items()
        }

    @property
    def newest_record_at(self) -> datetime | None:
        """Time of the newest record that bronze has of the cluster; None if it has none."""
        # A list at once: another thread may append meanwhile.
        times = [part.last_record_at for part in list(self.partitions.values())]
        return max((each for each in times if each is not None), default=None)

    def catch_up(self) -> None:
        """Add the rows of bronze that are newer than `bronze_version`."""
        now = self.lake.mark(TableName.RECORDS)
        assert now is not None  # made at the start of every run
        if now.version == self.bronze_version and self.bronze_commit in {None, now.made_by}:
            return
        try:
            found = self._count(self._added(now))
        except (LakeNotReadable, PySparkException):
            # All of bronze gives the same counts, unless rows were removed.
            before = self.partitions
            self._count_all()
            for number, known in before.items():
                if self.partitions[number].records < known.records:
                    self.lost.setdefault(number, known)
                    self.note(number, read_to_offset=None)
            return
        self._add(found.items(), now)

    def recount(self, at: datetime, run_id: str) -> None:
        """Count all of bronze, from which records were deleted on purpose, and write the rows."""
        before = self.partitions
        self._count_all()
        self.lost.clear()
        self.note_compacted(before, {})
        for number, part in before.items():
            # What was deleted is not read again.
            self.note(number, files=part.files)
        self.save(self._source or self.lake.table_path(TableName.RECORDS), run_id, at)

    def _count_all(self) -> None:
        now = self.lake.mark(TableName.RECORDS)
        assert now is not None  # made at the start of every run
        self.partitions = {
            number: replace(part, first_offset=None, next_offset=None, records=0, files=frozenset())
            for number, part in self.partitions.items()
        }
        found = self._count(self.lake.read(TableName.RECORDS, version=now.version))
        self._add(found.items(), now)

    def still_lost(self) -> dict[int, tuple[int, int]]:
        """Of the partitions that had lost rows and still lack some: the offsets from one to another, without that.

        Which of them are gone is known of none alone. Raises LakeNotReadable.
        """
        if not self.lost:
            return {}
        rows = self.lake.read(TableName.RECORDS).where(F.col("cluster") == self.cluster)
        ends = {number: part.next_offset or 0 for number, part in self.lost.items()}
        present = {
            row["partition"]: row["count"]
            for row in rows.where(F.col("partition").isin([*self.lost]))
            .where(F.col("offset") < of_partition(ends))
            .groupBy("partition")
            .count()
            .collect()
        }
        return {
            number: (part.first_offset, part.next_offset)
            for number, part in self.lost.items()
            if part.first_offset is not None
            and part.next_offset is not None
            and present.get(number, 0) < part.records
        }

    def add(self, rows: DataFiles) -> None:
        """Add what this process has just appended in one commit."""
        now = self.lake.mark(TableName.RECORDS)
        if now is None or now.version != self.bronze_version + 1:
            self.catch_up()  # others have written too
            return
        for found in rows.summaries():
            self._add(parts_in(found).items(), now)

    def _add(self, parts: Iterable[tuple[int, PartitionInBronze]], now: TableMark) -> None:
        for number, part in parts:
            known = self.partitions.get(number, PartitionInBronze())
            self.partitions[number] = known.and_also(part)
        self.bronze_version, self.bronze_commit = now.version, now.made_by

    def note(self, number: int, **values: Any) -> None:
        """Set fields of a partition."""
        known = self.partitions.get(number, PartitionInBronze())
        self.partitions[number] = replace(known, **values)

    def note_compacted(
        self, before: Mapping[int, PartitionInBronze], shown: Mapping[int, tuple[int, int]]
    ) -> None:
        """Count offsets as compacted that are missing now and were not `before`: the source shows all markers.

        `shown`: partition -> from which offset to which one it has every record.
        """
        for number, part in self.partitions.items():
            known = before.get(number, PartitionInBronze())
            new = max(0, part.missing_offsets - known.missing_offsets)
            compacted = min(part.missing_offsets, known.compacted_offsets + new)
            start, end = shown.get(number, (0, 0))
            if part.next_offset == end and start <= (part.first_offset or 0):
                compacted = part.missing_offsets
            self.partitions[number] = replace(part, compacted_offsets=compacted)

    def save(self, source: str, run_id: str, at: datetime) -> None:
        """Write the rows, in one commit."""
        schema = table_schemas()[TableName.INGESTED]
        common = {
            "bronze_version": self.bronze_version,
            "bronze_commit": self.bronze_commit,
            "kafka_cluster_id": self.cluster_id,
            "topic_id": self.topic_id,
            "source": without_credentials(source),
            "run_id": run_id,
            "updated_at": at,
        }
        rows = []
        for number, part in sorted(self.partitions.items()):
            values = {name: getattr(part, name, None) for name in schema.column_names}
            rows.append(values | common | {"partition": number, "files": sorted(part.files)})
        Sink(self.lake, self.cluster, run_id, is_log=True).rewrite(TableName.INGESTED, rows)
        self._saved = self._state()

    @property
    def is_unsaved(self) -> bool:
        """Whether the table's rows differ from what is known here."""
        return self._state() != self._saved

    def _state(self) -> tuple[object, ...]:
        bronze = (self.bronze_version, self.bronze_commit)
        return dict(self.partitions), bronze, self.cluster_id, self.topic_id

    def _load(self) -> None:
        fields = [*PartitionInBronze.__dataclass_fields__]
        for row in self.lake.read_small(TableName.INGESTED, self.cluster, [*fields, *_KEPT]):
            # Null in a lake of an earlier release.
            files = frozenset(FileMark(*file.values()) for file in row["files"] or ())
            self.partitions[row["partition"]] = PartitionInBronze(
                **{name: row[name] for name in fields} | {"files": files, AT: utc_datetime(row[AT])}
            )
            self.bronze_version = row["bronze_version"]
            self.bronze_commit = row["bronze_commit"]
            self._source = row["source"]
            self.cluster_id, self.topic_id = row["kafka_cluster_id"], row["topic_id"]

    def _added(self, now: TableMark) -> DataFrame:
        """The rows that bronze got after `bronze_version`.

        Raises LakeNotReadable if the change feed no longer reaches so far back, or if others may have removed rows.
        """
        known = TableMark(now.table_id, self.bronze_version, self.bronze_commit)
        if change := self.lake.change_since(TableName.RECORDS, known):
            raise LakeNotReadable(f"{TableName.RECORDS} {change}.")
        if not self.bronze_version:
            # All of it: a rebuild reads the same snapshot of the table, and Delta has to look it up only once.
            return self.lake.read(TableName.RECORDS, version=now.version)
        return self.lake.added(TableName.RECORDS, self.bronze_version, now.version)

    def _count(self, rows: DataFrame) -> dict[int, PartitionInBronze]:
        """How much of each partition is among rows of bronze; the last record of each is collected."""
        mine = rows.where(F.col("cluster") == self.cluster)
        counted = {
            row["partition"]: row
            for row in mine.groupBy("partition")
            .agg(
                F.min("offset").alias("first"),
                F.max("offset").alias("last"),
                F.count(F.lit(1)).alias("records"),
                F.unix_millis(F.max("timestamp")).alias("at_ms"),
            )
            .collect()
        }
        lasts = [row["last"] for row in counted.values()]
        # Files have statistics of their offsets, so this reads few of them.
        ends = mine.where(F.col("offset").isin(lasts)).select("partition", "offset", "key", "value")
        digests = {
            row["partition"]: digest(row["key"], row["value"])
            for row in (ends.collect() if lasts else [])
            if row["offset"] == counted[row["partition"]]["last"]
        }
        return {
            number: PartitionInBronze(
                first_offset=row["first"],
                next_offset=row["last"] + 1,
                records=row["records"],
                last_record_at=utc_datetime(row["at_ms"]),
                last_digest=digests[number],
            )
            for number, row in counted.items()
        }


def require_whole(lake: Lake, cluster: str) -> None:
    """Raises LakeNotReadable if bronze has lost rows since an ingest: gold would lose what it shows of them."""
    if lake.version(TableName.INGESTED) is None:
        return
    columns = ("bronze_version", "bronze_commit", "source")
    noted = next(iter(lake.read_small(TableName.INGESTED, cluster, columns)), None)
    now = lake.mark(TableName.RECORDS)
    if noted is None or now is None:
        return
    known = TableMark(now.table_id, noted["bronze_version"], noted["bronze_commit"])
    if lake.change_since(TableName.RECORDS, known) is None:
        return
    ledger = Ledger(lake, cluster)
    if ledger.lost:
        had = sum(part.records for part in ledger.lost.values())
        has = sum(ledger.partitions[number].records for number in ledger.lost)
        raise LakeNotReadable(
            f"Bronze has lost records of cluster {cluster}: it has {has:,} of {had:,}. Read them again with"
            f" `rebalance-audit ingest --source {noted['source']} --lake {lake.path} --cluster {cluster}`, or restore"
            f" {lake.table_path(TableName.RECORDS)} from a backup. With --full a run goes on without them."
        )


def partitions_seen(lake: Lake, cluster: str) -> frozenset[int]:
    """A cluster's partitions for which a source that shows markers was asked for every offset that bronze lacks.

    Raises LakeNotReadable.
    """
    if lake.version(TableName.INGESTED) is None:
        return frozenset()
    columns = ("partition", "missing_offsets", "compacted_offsets")
    return frozenset(
        row["partition"]
        for row in lake.read_small(TableName.INGESTED, cluster, columns)
        if row["missing_offsets"] == row["compacted_offsets"]
    )
