"""meta.runs: what ran. A run's row is its first commit (running) and its last one (done, failed)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final

from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.moments import utc_datetime
from rebalance_audit.shown_settings import without_credentials
from rebalance_audit.tables.schemas import TableName
from rebalance_audit.version import __version__

ALL: Final = "all"
"""Layers of a run that goes through bronze."""


@dataclass(frozen=True, slots=True)
class RunEntry:
    """What is known about a run when it begins; fields are named as the columns."""

    run_id: str
    started_at: datetime
    cluster: str
    command: str
    source: str
    """What the user calls it."""
    config: str | None
    """The effective configuration."""
    from_ms: int | None = None
    to_ms: int | None = None
    """The window, epoch milliseconds."""
    full: bool = False
    layers: str | None = None
    """ALL, or `gold` for a run straight from the source; None for an ingest."""
    rules: str | None = None
    """Digest of the thresholds."""
    groups_regex: str | None = None


class RunLog:
    """The row of one run."""

    def __init__(self, lake: Lake, entry: RunEntry) -> None:
        """Nothing is written yet."""
        self._lake = lake
        self._entry = entry
        self.run_number: int | None = None
        """Set by `start`. Ingests have none: audits go by what bronze has, not by who wrote it."""
        self.retries = 0
        """How often the run has begun its work again."""

    def start(self, *, is_numbered: bool = True) -> None:
        """The first commit of a run: if it cannot be made, nothing else is tried.

        The table's version numbers the runs: each makes commits of its own, one after the other. A table that was
        recreated has earlier runs with higher numbers than its version.
        """

        def rows(version: int) -> list[dict[str, Any]]:
            if is_numbered:
                earlier = self._lake.few_rows(TableName.RUNS, self._entry.cluster, ("run_number",))
                self.run_number = max([version, *(row["run_number"] or 0 for row in earlier)]) + 1
            return [self._row("running")]

        self._lake.add_rows(TableName.RUNS, self._entry.cluster, rows)

    def end(self, columns: Mapping[str, Any]) -> None:
        """The last commit of a run that succeeded; `columns` are its results."""
        self._update("done", columns)

    @contextmanager
    def noting_failure(self) -> Iterator[None]:
        """Record the error that ends the block, if possible, and raise it."""
        try:
            yield
        except Exception as error:
            sentence = without_credentials(str(error)).partition("\n")[0] or type(error).__name__
            try:
                self._update("failed", {"error": sentence})
            except Exception as another:  # noqa: BLE001 - whatever ended the run may prevent this too
                error.add_note(f"{TableName.RUNS} could not be updated: {another}")
            raise

    def _row(self, outcome: str) -> dict[str, Any]:
        return {
            **asdict(self._entry),
            "source": without_credentials(self._entry.source),
            "run_number": self.run_number,
            "from_at": utc_datetime(self._entry.from_ms),
            "to_at": utc_datetime(self._entry.to_ms),
            "outcome": outcome,
            "retries": self.retries,
            "package_version": __version__,
            "spark_version": self._lake.spark.version,
        }

    def _update(self, outcome: str, columns: Mapping[str, Any]) -> None:
        """Replace the row by one with the outcome and the time of the end."""
        row = {**self._row(outcome), "ended_at": datetime.now(UTC), **columns}
        given = self._lake.rows_here(TableName.RUNS, [row])
        run_id, cluster = self._entry.run_id, self._entry.cluster
        self._lake.overwrite(TableName.RUNS, given, "run_id", run_id, cluster)
