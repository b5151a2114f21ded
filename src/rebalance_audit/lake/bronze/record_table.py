"""Appends to bronze each record that it lacks, once, whichever sources a cluster's log comes from.

A record is identified by cluster, partition and offset. After the last offset of a partition everything is new; only
before it the rows of a source are compared with those of bronze. What bronze has stays as it is.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import LakeNotWritable
from rebalance_audit.lake.bronze.ledger import Ledger, PartitionInBronze
from rebalance_audit.lake.records.record_columns import DAMAGE, RECORD
from rebalance_audit.lake.sources.segments_source import SegmentsSource
from rebalance_audit.lake.storage.data_files import FILE_DDL
from rebalance_audit.lake.storage.local_rows import local_rows
from rebalance_audit.lake.storage.run_ids import appends_of
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.tables.schemas import TableName
from rebalance_audit.wire.segments.folder import SourceNotReadable

DIFFERS: Final = "differs_between_sources"
LOST: Final = "lost_before_read"
COMPARED: Final = ("timestamp", "key", "value")
"""What two sources must agree on; other fields of a record are missing in some sources."""
MISSING: Final = "missing"
EQUAL: Final = "equal"
DIFFERENT: Final = "different"


@dataclass(slots=True)
class Appended:
    """What one source gave."""

    records: int = 0
    """Rows that are new in bronze."""
    late: dict[int, int] = field(default_factory=dict)
    """Partition -> lowest offset among the new rows that come before rows that were there."""
    known: int = 0
    """Records that bronze already had, with equal bytes."""
    known_to: dict[int, int] = field(default_factory=dict)
    """Partition -> offset after the last record that bronze already had."""
    differing: int = 0
    """Records that bronze has with other bytes; these are in quarantine."""
    quarantined: int = 0
    """Rows that are new in quarantine."""
    went_through: bool = False
    """Whether all rows were read, in order to be written."""
    damaged: int | None = None
    """How many damaged stretches were met on the way; None if nobody counted."""

    def add(self, other: "Appended") -> None:
        """Add the counts of another append."""
        self.records += other.records
        self.known += other.known
        self.differing += other.differing
        self.quarantined += other.quarantined
        self.known_to |= other.known_to
        for partition, offset in other.late.items():
            self.late[partition] = min(offset, self.late.get(partition, offset))


class Bronze:
    """bronze.records of one cluster, as one ingest appends to it."""

    def __init__(self, sink: Sink, ledger: Ledger, run_id: str, ingested_at: datetime) -> None:
        """`ledger` is kept up to date with every append."""
        self.ledger = ledger
        self._sink = sink
        self._lake = sink.lake
        self._run_id = run_id
        self._ingested_at = ingested_at
        self._commits = 0

    def append(
        self,
        rows: DataFrame,
        spec: str,
        begins: Mapping[int, int] | None,
        *,
        to_look_at: DataFrame | None = None,
        is_empty: bool | None = None,
        pieces: SegmentsSource | None = None,
    ) -> Appended:
        """Add the records that bronze does not have.

        `rows` have the columns of RECORD and no offset twice; they may be computed three times. The last time writes
        them; for the others `to_look_at`, the same rows, is used if it is given. `begins` has for each partition an
        offset before which `rows` have no record, None if that is not known; so does `is_empty`. `pieces` is their
        source, if tasks may read it themselves and write what is new. Raises SourceNotReadable for another log, before
        anything is written, and LakeNotWritable if another process has appended for the same cluster.
        """
        self.ledger.catch_up()
        ends = self.ledger.next_offsets()
        if not ends:
            stored = self._stored(pieces, spec, ends)
            return stored or Appended(self._write(rows, spec), went_through=True)
        looked_at = rows if to_look_at is None else to_look_at
        if begins is None:
            found = looked_at.groupBy("partition").agg(F.min("offset").alias("first")).collect()
            begins = {row["partition"]: row["first"] for row in found}
        overlapping = {
            number: begin for number, begin in begins.items() if begin < ends.get(number, 0)
        }
        done = Appended()
        if overlapping:
            known = F.col("offset") < offset_of(ends)
            # Everything is compared before anything is written: another log must leave no trace.
            done = self._append_between(looked_at.where(known), spec, overlapping, ends)
            rows, looked_at, is_empty = rows.where(~known), looked_at.where(~known), None
        stored = self._stored(pieces, spec, ends)
        if stored is not None:
            done.add(stored)
            done.went_through, done.damaged = True, stored.damaged
            return done
        if looked_at.isEmpty() if is_empty is None else is_empty:
            return done  # a commit without rows would be a new version
        done.records += self._write(rows, spec)
        done.went_through = True
        return done

    def note_lost(self, spec: str, stretches: Mapping[int, tuple[int, int]]) -> int:
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
                f"Offsets {first} to {after - 1} of partition {number} were gone before they were read.",
                spec,
                after,
            )
            for number, (first, after) in stretches.items()
        ]
        texts = dict.fromkeys(("reason", "detail", "source_file"), "string")
        columns = {"partition": "int", "offset": "bigint", **texts, "before_offset": "bigint"}
        frame = local_rows(self._lake.spark, columns, rows)
        return self._sink.insert_new(TableName.QUARANTINE, _as_quarantine(frame)).rows

    def _append_between(
        self, rows: DataFrame, spec: str, begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> Appended:
        """Add what is missing before the ends, and put what differs into quarantine."""
        compared = self._compared(rows, begins, ends)
        done = _judged(compared, spec)
        if done.differing:
            done.quarantined = self._quarantine(compared.where(F.col("kind") == DIFFERENT), spec)
        if done.late:
            missing = compared.where(F.col("kind") == MISSING).select(*RECORD)
            done.records = self._write(missing, spec)
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
        theirs = rows.withColumn("theirs", _fingerprint())
        kind = (
            F.when(F.col("mine").isNull(), MISSING)
            .when(F.col("mine") == F.col("theirs"), EQUAL)
            .otherwise(DIFFERENT)
        )
        joined = theirs.join(mine, ["partition", "offset"], "left")
        return joined.withColumn("kind", kind).drop("mine", "theirs")

    def _quarantine(self, rows: DataFrame, spec: str) -> int:
        detail = F.format_string(
            "Offset %d of partition %d has other bytes in %s than in %s.",
            "offset",
            "partition",
            F.lit(spec),
            "source",
        )
        found = rows.select(
            "partition",
            "offset",
            *COMPARED,
            F.lit(DIFFERS).alias("reason"),
            detail.alias("detail"),
            F.lit(spec).alias("source_file"),
            F.lit(None).cast("bigint").alias("before_offset"),
        )
        return self._sink.insert_new(TableName.QUARANTINE, _as_quarantine(found)).rows

    def _write(self, rows: DataFrame, spec: str) -> int:
        """Append rows that bronze does not have; returns how many.

        Two blind appends never conflict in Delta. So each is a transaction of an application, the cluster, numbered by
        the version of bronze that the ledger knows: if another process has appended since, Delta refuses this one, or
        leaves it out.
        """
        self._commits += 1
        metadata = f"{self._run_id}/{self._commits}"
        shaped = rows.select(
            F.lit(self.ledger.cluster).alias("cluster"),
            *RECORD,
            F.lit(spec).alias("source"),
            F.lit(self._ingested_at).alias("ingested_at"),
        )
        writer = shaped.write.format("delta").mode("append").option("userMetadata", metadata)
        writer = writer.option("txnAppId", appends_of(self.ledger.cluster))
        writer = writer.option("txnVersion", self.ledger.bronze_version + 1)
        with _sole_writer(self.ledger.cluster):
            self._lake.save(TableName.RECORDS, writer)
            try:
                written = self._lake.rows_appended(TableName.RECORDS, metadata)
            except OSError:
                raise LakeNotWritable(_elsewhere(self.ledger.cluster)) from None
        self.ledger.catch_up()
        return written

    def _stored(
        self, pieces: SegmentsSource | None, spec: str, ends: Mapping[int, int]
    ) -> Appended | None:
        """Let tasks read and write what comes after the ends; None, with nothing done, where Spark has to."""
        files = None if pieces is None else self._lake.data_files(TableName.RECORDS)
        if pieces is None or files is None:
            return None
        constants = {
            "cluster": self.ledger.cluster,
            "source": spec,
            "ingested_at": self._ingested_at,
        }

        def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            records = _Records(batches, ends)
            return files.write(records, constants, records.noted)

        self._commits += 1
        told = pieces.made_of_pieces(self._lake.spark, write, FILE_DDL)
        with _sole_writer(self.ledger.cluster):
            done = self._lake.append_files(
                TableName.RECORDS,
                told,
                f"{self._run_id}/{self._commits}",
                numbered=(appends_of(self.ledger.cluster), self.ledger.bronze_version + 1),
            )
        if not done.is_in:
            raise LakeNotWritable(_elsewhere(self.ledger.cluster))
        self.ledger.add_stored(
            (int(number), PartitionInBronze.from_counted(note))
            for task in done.noted
            for number, note in task["parts"].items()
        )
        damaged = sum(task["damaged"] for task in done.noted)
        return Appended(done.rows, went_through=True, damaged=damaged)


class _Records:
    """The new records among batches of records and of damage, each of one partition; what there was of both."""

    def __init__(self, batches: Iterable[pa.RecordBatch], ends: Mapping[int, int]) -> None:
        self._batches = batches
        self._ends = ends
        self._damaged = 0
        self._parts: dict[int, PartitionInBronze] = {}

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            damaged = batch.num_rows - batch[DAMAGE].null_count
            self._damaged += damaged
            records = batch.filter(batch[DAMAGE].is_null()) if damaged else batch
            if not records.num_rows:
                continue
            number = records["partition"][0].as_py()
            if end := self._ends.get(number, 0):
                records = records.filter(pc.greater_equal(records["offset"], end))
            if records.num_rows:
                known = self._parts.get(number, PartitionInBronze())
                self._parts[number] = known.and_also(PartitionInBronze.of(records))
                yield records

    def noted(self) -> dict[str, object]:
        """How many batches were damage, and what the records of each partition are."""
        parts = {number: part.counted() for number, part in self._parts.items()}
        return {"damaged": self._damaged, "parts": parts}


@contextmanager
def _sole_writer(cluster: str) -> Iterator[None]:
    """Raises LakeNotWritable where Delta refuses a second transaction with the same number."""
    try:
        yield
    except Py4JJavaError as error:
        if "ConcurrentTransactionException" not in str(error):
            raise
        raise LakeNotWritable(_elsewhere(cluster)) from None


def offset_of(offsets: Mapping[int, int]) -> Column:
    """The offset for the row's partition, 0 if it has none."""
    if not offsets:
        return F.lit(0).cast("bigint")
    # A map, because an array would have one entry for each number up to the largest.
    by_number = F.create_map(*[F.lit(each) for pair in sorted(offsets.items()) for each in pair])
    found = F.try_element_at(by_number, F.col("partition"))
    return F.coalesce(found, F.lit(0)).cast("bigint")


def _judged(compared: DataFrame, spec: str) -> Appended:
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
    done = Appended()
    for row in found.collect():
        if row["last"] is not None and row["last"]["kind"] == DIFFERENT:
            raise SourceNotReadable(
                f"{spec} holds another log than the lake: at offset {row['last']['offset']} of partition"
                f" {row['partition']}, the last that both have, its bytes are not those of"
                f" {row['last']['source']} (they differ from offset {row['differs_from']} on): give it a cluster name"
                " of its own."
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


def _as_quarantine(rows: DataFrame) -> DataFrame:
    """Rows of silver.quarantine without the cluster; columns that they lack are null."""
    absent = {"timestamp": "timestamp", "key": "binary", "value": "binary", "raw": "binary"}
    absent |= {"record_type": "int", "value_version": "int", "byte_position": "bigint"}
    missing = {name: kind for name, kind in absent.items() if name not in rows.columns}
    return rows.withColumns({name: F.lit(None).cast(kind) for name, kind in missing.items()})


def _elsewhere(cluster: str) -> str:
    return (
        f"Another ingest of cluster {cluster} has written into bronze at the same time; nothing of this one was"
        " written: run it again."
    )
