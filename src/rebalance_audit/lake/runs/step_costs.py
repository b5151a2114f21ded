"""What the steps of a run cost: how long they took, and how many commits they made."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from rebalance_audit.lake.storage.table_log import TableCommit
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import table_schemas

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
