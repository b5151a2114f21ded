"""meta.runs and meta.progress: what ran, and how far. Written first (running) and last (done, failed)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from rebalance_audit import __version__
from rebalance_audit.lake.census import Census
from rebalance_audit.lake.request import RunRequest
from rebalance_audit.lake.tables import Lake
from rebalance_audit.table_schemas import table_schemas

RUNS: Final = "meta.runs"
PROGRESS: Final = "meta.progress"
DONE: Final = "done"
FAILED: Final = "failed"
RUNNING: Final = "running"


@dataclass(slots=True)
class Counts:
    """Where the records went. `read` is the sum of the others."""

    decoded: int = 0
    quarantined: int = 0
    controls: int = 0
    passed_over: int = 0
    """Of groups that were not asked for, and offset commits where silver was not."""
    damaged_stretches: int = 0
    """Parts of segment files whose records nobody can count."""

    @property
    def read(self) -> int:
        """Records that the run went through."""
        return self.decoded + self.quarantined + self.controls + self.passed_over


@dataclass(slots=True)
class RunReport:
    """What a run did."""

    run_id: str
    counts: Counts = field(default_factory=Counts)
    groups: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    """Full table name -> rows that are new or differ from before."""
    versions: dict[str, int] = field(default_factory=dict)
    """Full table name -> Delta version that the run left behind."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Step -> how long it took."""


class RunLog:
    """The row of one run."""

    def __init__(self, lake: Lake, request: RunRequest, run_id: str, started_at: datetime) -> None:
        """Nothing is written yet."""
        self._lake = lake
        self._request = request
        self._run_id = run_id
        self._started_at = started_at

    def start(self) -> None:
        """The first commit of a run: if it cannot be made, nothing else is tried."""
        rows = _rows(self._lake.spark, RUNS, [self._row(RUNNING)])
        self._lake.save(RUNS, rows.write.format("delta").mode("append"))

    def end(self, report: RunReport) -> None:
        """The last commit of a run that came through."""
        counts = report.counts
        self._update(
            self._row(DONE)
            | {
                "ended_at": _now(),
                "records_read": counts.read,
                "records_decoded": counts.decoded,
                "records_quarantined": counts.quarantined,
                "control_records": counts.controls,
                "records_passed_over": counts.passed_over,
                "batches_quarantined": counts.damaged_stretches,
                "groups": report.groups,
                "rows_written": report.rows,
                "table_versions": report.versions,
            }
        )

    def fail(self, error: BaseException) -> None:
        """Note why the run ended early."""
        sentence = str(error).partition("\n")[0] or type(error).__name__
        self._update(self._row(FAILED) | {"ended_at": _now(), "error": sentence})

    def progress_rows(self, census: Census) -> DataFrame:
        """Rows of meta.progress (without the cluster) after everything of a census was replayed."""
        rows = [
            {
                "cluster": self._request.cluster,
                "partition": partition,
                "ingested_to": found.next_offset,
                "replayed_to": found.next_offset,
                "last_record_at": _moment(found.last_ms),
                "run_id": self._run_id,
                "updated_at": self._started_at,
            }
            for partition, found in census.partitions.items()
        ]
        return _rows(self._lake.spark, PROGRESS, rows)

    def _row(self, outcome: str) -> dict[str, Any]:
        request = self._request
        return {
            "cluster": request.cluster,
            "run_id": self._run_id,
            "command": request.command,
            "source": request.source.spec,
            "full": request.full,
            "groups_regex": request.groups_regex,
            "from_at": _moment(request.from_ms),
            "to_at": _moment(request.to_ms),
            "started_at": self._started_at,
            "outcome": outcome,
            "package_version": __version__,
            "spark_version": self._lake.spark.version,
            "config": request.config,
        }

    def _update(self, row: Mapping[str, Any]) -> None:
        rows = _rows(self._lake.spark, RUNS, [row]).write.format("delta").mode("overwrite")
        # One commit, and for one row much less work than a MERGE.
        self._lake.save(RUNS, rows.option("replaceWhere", f"run_id = '{self._run_id}'"))


def _rows(spark: SparkSession, name: str, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Rows of a small table from what the driver knows."""
    columns = table_schemas()[name].columns
    return spark.createDataFrame(
        [tuple(row.get(column.name) for column in columns) for row in rows],
        ", ".join(f"`{column.name}` {column.type}" for column in columns),
    )


def _now() -> datetime:
    return datetime.now(UTC)


def _moment(moment_ms: int | None) -> datetime | None:
    return None if moment_ms is None else datetime.fromtimestamp(moment_ms / 1000, UTC)
