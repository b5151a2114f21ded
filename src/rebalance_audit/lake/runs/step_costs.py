"""What the steps of a run cost beside the work of their tasks: queries, jobs, and commits to tables."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from rebalance_audit.lake.session.private_spark import Query, queries_since
from rebalance_audit.lake.storage.delta_log import TableCommit
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import table_schemas

RETAINED: Final[Mapping[str, str]] = {
    # Spark forgets all but the last queries, 20 in a local session: a run makes some hundred.
    "spark.sql.ui.retainedExecutions": "5000",
}
"""Settings of a session whose runs are to be explained."""
OF_DELTA: Final = "Delta: "
"""How Spark's descriptions of queries on a table's log begin."""
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
    queries: int = 0
    """Queries of Spark, with those that one makes while it is planned or executed."""
    log_reads: int = 0
    """Those of them in which Delta reads a table's log."""
    jobs: int = 0
    commits: int = 0
    """Commits to all tables of the lake."""


class Timeline:
    """When the steps of a run ran."""

    def __init__(self) -> None:
        """Begins now."""
        self._began_ms = time.time() * 1000
        self._spans: list[StepPart] = []

    @contextmanager
    def part_of(self, step: str) -> Iterator[None]:
        """What happens in the block is part of the step."""
        began_ms = time.time() * 1000
        try:
            yield
        finally:
            self._spans.append(StepPart(step, began_ms, time.time() * 1000))

    def costs(self, spark: SparkSession, lake: Lake, run_id: str) -> list[StepCost]:
        """Of each step that has ended, in their order, and of what came between them.

        Queries that Spark has forgotten do not count, see RETAINED. Raises LakeNotReadable and OSError.
        """
        names = (name for name in table_schemas() if lake.version(name) is not None)
        commits = [commit for name in names for commit in lake.commits_of_run(name, run_id)]
        return step_costs(self._spans, queries_since(spark, self._began_ms), commits)


def step_costs(
    spans: Sequence[StepPart], queries: Sequence[Query], commits: Sequence[TableCommit]
) -> list[StepCost]:
    """Each query and commit added to the step in which it began; a part within another one counts in that one."""
    costs = {span.step: StepCost(span.step) for span in sorted(spans, key=lambda span: span[1])}
    costs[BETWEEN] = StepCost(BETWEEN)
    for span in spans:
        costs[span.step].seconds += (span.to_ms - span.from_ms) / 1000

    def cost_at(moment_ms: float) -> StepCost:
        within = (span.step for span in spans if span.from_ms <= moment_ms <= span.to_ms)
        return costs[next(within, BETWEEN)]

    for query in queries:
        cost = cost_at(query.at_ms)
        cost.queries += 1
        cost.jobs += query.jobs
        cost.log_reads += query.description.startswith(OF_DELTA)
    for commit in commits:
        cost_at(commit.at_ms).commits += 1
    return list(costs.values())
