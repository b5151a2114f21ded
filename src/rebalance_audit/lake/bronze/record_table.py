"""Appends each record that bronze lacks, once, from whichever sources.

A record is identified by cluster, partition and offset. After the last offset of a partition everything is new; only
before it the rows of a source are compared with those of bronze. What bronze has stays as it is.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import LakeNotWritable
from rebalance_audit.lake.bronze.ledger import Ledger, PartitionSpans
from rebalance_audit.lake.records.commit_packs import commits_first
from rebalance_audit.lake.records.record_columns import DAMAGE, OF_SEGMENTS
from rebalance_audit.lake.records.routing import offset_of
from rebalance_audit.lake.session.splits import Splits, through
from rebalance_audit.lake.storage.data_files import (
    FILE,
    DataFile,
    DataFiles,
    DataFolder,
    described_in,
)
from rebalance_audit.lake.storage.local_rows import local_rows
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.stage import GivenRows, Staged
from rebalance_audit.lake.storage.table_writer import Outrun, TableChange
from rebalance_audit.shown_settings import without_credentials
from rebalance_audit.tables.arrow_types import ddl_of_columns, padded, schema_of_columns
from rebalance_audit.tables.schemas import TableName, table_schemas
from rebalance_audit.wire.segments.folder import SourceNotReadable

DIFFERS: Final = "differs_between_sources"
LOST: Final = "lost_before_read"
COMPARED: Final = ("timestamp", "key", "value")
"""What two sources must agree on; other fields of a record are missing in some sources."""
MISSING: Final = "missing"
EQUAL: Final = "equal"
DIFFERENT: Final = "different"
_SCHEMA: Final = table_schemas()[TableName.RECORDS]
WRITTEN: Final[Mapping[str, str]] = {
    **FILE,
    "partition": "int",
    "offset": "bigint",
    DAMAGE: OF_SEGMENTS[DAMAGE],
}
"""What leaves a task: a row for its file, and one for each damaged stretch."""


class TakenSource(NamedTuple):
    """What a source gave."""

    records: DataFiles
    """Rows of bronze.records."""
    staged: Staged
    """Rows that have DAMAGE for each stretch that could not be read."""
    damaged: int
    """How many stretches that are."""


@dataclass(slots=True)
class Ingested:
    """What an ingest did, or one append of it."""

    records: int = 0
    """Rows that are new in bronze."""
    known: int = 0
    """Records that bronze already had with equal bytes, among those that were compared."""
    known_to: dict[int, int] = field(default_factory=dict)
    """Partition -> offset after the last record that bronze already had."""
    differing: int = 0
    """Records that bronze has with other bytes, from another source; these are in quarantine."""
    damaged_stretches: int = 0
    """Parts of segment files with an unknown number of records, new or not."""
    lost_stretches: int = 0
    """Parts of the log that the cluster deleted before they were read, or where bronze has lost rows for good."""
    quarantine_rows: int = 0
    """Rows that are new in quarantine, of all three kinds."""
    late: dict[int, int] = field(default_factory=dict)
    """Partition -> lowest offset among the new rows that come before rows that bronze had."""
    open_transactions: Mapping[int, int] = field(default_factory=dict)
    """Partition -> first offset of an open transaction, as a live cluster reports it."""
    added_partitions: Collection[int] = ()
    """Log partitions that a live cluster has more of than at the last ingest."""
    newest_record_at: datetime | None = None
    """Time of the newest record that bronze has of the cluster afterwards; None if it has none."""

    def add(self, other: "Ingested") -> None:
        """Add the counts of another append."""
        self.records += other.records
        self.known += other.known
        self.differing += other.differing
        self.quarantine_rows += other.quarantine_rows
        self.known_to |= other.known_to
        for partition, offset in other.late.items():
            self.late[partition] = min(offset, self.late.get(partition, offset))


class Bronze:
    """bronze.records of one cluster, as one ingest appends to it."""

    def __init__(self, sink: Sink, ledger: Ledger, run_id: str, ingested_at: datetime) -> None:
        """`ledger` is kept up to date with every append."""
        self.ledger = ledger
        self.sink = sink
        self._lake = sink.lake
        self._run_id = run_id
        self._ingested_at = ingested_at
        self._commits = 0

    def take(self, rows: DataFrame | Splits[Any], spec: str) -> TakenSource:
        """Write what a source gives, in one reading: rows with the columns of RECORD, and perhaps of DAMAGE.

        They are in data files, see `Sink.data_folder`, which no commit names yet.
        """
        constants = {
            "cluster": self.ledger.cluster,
            "source": without_credentials(spec),
            "ingested_at": self._ingested_at,
        }
        files, left = self._to_files(rows, constants)
        return TakenSource(files, left, left.count() - len(files.described))

    def append(self, given: DataFiles, spec: str, begins: Mapping[int, int] | None) -> Ingested:
        """Add the records that bronze does not have.

        `given` are the records of a source, no offset twice. `begins` has for each partition an offset before which
        they have no record, None if that is not known. Raises SourceNotReadable for another log, before anything is
        committed, and LakeNotWritable if another process has appended for the same cluster.
        """
        self.ledger.catch_up()
        ends = self.ledger.next_offsets()
        if not ends:
            return Ingested(self._commit(given))
        if begins is None:
            found = given.frame.groupBy("partition").agg(F.min("offset").alias("first")).collect()
            begins = {row["partition"]: row["first"] for row in found}
        overlapping = {
            number: begin for number, begin in begins.items() if begin < ends.get(number, 0)
        }
        if not overlapping:
            return Ingested(self._commit(given))
        known = F.col("offset") < offset_of(ends)
        try:
            # Everything is compared before anything is committed: another log must leave no trace.
            done = self._append_between(given.frame.where(known), spec, overlapping, ends)
            done.records += self._commit(self._to_files(given.frame.where(~known))[0])
        finally:
            given.discard()
        return done

    def note_lost(
        self,
        spec: str,
        stretches: Mapping[int, tuple[int, int]],
        why: str = "they were deleted before they were read",
    ) -> int:
        """Put lost stretches into quarantine: partition -> (first offset lost, offset of the next record that exists).

        The audit treats each as a gap in every group of the partition. Returns how many are new.
        """
        if not stretches:
            return 0
        rows = [
            (
                number,
                first,
                LOST,
                f"Records of partition {number} from offset {first} to {after - 1} are gone: {why}.",
                spec,
                after,
            )
            for number, (first, after) in stretches.items()
        ]
        texts = dict.fromkeys(("reason", "detail", "source_file"), "string")
        columns = {"partition": "int", "offset": "bigint", **texts, "before_offset": "bigint"}
        frame = local_rows(self._lake.spark, columns, rows)
        return self.sink.insert_new(TableName.QUARANTINE, as_quarantine(frame)).rows

    def note_own_losses(self, spec: str) -> int:
        """Put stretches into quarantine where bronze has lost rows for good; returns how many there are."""
        gone = self.ledger.still_lost()
        self.note_lost(
            spec, gone, "bronze has lost some or all of them, and the source no longer has them"
        )
        self.ledger.lost.clear()
        return len(gone)

    def _append_between(
        self, rows: DataFrame, spec: str, begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> Ingested:
        """Add what is missing before the ends; what differs goes to quarantine."""
        compared = self._compared(rows, begins, ends)
        done = _judged(compared, spec)
        if done.differing:
            done.quarantine_rows = self._quarantine(
                compared.where(F.col("kind") == DIFFERENT), spec
            )
        if done.late:
            missing = compared.where(F.col("kind") == MISSING).withColumn(
                "source", F.lit(without_credentials(spec))
            )
            done.records = self._commit(self._to_files(missing)[0])
        return done

    def _compared(
        self, rows: DataFrame, begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> DataFrame:
        """The rows with `kind`, one of MISSING, EQUAL and DIFFERENT, and the `source` of bronze's row."""
        mine = (
            self._lake.read(TableName.RECORDS)
            .where(F.col("cluster") == self.ledger.cluster)
            .where(F.col("partition").isin(list(begins)))
            # The literal lets Delta skip files of other offsets.
            .where(F.col("offset") >= min(begins.values()))
            .where(F.col("offset") >= offset_of(begins))
            .where(F.col("offset") < offset_of(ends))
            .select("partition", "offset", _fingerprint().alias("mine"), "source")
        )
        theirs = rows.drop("source").withColumn("theirs", _fingerprint())
        kind = (
            F.when(F.col("mine").isNull(), MISSING)
            .when(F.col("mine") == F.col("theirs"), EQUAL)
            .otherwise(DIFFERENT)
        )
        joined = theirs.join(mine, ["partition", "offset"], "left")
        return joined.withColumn("kind", kind).drop("mine", "theirs")

    def _quarantine(self, rows: DataFrame, spec: str) -> int:
        detail = F.format_string(
            "The record at offset %d of partition %d differs between %s and %s.",
            "offset",
            "partition",
            F.lit(without_credentials(spec)),
            "source",
        )
        found = rows.select(
            "partition",
            "offset",
            *COMPARED,
            F.lit(DIFFERS).alias("reason"),
            detail.alias("detail"),
            F.lit(without_credentials(spec)).alias("source_file"),
            F.lit(None).cast("bigint").alias("before_offset"),
        )
        return self.sink.insert_new(TableName.QUARANTINE, as_quarantine(found)).rows

    def _to_files(
        self, rows: DataFrame | Splits[Any], constants: Mapping[str, Any] = MappingProxyType({})
    ) -> tuple[DataFiles, Staged]:
        """The rows in data files, and what the tasks report, see WRITTEN; `constants` are columns that they lack."""
        folder = self.sink.data_folder(TableName.RECORDS)
        write = partial(write_records, folder=folder, constants=constants)
        left = self._lake.stage.put(through(rows, write, ddl_of_columns(WRITTEN)), WRITTEN)
        return DataFiles(self._lake.spark, folder, described_in(left)), left

    def _commit(self, rows: DataFiles) -> int:
        """Append records that bronze does not have; returns how many.

        Each append is a transaction of the cluster, numbered by the version of bronze that the ledger knows: if another
        process has appended since, it is refused.
        """
        if not rows.count():
            return 0
        self._commits += 1
        metadata = f"{self._run_id}/{self._commits}"

        def checked() -> tuple[GivenRows, TableChange]:
            self.ledger.catch_up()
            if self.ledger.next_offsets() != known:
                raise LakeNotWritable(_elsewhere(self.ledger.cluster))
            return rows, TableChange(metadata, self.ledger.cluster, self.ledger.bronze_version)

        known = self.ledger.next_offsets()
        try:
            self.sink.append_by(TableName.RECORDS, checked)
        except Outrun:
            raise LakeNotWritable(_elsewhere(self.ledger.cluster)) from None
        self.ledger.add(rows)
        return rows.count()


def _judged(compared: DataFrame, spec: str) -> Ingested:
    """Count what a comparison found. Raises SourceNotReadable for another log.

    Two copies of one log may differ in a record whose bytes are damaged. Logs that differ at the last offset that both
    have of a partition are two logs: what follows there belongs to only one of them.
    """
    both = F.col("kind") != MISSING
    found = compared.groupBy("partition").agg(
        F.count_if(F.col("kind") == EQUAL).alias("equal"),
        F.count_if(F.col("kind") == DIFFERENT).alias("different"),
        F.min(F.when(~both, F.col("offset"))).alias("late"),
        F.max(F.when(both, F.struct("offset", "kind", "source"))).alias("last"),
        F.min(F.when(F.col("kind") == DIFFERENT, F.col("offset"))).alias("differs_from"),
    )
    done = Ingested()
    for row in found.collect():
        if row["last"] is not None and row["last"]["kind"] == DIFFERENT:
            raise SourceNotReadable(
                f"{spec} holds another log than the lake: the last record that both have of partition"
                f" {row['partition']}, at offset {row['last']['offset']}, differs from that of"
                f" {row['last']['source']} (first difference at offset {row['differs_from']}): give it another cluster"
                " name."
            )
        done.known += row["equal"]
        done.differing += row["different"]
        if row["last"] is not None:
            done.known_to[row["partition"]] = row["last"]["offset"] + 1
        if row["late"] is not None:
            done.late[row["partition"]] = row["late"]
    return done


def _fingerprint() -> Column:
    """A hash of what must agree; null differs from empty."""
    present = [F.col(name).isNotNull() for name in COMPARED]
    return F.struct(F.xxhash64(*COMPARED, *present), F.hash(*COMPARED, *present))


def as_quarantine(rows: DataFrame) -> DataFrame:
    """Rows of silver.quarantine without the cluster; columns that they lack are null."""
    absent = {"timestamp": "timestamp", "key": "binary", "value": "binary", "raw": "binary"}
    absent |= {"record_type": "int", "value_version": "int", "byte_position": "bigint"}
    missing = {name: kind for name, kind in absent.items() if name not in rows.columns}
    return rows.withColumns({name: F.lit(None).cast(kind) for name, kind in missing.items()})


def _elsewhere(cluster: str) -> str:
    return (
        f"Another ingest of cluster {cluster} wrote to bronze at the same time. This one wrote nothing: run it"
        " again."
    )


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
