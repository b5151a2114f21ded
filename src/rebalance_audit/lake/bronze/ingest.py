"""From a source into bronze: the records that bronze lacks, and damaged stretches into quarantine."""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.bronze.kafka_stream import Duration, EndOffsetSampler, KafkaStream
from rebalance_audit.lake.bronze.ledger import Ledger, PartitionInBronze
from rebalance_audit.lake.bronze.record_table import Bronze, Ingested, as_quarantine
from rebalance_audit.lake.records.record_columns import DAMAGE
from rebalance_audit.lake.records.routing import offset_of
from rebalance_audit.lake.session.spark_session import FEW_BYTES, small_queries
from rebalance_audit.lake.sources.kafka_source import KafkaSource
from rebalance_audit.lake.sources.segments_source import SegmentsSource
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.storage.lock import sole_ingest
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.steps import OnProgress, no_progress
from rebalance_audit.tables.schemas import TableName

if TYPE_CHECKING:
    from rebalance_audit.lake.session.splits import Splits

INGEST_TABLES: Final = (
    TableName.RECORDS,
    TableName.QUARANTINE,
    TableName.INGESTED,
)


def ingest(
    source: Source,
    lake: Lake,
    cluster: str,
    run_id: str,
    started_at: datetime,
    *,
    from_ms: int | None = None,
    duration: Duration | None = None,
    read_again: bool = False,
    on_progress: OnProgress = no_progress,
) -> Ingested:
    """Append what is new to bronze, and keep meta.ingested. `read_again` reads also files that bronze has already.

    `from_ms` (epoch milliseconds) leaves out what comes before each partition's first record of that time or later; of
    a live cluster it says where the first ingest begins. Raises BadRequest, SourceNotReadable, LakeBusy and
    LakeNotWritable.
    """
    with sole_ingest(lake.path, cluster, run_id), lake.staging(run_id):
        lake.create(INGEST_TABLES)
        ledger = Ledger(lake, cluster)
        if read_again:
            ledger.forget_files()
        sink = Sink(lake, cluster, run_id)
        bronze = Bronze(sink, ledger, run_id, started_at)

        def save() -> None:
            # What was lost and is not read again yet, the next ingest must notice too.
            if ledger.is_unsaved and not ledger.lost:
                ledger.save(source.spec, run_id, started_at)

        if isinstance(source, KafkaSource):
            sampler = EndOffsetSampler(source, sink, ledger, on_progress)
            stream = KafkaStream(source, bronze, duration or Duration(), sampler.sample_when_due)
            ingested = stream.run(on_progress, save)
            # Newer than every record that was read.
            sampler.sample()
        elif isinstance(source, SegmentsSource) and from_ms is None:
            ingested = _ingest_files(source, bronze)
        else:
            ingested = _ingest_rows(source, bronze, from_ms)
        if not isinstance(source, KafkaSource) and from_ms is None:
            ingested.lost_stretches = bronze.note_own_losses(source.spec)
            ingested.quarantine_rows += ingested.lost_stretches
        save()
        ingested.newest_record_at = ledger.newest_record_at
        return ingested


def accept_losses(sink: Sink, run_id: str, at: datetime) -> None:
    """Go on with what bronze has, if it has lost rows that no source gives again."""
    if sink.lake.version(TableName.INGESTED) is None:
        return
    ledger = Ledger(sink.lake, sink.cluster)
    spec = sink.lake.table_path(TableName.RECORDS)
    if Bronze(sink, ledger, run_id, at).note_own_losses(spec):
        ledger.save(spec, run_id, at)


def damaged_stretches(rows: DataFrame) -> DataFrame:
    """Rows of silver.quarantine (without the cluster) for the damaged stretches in a source's rows."""
    damaged = rows.where(F.col(DAMAGE).isNotNull())
    return as_quarantine(damaged.select("partition", "offset", f"{DAMAGE}.*"))


def _ingest_files(source: SegmentsSource, bronze: Bronze) -> Ingested:
    """Read only those files of a folder that are new or have changed since bronze took them in."""
    ledger, files = bronze.ledger, source.files()
    known = ledger.files()
    if all(marks <= known.get(number, frozenset()) for number, marks in files.items()):
        return Ingested()
    new = (mark for number, marks in files.items() for mark in marks - known.get(number, set()))
    is_small = sum(mark.size_bytes for mark in new) <= FEW_BYTES
    with small_queries(ledger.lake.spark, when=is_small):
        unread = source.without(known)
        ingested = _ingest_rows(unread, bronze, None)
    for number in files.keys() & ledger.partitions.keys():
        ledger.note(number, files=files[number])
    return ingested


def _ingest_rows(source: Source, bronze: Bronze, from_ms: int | None) -> Ingested:
    ledger, spark = bronze.ledger, bronze.ledger.lake.spark
    before = dict(ledger.partitions)
    given: DataFrame | Splits[Any]
    if from_ms is None:
        given, begins = source.log(spark, ledger.cluster), source.first_offsets()
    else:
        records = source.records(spark, ledger.cluster)
        begins = _begins_at(_records(records), from_ms)
        given = _from(records, begins)
    with ledger.lake.stage.passing():
        taken = bronze.take(given, source.spec)
        done = bronze.append(taken.records, source.spec, begins)
        if source.shows_markers:
            ledger.note_compacted(before, _shown(ledger, before, begins or {}, done))
        if taken.damaged:
            damaged = damaged_stretches(taken.staged.frame)
            done.damaged_stretches = taken.damaged
            done.quarantine_rows += bronze.sink.insert_new(TableName.QUARANTINE, damaged).rows
        return done


def _shown(
    ledger: Ledger,
    before: Mapping[int, PartitionInBronze],
    begins: Mapping[int, int],
    done: Ingested,
) -> dict[int, tuple[int, int]]:
    """Partition -> from which offset to which one a source has every record, files that are known included."""
    ends = ledger.next_offsets()
    grown = {
        number
        for number, end in ends.items()
        if number not in before or before[number].next_offset != end
    }
    return {
        number: (begin, ends[number] if number in grown else done.known_to.get(number, 0))
        for number, begin in begins.items()
        if number in ends
    }


def _begins_at(records: DataFrame, from_ms: int) -> dict[int, int]:
    """Partition -> offset of its first record of that time or later, as a live cluster would answer."""
    later = records.where(F.col("timestamp") >= F.timestamp_millis(F.lit(from_ms)))
    found = later.groupBy("partition").agg(F.min("offset").alias("first")).collect()
    return {row["partition"]: row["first"] for row in found}


def _records(rows: DataFrame) -> DataFrame:
    """Rows that are records of the log, not damage."""
    return rows.where(F.col(DAMAGE).isNull()) if DAMAGE in rows.columns else rows


def _from(rows: DataFrame, begins: Mapping[int, int]) -> DataFrame:
    """The records from those offsets on, and all damage."""
    is_later = F.col("partition").isin(list(begins)) & (F.col("offset") >= offset_of(begins))
    if DAMAGE in rows.columns:
        is_later |= F.col(DAMAGE).isNotNull()
    return rows.where(is_later)
