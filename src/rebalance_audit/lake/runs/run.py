"""A run: from a source, or from what bronze has, to the tables of a lake; and an ingest that is a run of its own.

With all layers the source goes into bronze, which keeps what Kafka's compaction later removes from the source. Silver
and gold are made from what is new in bronze, or from all of it if that is asked for or needed. With gold alone the
source is read once and only gold is written. Every table is written by one commit; the order of the commits is silver
and gold, snapshots, topics, progress, the run log.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.findings.kinds import SourcesDiffer
from rebalance_audit.errors import BadRequest, two_partition_counts
from rebalance_audit.lake.bronze.end_offsets import keep_samples
from rebalance_audit.lake.bronze.ingest import INGEST_TABLES, accept_losses, ingest
from rebalance_audit.lake.bronze.kafka_stream import Duration
from rebalance_audit.lake.bronze.ledger import require_whole
from rebalance_audit.lake.bronze.record_table import DIFFERS, Ingested
from rebalance_audit.lake.gold.broker_logs import unmatched_notes
from rebalance_audit.lake.gold.log_findings import source_findings
from rebalance_audit.lake.runs.context import RunContext, RunReport
from rebalance_audit.lake.runs.error_translation import ErrorTranslation
from rebalance_audit.lake.runs.increment import ChangesGone, increment_plan
from rebalance_audit.lake.runs.plan import Plan, account, replay
from rebalance_audit.lake.runs.progress import Progress, RunLog, changes_by_others, progress_of
from rebalance_audit.lake.runs.rebuild import rebuild_plan
from rebalance_audit.lake.runs.request import RunRequest, check_request
from rebalance_audit.lake.runs.writer import Writer
from rebalance_audit.lake.session.spark_session import small_queries
from rebalance_audit.lake.sources.delta_source import DeltaSource
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.storage.lock import sole_run
from rebalance_audit.lake.storage.table_log import commit_metadata, first_line, new_run_id
from rebalance_audit.lake.storage.table_place import LakeOptions
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.moments import utc_datetime
from rebalance_audit.steps import OnProgress, no_progress
from rebalance_audit.tables.schemas import GOLD_TABLES, TableName

META_TABLES: Final = (TableName.RUNS, TableName.PROGRESS)
LAYER_TABLES: Final = (
    TableName.RECORDS,
    TableName.OFFSET_COMMITS,
    TableName.GROUP_RECORDS,
    TableName.SNAPSHOTS,
)


def run_audit(
    spark: SparkSession, request: RunRequest, on_progress: OnProgress = no_progress
) -> RunReport:
    """Run, and leave a row in meta.runs.

    Raises BadRequest, SourceNotReadable, LakeNotReadable, LakeNotWritable and LakeBusy, each with one sentence.
    """
    check_request(request)
    _check_regex(spark, request.groups_regex)
    context = RunContext(spark, request, on_progress)
    errors = ErrorTranslation(spark, request.lake, request.source)
    with (
        errors.translated(),
        sole_run(request.lake, request.cluster, context.run_id),
        commit_metadata(spark, context.run_id),
        context.lake.staging(context.run_id),
    ):
        return _execute(context, errors)


def _execute(context: RunContext, errors: ErrorTranslation) -> RunReport:
    """All steps, in order; the first commit and the last one write the run log."""
    request = context.request
    tables = [*META_TABLES, *GOLD_TABLES, TableName.QUARANTINE]
    with context.step("creating tables"), small_queries(context.spark):
        context.lake.create([TableName.RUNS])
        context.lake.create([*tables, *_layers(context)])
        context.log.start()
    with context.log.noting_failure(), errors.translated():
        while not _attempt(context, errors):
            context.retry()
        _finish(context)
    if request.explain:
        context.explain()
    return context.report


def _layers(context: RunContext) -> Collection[str]:
    return LAYER_TABLES if context.request.with_silver else ()


def _attempt(context: RunContext, errors: ErrorTranslation) -> bool:
    """Do the work; False if it must be repeated, because something was lost that can be rebuilt."""
    try:
        _work(context)
    except Exception as error:
        # Of whatever class: errors of writing tasks have none in pyspark.
        if not _forgot_unreadable_file(context, errors, error):
            raise
        return False
    return True


def _forgot_unreadable_file(
    context: RunContext, errors: ErrorTranslation, error: Exception
) -> bool:
    """Drop a file that cannot be read from its table, if a full run rebuilds all rows; whether that was done."""
    unreadable = errors.unreadable_file(error)
    if unreadable is None or not context.request.full or unreadable[0] == TableName.RECORDS:
        return False
    name, file = unreadable
    context.add_warning(f"The file {file} of {name} is gone or damaged; the table is made again.")
    context.lake.drop_unreadable_files(name, context.run_id, context.request.cluster)
    return True


def _work(context: RunContext) -> None:
    context.sink.begin([*GOLD_TABLES, TableName.QUARANTINE, TableName.PROGRESS, *_layers(context)])
    if not context.request.with_silver:
        with rebuild_plan(context, None) as plan:
            _carry_out(context, plan)
        return
    reached, changed = _left_by_last_run(context)
    # If quarantine was empty, only this ingest can have found differing sources.
    was_empty = context.sink.is_empty(TableName.QUARANTINE)
    differing = _ingest(context, read_again=TableName.QUARANTINE in changed)
    samples = context.request.end_offsets
    if samples is not None:
        with context.step("keeping samples of end offsets"):
            added = keep_samples(context.sink, samples, "end_offsets", context.started_at)
        context.report.rows[TableName.END_OFFSETS] += added
    if differing or not was_empty:
        _write_source_findings(context)
    _replay(context, None if changed or context.request.full else reached)


def _write_source_findings(context: RunContext) -> None:
    """Write findings of all records in which a source has differed from bronze, whichever ingest read it."""
    sink = context.sink
    if sink.is_empty(TableName.QUARANTINE):
        return
    differing = sink.for_cluster(TableName.QUARANTINE).where(F.col("reason") == DIFFERS)
    if differing.isEmpty():
        return
    keep, bronze = context.lake.stage.keep, sink.for_cluster(TableName.RECORDS)
    rows = source_findings(keep, differing, bronze)
    context.replace(TableName.FINDINGS, rows, F.col("kind") == SourcesDiffer.kind)


def _left_by_last_run(context: RunContext) -> tuple[Progress | None, Collection[str]]:
    """The progress to resume from, None if there is none; and the tables that others have changed since."""
    request = context.request
    if not request.covers_everything:
        return None, ()
    with small_queries(context.spark):
        reached = progress_of(context.lake, request.cluster, context.rules, context.run_number)
    if reached is None:
        return None, ()
    if context.log.retries:  # some of the work may be done already
        reached = replace(reached, is_clean=False)
    changed = changes_by_others(context.lake, reached)
    for name, what in changed.items():
        context.add_warning(f"{name} {what}; everything is made again.")
    return reached, changed


def _ingest(context: RunContext, *, read_again: bool) -> int:
    """Append to bronze what is new in the source; `read_again` for what silver.quarantine has of the source alone.

    Returns how many records bronze has with other bytes.
    """
    source, report = context.request.source, context.report
    bronze = context.lake.table_path(TableName.RECORDS)
    if source is None or (isinstance(source, DeltaSource) and source.is_at(bronze)):
        if context.request.full:
            accept_losses(context.sink, context.run_id, context.started_at)
        else:
            require_whole(context.lake, context.request.cluster)
        return 0
    with context.step("reading the source into bronze"):
        ingested = ingest(
            source,
            context.lake,
            context.request.cluster,
            context.run_id,
            context.started_at,
            read_again=read_again,
            on_progress=context.on_progress,
        )
    report.rows[TableName.RECORDS] += ingested.records
    report.rows[TableName.QUARANTINE] += ingested.quarantine_rows
    report.counts.damaged_stretches = ingested.damaged_stretches
    if ingested.added_partitions:
        context.add_warning(two_partition_counts(ingested.added_partitions))
    return ingested.differing


def _replay(context: RunContext, reached: Progress | None) -> None:
    """Make everything else from bronze: from what is new in it, if an earlier run left progress."""
    version = context.lake.version(TableName.RECORDS)
    assert version is not None  # created with the run
    if reached is not None and version >= reached.bronze_version:
        try:
            with increment_plan(context, reached, version) as plan:
                _carry_out(context, plan)
        except ChangesGone:
            context.on_progress("what is new is no longer known; replaying everything")
        else:
            return
    context.lake.keep_changes(TableName.RECORDS)
    with rebuild_plan(context, context.lake.version(TableName.RECORDS)) as plan:
        _carry_out(context, plan)


def _carry_out(context: RunContext, plan: Plan) -> None:
    """Replay a plan, account for its records, and write the results."""
    context.report.newest_record_ms = plan.known.last_ms
    with context.step("replaying groups"):
        replayed = replay(context, plan)
    with small_queries(context.spark, when=replayed.plan.is_small):
        account(context, replayed)
        with context.step("writing tables"):
            Writer(context, replayed).write()


def _finish(context: RunContext) -> None:
    if context.request.broker_log is not None:
        context.report.notes += context.broker_logs.notes
        states = context.sink.for_cluster(TableName.GROUP_STATES)
        context.report.notes += unmatched_notes(context.request.broker_log, states)
    tables = sorted({*GOLD_TABLES, TableName.QUARANTINE, *_layers(context)} - {TableName.SNAPSHOTS})
    context.report.versions = context.lake.versions(tables)
    with small_queries(context.spark):
        context.log.end(context.report.columns())


def _check_regex(spark: SparkSession, regex: str | None) -> None:
    """Raises BadRequest if Java, which will do the matching, rejects the expression."""
    if regex is None:
        return
    try:
        spark.range(1).select(F.lit("").rlike(regex)).collect()
    except PySparkException as error:
        why = error.getMessageParameters() or {}
        raise BadRequest(
            f"{regex!r} is no regular expression: {why.get('pattern') or first_line(error)}."
        ) from None


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
    run_id = new_run_id(started_at)
    entry = {
        "started_at": started_at,
        "command": COMMAND,
        "source": request.source.spec,
        "config": request.config,
        "from_at": utc_datetime(request.from_ms),
        "full": False,
    }
    errors = ErrorTranslation(spark, request.lake, request.source)
    with errors.translated(), commit_metadata(spark, run_id):
        lake = Lake(spark, request.lake, request.options)
        on_progress("creating tables")
        lake.create([TableName.RUNS, *INGEST_TABLES])
        log = RunLog(lake, request.cluster, run_id, entry)
        log.start(is_numbered=False)
        with log.noting_failure(), errors.translated():
            ingested = ingest(
                request.source,
                lake,
                request.cluster,
                run_id,
                started_at,
                from_ms=request.from_ms,
                duration=request.duration,
                on_progress=on_progress,
            )
        report = IngestReport(run_id, ingested, lake.versions(INGEST_TABLES))
        log.end(report.columns())
        return report
