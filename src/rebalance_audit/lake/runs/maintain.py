"""Maintenance of the tables: old rows are deleted on request, files are rewritten, unused files are removed.

None of this changes what the tables say about the time that is kept, or looks like new data to a run: OPTIMIZE is a
commit without rows, and runs do not read deletions.

**bronze.records** is append-only: it may be the only copy of what Kafka has compacted, and must not be deleted by
mistake. Its retention is a compaction like Kafka's own: of the records older than the limit, the newest of each key
stays, unless it is a tombstone. So the groups can still be replayed from what is left, as a broker would load them.
Records that no run has audited yet are not deleted.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from deltalake.exceptions import DeltaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import BadRequest, LakeNotReadable, LakeNotWritable
from rebalance_audit.lake.bronze.ledger import Ledger
from rebalance_audit.lake.session.spark_session import temporary_settings
from rebalance_audit.lake.session.splits import parallel_map, parallelism
from rebalance_audit.lake.storage.lock import sole_ingest, sole_run
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.table_log import commit_metadata, first_line, new_run_id
from rebalance_audit.lake.storage.table_place import APPEND_ONLY, Catalog
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.steps import OnProgress
from rebalance_audit.tables.schemas import TableName, TableSchema, table_schemas
from rebalance_audit.tables.views import views

FILE_BYTES: Final = 128 << 20
"""Approximate size of a file."""

AGES: Final[Mapping[str, str]] = {
    name: schema.aged_by for name, schema in table_schemas().items() if schema.aged_by is not None
}
"""Table -> the moment from which the age of a row counts, see `TableSchema.aged_by`."""

WEEK_HOURS: Final = 168
"""What Delta considers safe: no reader uses a version for that long."""

_LISTING_TASKS: Final = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_RETENTION_CHECK: Final = "spark.databricks.delta.retentionDurationCheck.enabled"


@dataclass(frozen=True, slots=True)
class MaintainRequest:
    """Which tables to maintain, and what to keep."""

    tables: Collection[str] = ()
    """Full names; empty for every table that exists."""
    keep_days: Mapping[str, int] = field(default_factory=dict)
    """Table -> days after which its rows are deleted; a table that is not named keeps all rows."""
    vacuum_hours: int = WEEK_HOURS
    """Hours after which files that no version of a table uses any more are removed."""
    vacuum_hours_of: Mapping[str, int] = field(default_factory=dict)
    """The same for single tables."""
    dry_run: bool = False
    """Only report what would be done."""

    def hours_of(self, table: str) -> int:
        """Hours after which unused files of a table are removed."""
        return self.vacuum_hours_of.get(table, self.vacuum_hours)


@dataclass(slots=True)
class TableCare:
    """What was done to one table, or would be done."""

    rows_deleted: int = 0
    older_than: datetime | None = None
    files_before: int = 0
    bytes_before: int = 0
    files_added: int = 0
    files_removed: int = 0
    """By OPTIMIZE. A dry run expects all files to be rewritten to their target size."""
    files_vacuumed: int = 0
    vacuum_hours: int = 0
    version: int | None = None
    """Delta version of the table afterwards."""


@dataclass(slots=True)
class CatalogViews:
    """Which views a catalog has now."""

    names: list[str] = field(default_factory=list)
    """As SQL calls them."""
    refused: str | None = None
    """Why the catalog refused the others: many support tables only."""


@dataclass(slots=True)
class MaintainReport:
    """What was done."""

    run_id: str
    tables: dict[str, TableCare] = field(default_factory=dict)
    views: CatalogViews = field(default_factory=CatalogViews)
    """Recreated in a catalog when all tables were maintained."""
    notes: list[str] = field(default_factory=list)
    """Sentences for the user."""


def check_maintain_request(request: MaintainRequest) -> None:
    """Raises BadRequest for a table that does not exist, or for a retention of rows that have no age."""
    known = table_schemas()
    for name in (*request.tables, *request.keep_days, *request.vacuum_hours_of):
        if name not in known:
            raise BadRequest(f"There is no table {name}; there are {', '.join(sorted(known))}.")
    for name in request.keep_days:
        if name not in AGES:
            raise BadRequest(
                f"Rows of {name} have no age, so none can expire; those of {', '.join(sorted(AGES))} have one."
            )


def maintain(
    lake: Lake, request: MaintainRequest, now: datetime, on_progress: OnProgress
) -> MaintainReport:
    """Maintain the tables of a lake; may be killed at any point and repeated.

    The age of rows counts back from `now`, that of files from the clock of the machine.

    Raises BadRequest, LakeBusy while a run writes into the lake, LakeNotReadable where no table is, LakeNotWritable.
    """
    check_maintain_request(request)
    report = MaintainReport(new_run_id(now))
    names = [*lake.versions(sorted(request.tables or table_schemas()))]
    if not names:
        raise LakeNotReadable(f"{lake.path} has no table to maintain.")
    _ = lake.writer  # refuses a lake of another layout
    with (
        _alone(lake, request, report.run_id),
        commit_metadata(lake.spark, report.run_id),
        _settings(lake, request),
        lake.staging(report.run_id),
    ):
        tables = [_Table(lake, name, request, report.run_id, now, on_progress) for name in names]
        done = parallel_map(_Table.care, tables)
        report.tables.update(zip(names, done, strict=True))
        if not (request.tables or request.dry_run):
            report.views = make_catalog_views(lake)
            lake.stages.remove_before(now - timedelta(hours=request.vacuum_hours))
    return report


@dataclass(frozen=True)
class _Table:
    """One table."""

    _lake: Lake
    _name: str
    _request: MaintainRequest
    _run_id: str
    _now: datetime
    _on_progress: OnProgress

    @property
    def _schema(self) -> TableSchema:
        return table_schemas()[self._name]

    def care(self) -> TableCare:
        """Do everything for the table. Raises LakeNotWritable."""
        try:
            return self._care()
        except (OSError, PySparkException, DeltaError) as error:
            path = self._lake.table_path(self._name)
            raise LakeNotWritable(f"{path} cannot be maintained: {first_line(error)}.") from error

    def _care(self) -> TableCare:
        """Delete rows, rewrite files, remove files: in this order, so that deleted rows are not rewritten first."""
        writer, dry_run = self._lake.writer, self._request.dry_run
        done = TableCare()
        done.files_before, done.bytes_before = self._lake.log(self._name).size()
        if self._name in self._request.keep_days:
            done.older_than = self._now - timedelta(days=self._request.keep_days[self._name])
            doing = "counting" if dry_run else "deleting"
            self._on_progress(f"{self._name}: {doing} rows before {done.older_than:%Y-%m-%d %H:%M}")
            done.rows_deleted = self._delete(done.older_than)
        wanted = -(-done.bytes_before // FILE_BYTES) or 1
        if done.files_before > wanted + 1:
            if dry_run:
                done.files_added, done.files_removed = wanted, done.files_before
            else:
                self._on_progress(f"{self._name}: rewriting files")
                done.files_added, done.files_removed = writer.compact(self._schema)
        done.vacuum_hours = self._request.hours_of(self._name)
        self._on_progress(f"{self._name}: {'counting' if dry_run else 'removing'} unused files")
        done.files_vacuumed = writer.vacuum(self._schema, done.vacuum_hours, dry_run=dry_run)
        if dry_run and not done.vacuum_hours:
            done.files_vacuumed += done.files_removed
        done.version = self._lake.version(self._name)
        return done

    def _delete(self, before: datetime) -> int:
        old = F.expr(AGES[self._name]) < F.lit(before)
        if self._name == TableName.RECORDS:
            with self._lake.stage.passing():
                return self._delete_keys(self._lake.stage.keep(self._superseded(old)))
        count = self._lake.read(self._name).where(old).count()
        if count and not self._request.dry_run:
            self._lake.writer.delete_before(self._schema, before)
        return count

    def _delete_keys(self, doomed: DataFrame) -> int:
        counted = doomed.groupBy("cluster").agg(F.count(F.lit(1)).alias("rows")).collect()
        found = {row["cluster"]: row["rows"] for row in counted}
        if found and not self._request.dry_run:
            with _changeable(self._lake, self._name):
                for cluster in sorted(found):
                    sink = Sink(self._lake, cluster, self._run_id)
                    gone = doomed.where(F.col("cluster") == cluster)
                    sink.merge(self._name, self._lake.read(self._name).limit(0), gone)
                    if self._lake.version(TableName.INGESTED) is not None:
                        Ledger(self._lake, cluster).recount(self._now, self._run_id)
        return sum(found.values())

    def _superseded(self, old: Column) -> DataFrame:
        """The keys of the old records that a compacted log would not contain."""
        audited = self._lake.read(TableName.PROGRESS).select("cluster", "partition", "replayed_to")
        records = (
            self._lake.read(self._name, pinned=True)
            .where(old)
            .join(F.broadcast(audited), ["cluster", "partition"])
            .where("offset < replayed_to")
        )
        newest = records.groupBy("cluster", "partition", "key").agg(
            F.max_by(
                F.struct("offset", F.col("value").isNull().alias("is_tombstone")), "offset"
            ).alias("newest")
        )
        return (
            records.select("cluster", "partition", "offset", "key", "is_control")
            .join(newest, ["cluster", "partition", "key"], "left")
            .where(
                # Records without a key are transaction markers, or damage that quarantine has.
                F.col("key").isNull()
                | F.coalesce("is_control", F.lit(False))
                | (F.col("offset") < F.col("newest.offset"))
                | F.col("newest.is_tombstone")
            )
            .select("cluster", "partition", "offset")
        )


@contextmanager
def _changeable(lake: Lake, name: str) -> Iterator[None]:
    """Lift a table's append-only property during the block."""
    schema = table_schemas()[name]
    lake.writer.set_property(schema, APPEND_ONLY, "false")
    try:
        yield
    finally:
        lake.writer.set_property(schema, APPEND_ONLY, "true")


@contextmanager
def _alone(lake: Lake, request: MaintainRequest, run_id: str) -> Iterator[None]:
    """Keep runs out: one of the two would fail."""
    # Files that an ingest has written and not committed yet are unused, too.
    removes_records = TableName.RECORDS in (request.tables or [TableName.RECORDS]) and (
        TableName.RECORDS in request.keep_days or not request.hours_of(TableName.RECORDS)
    )
    with ExitStack() as held:
        if not request.dry_run:
            for cluster in clusters_of(lake):
                held.enter_context(sole_run(lake.path, cluster, run_id))
                if removes_records:
                    held.enter_context(sole_ingest(lake.path, cluster, run_id))
        yield


def _settings(lake: Lake, request: MaintainRequest) -> AbstractContextManager[None]:
    """Settings of the session that VACUUM uses."""
    # It lists folders in this many tasks, 10,000 by default, most of them without a folder.
    wanted = {_LISTING_TASKS: str(2 * parallelism(lake.spark))}
    if min([request.vacuum_hours, *request.vacuum_hours_of.values()]) < WEEK_HOURS:
        # The request asks for it, and runs are kept out.
        wanted[_RETENTION_CHECK] = "false"
    return temporary_settings(lake.spark, wanted)


def make_catalog_views(lake: Lake) -> CatalogViews:
    """Create or replace the views whose tables exist. A missing view is no failure: nothing depends on it."""
    done = CatalogViews()
    if not isinstance(lake.place, Catalog):
        return done
    try:
        for view in views():
            if all(lake.version(name) is not None for name in view.tables):
                done.names.append(lake.make_view(lake.place, view))
    except PySparkException as error:
        done.refused = str(error).partition("\n")[0]
    return done


def clusters_of(lake: Lake) -> list[str]:
    """Their names, sorted; none in a lake without runs. Raises LakeNotReadable."""
    if lake.version(TableName.RUNS) is None:
        return []
    return sorted(
        row[0] for row in lake.read(TableName.RUNS).select("cluster").distinct().collect()
    )
