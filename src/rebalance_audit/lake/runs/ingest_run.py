"""An ingest that is a run of its own: its row in meta.runs, the ingest, and one sentence if it fails."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import SparkSession

from rebalance_audit.errors import BadRequest
from rebalance_audit.lake.bronze.ingest import INGEST_TABLES, Ingested, ingest
from rebalance_audit.lake.bronze.kafka_stream import Duration
from rebalance_audit.lake.runs.error_translation import ErrorTranslation
from rebalance_audit.lake.runs.progress import RunEntry, RunLog
from rebalance_audit.lake.runs.request import RunRequest, check_request
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.storage.table_log import commit_metadata, new_run_id
from rebalance_audit.lake.storage.table_place import LakeOptions
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.steps import OnProgress, no_progress
from rebalance_audit.tables.schemas import TableName

COMMAND: Final = "ingest"


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """One ingest."""

    source: Source
    lake: str
    cluster: str
    from_ms: int | None = None
    """Only records from each partition's first one of this time or later on, epoch milliseconds."""
    duration: Duration = field(default_factory=Duration)
    config: str | None = None
    """The effective configuration, for the run log."""
    options: LakeOptions = field(default_factory=LakeOptions)

    def check(self) -> None:
        """Raises BadRequest, SourceNotReadable or LakeNotWritable for what is wrong before Spark starts."""
        if self.duration.follow and not self.source.can_be_followed:
            raise BadRequest(f"{self.source.spec} cannot be followed: only a live cluster can.")
        if self.duration.stop_after_s is not None and not self.duration.follow:
            raise BadRequest("--stop-after needs --follow.")
        check_request(RunRequest(self.source, self.lake, self.cluster))


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did."""

    run_id: str
    ingested: Ingested
    versions: Mapping[str, int]
    """Full table name -> its Delta version at the end of the ingest."""

    def columns(self) -> dict[str, Any]:
        """What meta.runs says of it."""
        return {
            "rows_written": {
                TableName.RECORDS: self.ingested.records,
                TableName.QUARANTINE: self.ingested.quarantine_rows,
            },
            "batches_quarantined": self.ingested.damaged_stretches,
            "newest_record_at": self.ingested.newest_record_at,
            "table_versions": dict(self.versions),
        }


def run_ingest(
    spark: SparkSession, request: IngestRequest, on_progress: OnProgress = no_progress
) -> IngestReport:
    """Ingest, and leave a row in meta.runs.

    Raises BadRequest, SourceNotReadable, LakeNotReadable, LakeNotWritable and LakeBusy, each with one sentence.
    """
    request.check()
    started_at = datetime.now(UTC)
    entry = RunEntry(
        new_run_id(started_at),
        started_at,
        request.cluster,
        COMMAND,
        request.source.spec,
        request.config,
        request.from_ms,
    )
    errors = ErrorTranslation(spark, request.lake, request.source)
    with errors.translated(), commit_metadata(spark, entry.run_id):
        lake = Lake(spark, request.lake, request.options)
        on_progress("creating tables")
        lake.create([TableName.RUNS, *INGEST_TABLES])
        log = RunLog(lake, entry)
        log.start(is_numbered=False)
        with log.noting_failure(), errors.translated():
            ingested = ingest(
                request.source,
                lake,
                request.cluster,
                entry.run_id,
                started_at,
                from_ms=request.from_ms,
                duration=request.duration,
                on_progress=on_progress,
            )
        versions = {name: lake.version(name) for name in INGEST_TABLES}
        present = {name: at for name, at in versions.items() if at is not None}
        report = IngestReport(entry.run_id, ingested, present)
        log.end(report.columns())
        return report
