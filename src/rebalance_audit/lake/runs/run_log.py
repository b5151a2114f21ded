"""meta.runs and meta.progress: what ran, and how far. Written first (running) and last (done, failed)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from pyspark.sql import DataFrame

from rebalance_audit.lake.runs.progress import ALL, Progress
from rebalance_audit.lake.runs.request import GOLD, RunRequest
from rebalance_audit.lake.storage.local_rows import table_rows
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.table_schemas import TableName
from rebalance_audit.version import __version__

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
    resumed: int = 0
    """Groups that were replayed from where an earlier run had come to."""
    rebuilt: int = 0
    """Groups that were replayed from their first record."""
    rows: dict[str, int] = field(default_factory=dict)
    """Full table name -> rows that are new or differ from before."""
    versions: dict[str, int] = field(default_factory=dict)
    """Full table name -> Delta version that the run left behind."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Step -> how long it took."""

    @property
    def groups(self) -> int:
        """Groups that were audited."""
        return self.resumed + self.rebuilt

    notes: list[str] = field(default_factory=list)
    """Sentences about what was odd."""


class RunLog:
    """The row of one run."""

    def __init__(
        self, lake: Lake, request: RunRequest, run_id: str, started_at: datetime, rules: str
    ) -> None:
        """Nothing is written yet; `rules` is the digest of the thresholds."""
        self._lake = lake
        self._request = request
        self._run_id = run_id
        self._started_at = started_at
        self._rules = rules
        self.run_number = 0
        """Set by `start`."""

    def start(self) -> None:
        """The first commit of a run: if it cannot be made, nothing else is tried.

        The table's version numbers the runs: every run makes commits of its own, one after the other.
        """
        self.run_number = (self._lake.version(TableName.RUNS) or 0) + 1
        rows = table_rows(self._lake.spark, TableName.RUNS, [self._row(RUNNING)])
        self._lake.save(TableName.RUNS, rows.write.format("delta").mode("append"))

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

    def fail(self, error: Exception) -> None:
        """Note why the run ended early, if that can still be written; it is `error` that the user is to be told."""
        sentence = str(error).partition("\n")[0] or type(error).__name__
        try:
            self._update(self._row(FAILED) | {"ended_at": _now(), "error": sentence})
        except Exception as another:  # noqa: BLE001 - what has ended the run may keep this from the table too
            error.add_note(f"{TableName.RUNS} could not be told: {another}")

    def progress_rows(self, standing: Progress) -> DataFrame:
        """Rows of meta.progress for what is reached."""
        rows = [
            {
                "cluster": self._request.cluster,
                "partition": partition,
                "ingested_to": reached.next_offset,
                "replayed_to": reached.next_offset,
                "last_record_at": _moment(reached.last_ms),
                "bronze_version": standing.bronze_version,
                "lost_before": list(standing.gaps.get(partition, ())) or None,
                "run_number": self.run_number,
                "run_id": self._run_id,
                "updated_at": self._started_at,
            }
            for partition, reached in standing.partitions.items()
        ]
        return table_rows(self._lake.spark, TableName.PROGRESS, rows)

    def _row(self, outcome: str) -> dict[str, Any]:
        request = self._request
        return {
            "cluster": request.cluster,
            "run_id": self._run_id,
            "run_number": self.run_number,
            "command": request.command,
            "source": request.source_spec,
            "full": request.full,
            "layers": ALL if request.with_silver else GOLD,
            "rules": self._rules,
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
        writer = table_rows(self._lake.spark, TableName.RUNS, [row]).write.format("delta")
        self._lake.overwrite(TableName.RUNS, writer, "run_id", self._run_id)


def _now() -> datetime:
    return datetime.now(UTC)


def _moment(moment_ms: int | None) -> datetime | None:
    return None if moment_ms is None else datetime.fromtimestamp(moment_ms / 1000, UTC)
