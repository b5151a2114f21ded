"""What a run did: where its records went, which tables it changed, how long its steps took."""

from dataclasses import dataclass, field
from typing import Any

from rebalance_audit.lake.runs.step_costs import StepCost
from rebalance_audit.moments import utc_datetime


@dataclass(slots=True)
class Counts:
    """Where the records went."""

    decoded: int = 0
    quarantined: int = 0
    controls: int = 0
    passed_over: int = 0
    """Records of groups that were not asked for, and offset commits if silver was not."""
    damaged_stretches: int = 0
    """Parts of segment files with an unknown number of records."""

    @property
    def read(self) -> int:
        """Records that the run read."""
        return self.decoded + self.quarantined + self.controls + self.passed_over


@dataclass(slots=True)
class RunReport:
    """What a run did."""

    run_id: str
    counts: Counts = field(default_factory=Counts)
    resumed: int = 0
    """Groups that were resumed from a snapshot."""
    rebuilt: int = 0
    """Groups that were replayed from their first record."""
    rows: dict[str, int] = field(default_factory=dict)
    """Full table name -> rows that are new or differ from before."""
    versions: dict[str, int] = field(default_factory=dict)
    """Full table name -> its Delta version at the end of the run."""
    newest_record_ms: int | None = None
    """Time of the newest record that the tables cover, epoch milliseconds; None if the log has none."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Step -> how long it took, seconds."""

    costs: list[StepCost] = field(default_factory=list)
    """What each step cost, if that was asked for."""
    writer: str | None = None
    """What changed the tables, if that was asked for."""
    notes: list[str] = field(default_factory=list)
    """Warnings."""

    @property
    def groups(self) -> int:
        """Groups that were audited."""
        return self.resumed + self.rebuilt

    def columns(self) -> dict[str, Any]:
        """What meta.runs says of it."""
        counts = self.counts
        return {
            "records_read": counts.read,
            "records_decoded": counts.decoded,
            "records_quarantined": counts.quarantined,
            "control_records": counts.controls,
            "records_passed_over": counts.passed_over,
            "batches_quarantined": counts.damaged_stretches,
            "groups": self.groups,
            "newest_record_at": utc_datetime(self.newest_record_ms),
            "rows_written": self.rows,
            "table_versions": self.versions,
        }
