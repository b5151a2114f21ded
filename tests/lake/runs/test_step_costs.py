"""What steps of a run cost, out of commits with a time."""

from rebalance_audit.lake.runs.context import StepCost, StepPart, step_costs
from rebalance_audit.lake.storage.table_log import TableCommit


def test_each_commit_counts_once_in_the_innermost_step() -> None:
    """A step in two parts, one within it, and what is in none."""
    spans = [
        StepPart("replaying groups", 1_000, 2_000),
        StepPart("reading records", 2_500, 3_000),
        StepPart("replaying groups", 2_200, 3_500),
    ]
    moments = (1_000, 2_600, 3_200, 500)
    commits = [TableCommit(version, "WRITE", "run", at) for version, at in enumerate(moments)]
    assert step_costs(spans, commits) == [
        StepCost("replaying groups", 2.3, commits=2),
        StepCost("reading records", 0.5, commits=1),
        StepCost("between the steps", commits=1),
    ]
