"""What a run did: where its records went, which tables it changed, how long its steps took."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from rebalance_audit.lake.storage.table_log import TableCommit
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.moments import utc_datetime
from rebalance_audit.tables.schemas import table_schemas


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


BETWEEN: Final = "between the steps"


class StepPart(NamedTuple):
    """When a part of a step ran, epoch milliseconds."""

    step: str
    from_ms: float
    to_ms: float


@dataclass(slots=True)
class StepCost:
    """What one step made."""

    step: str
    seconds: float = 0.0
    commits: int = 0
    """Commits to all tables of the lake."""


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


class Timeline:
    """When the steps of a run ran."""

    def __init__(self) -> None:
        """Begins now."""
        self._spans: list[StepPart] = []

    @contextmanager
    def part_of(self, step: str) -> Iterator[None]:
        """What happens in the block is part of the step."""
        began_ms = time.time() * 1000
        try:
            yield
        finally:
            self._spans.append(StepPart(step, began_ms, time.time() * 1000))

    def costs(self, lake: Lake, run_id: str) -> list[StepCost]:
        """The costs of the steps that have ended, in order, and of the time between them. Raises LakeNotReadable."""
        names = lake.existing(table_schemas())
        commits = [commit for name in names for commit in lake.commits_of_run(name, run_id)]
        return step_costs(self._spans, commits)


def step_costs(spans: Sequence[StepPart], commits: Sequence[TableCommit]) -> list[StepCost]:
    """Each commit added to the step in which it was made; a part within another one counts in that one."""
    costs = {span.step: StepCost(span.step) for span in sorted(spans, key=lambda span: span[1])}
    costs[BETWEEN] = StepCost(BETWEEN)
    for span in spans:
        costs[span.step].seconds += (span.to_ms - span.from_ms) / 1000
    for commit in commits:
        within = (span.step for span in spans if span.from_ms <= commit.at_ms <= span.to_ms)
        costs[next(within, BETWEEN)].commits += 1
    return list(costs.values())
