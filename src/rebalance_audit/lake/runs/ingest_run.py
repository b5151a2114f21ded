"""An ingest by itself: the row of meta.runs, the ingest, and what went wrong in one sentence."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import SparkSession

from rebalance_audit.errors import BadRequest
from rebalance_audit.lake.bronze.ingest import INGEST_TABLES, Ingested, ingest
from rebalance_audit.lake.bronze.kafka_stream import Duration
from rebalance_audit.lake.runs.error_translation import ErrorTranslation
from rebalance_audit.lake.runs.request import RunRequest, check_request
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.storage.commit_retry import with_retries
from rebalance_audit.lake.storage.local_rows import table_rows
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.table_schemas import TableName
from rebalance_audit.version import __version__

COMMAND: Final = "ingest"


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """One ingest."""

    source: Source
    lake: str
    cluster: str
    from_ms: int | None = None
    """Only what is behind each partition's first record of that time."""
    duration: Duration = field(default_factory=Duration)
    config: str | None = None
    """The effective configuration, for the run log."""

    def check(self) -> None:
        """Raises BadRequest, SourceNotReadable or LakeNotWritable."""
        if self.duration.follow and not self.source.can_be_followed:
            raise BadRequest(f"{self.source.spec} cannot be followed: only a live cluster goes on.")
        if self.duration.stop_after_s is not None and not self.duration.follow:
            raise BadRequest("A time to stop after is of use only together with --follow.")
        check_request(RunRequest(self.source, self.lake, self.cluster))


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did."""

    run_id: str
    ingested: Ingested
    versions: Mapping[str, int]
    """Full table name -> Delta version that it left behind."""


def run_ingest(
    spark: SparkSession, request: IngestRequest, tell: Callable[[str], None] = lambda _: None
) -> IngestReport:
    """Ingest, and leave a row in meta.runs.

    Raises BadRequest, SourceNotReadable, LakeNotReadable, LakeNotWritable and LakeBusy, each with one sentence.
    """
    request.check()
    started_at = datetime.now(UTC)
    run_id = f"{started_at:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"
    refusals = ErrorTranslation(spark, request.lake, request.source)
    with refusals.told():
        return _run(Lake(spark, request.lake), request, run_id, started_at, refusals, tell)


def _run(
    lake: Lake,
    request: IngestRequest,
    run_id: str,
    started_at: datetime,
    refusals: ErrorTranslation,
    tell: Callable[[str], None],
) -> IngestReport:
    tell("creating tables")
    lake.create([TableName.RUNS, *INGEST_TABLES])
    row = _Row(lake, request, run_id, started_at)
    row.write(outcome="running")
    try:
        ingested = ingest(
            request.source,
            lake,
            request.cluster,
            run_id,
            started_at,
            from_ms=request.from_ms,
            duration=request.duration,
            tell=tell,
        )
    except Exception as error:
        known = refusals.explain(error)
        row.fail(known or error)
        if known is not None:
            raise known from error
        raise
    versions = {name: lake.version(name) for name in INGEST_TABLES}
    report = IngestReport(
        run_id, ingested, {name: at for name, at in versions.items() if at is not None}
    )
    row.write(outcome="done", report=report)
    return report


class _Row:
    """The row of meta.runs. It has no run number: audits go by what bronze has, not by who wrote it."""

    def __init__(
        self, lake: Lake, request: IngestRequest, run_id: str, started_at: datetime
    ) -> None:
        self._lake = lake
        self._is_there = False
        self._values: dict[str, Any] = {
            "cluster": request.cluster,
            "run_id": run_id,
            "command": COMMAND,
            "source": request.source.spec,
            "full": False,
            "from_at": None
            if request.from_ms is None
            else datetime.fromtimestamp(request.from_ms / 1000, UTC),
            "started_at": started_at,
            "package_version": __version__,
            "spark_version": lake.spark.version,
            "config": request.config,
        }

    def fail(self, error: Exception) -> None:
        """Note why the ingest ended early, if that can still be written; it is `error` that the user is to be told."""
        try:
            self.write(outcome="failed", error=error)
        except Exception as another:  # noqa: BLE001 - what has ended the ingest may keep this from the table too
            error.add_note(f"{TableName.RUNS} could not be told: {another}")

    def write(
        self,
        *,
        outcome: str,
        error: Exception | None = None,
        report: IngestReport | None = None,
    ) -> None:
        """Add the row, or put another in its place."""
        values = self._values | {"outcome": outcome}
        if self._is_there:
            values["ended_at"] = datetime.now(UTC)
        if error is not None:
            values["error"] = str(error).partition("\n")[0] or type(error).__name__
        if report is not None:
            found = report.ingested
            values["rows_written"] = {
                TableName.RECORDS: found.records,
                TableName.QUARANTINE: found.quarantine_rows,
            }
            values["batches_quarantined"] = found.damaged_stretches
            values["table_versions"] = dict(report.versions)
        writer = table_rows(self._lake.spark, TableName.RUNS, [values]).write.format("delta")
        if self._is_there:
            self._lake.overwrite(TableName.RUNS, writer, "run_id", self._values["run_id"])
        else:
            with_retries(lambda: self._lake.save(TableName.RUNS, writer.mode("append")))
        self._is_there = True
