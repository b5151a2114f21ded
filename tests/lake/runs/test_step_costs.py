"""What steps of a run cost, out of queries and commits with a time."""

from rebalance_audit.lake.runs.step_costs import StepCost, StepPart, step_costs
from rebalance_audit.lake.session.private_spark import Query
from rebalance_audit.lake.storage.delta_log import TableCommit


def test_each_query_and_commit_counts_once_in_the_innermost_step() -> None:
    """A step in two parts, one within it, and what is in none."""
    spans = [
        StepPart("replaying groups", 1_000, 2_000),
        StepPart("counting records", 2_500, 3_000),
        StepPart("replaying groups", 2_200, 3_500),
    ]
    queries = [
        Query(1_000, 2, "collect at gaps.py:56"),
        Query(1_100, 1, "Delta: Filtering files for query"),
        Query(2_600, 1, "collect at record_counts.py:147"),
        Query(3_100, 0, "save"),
        Query(4_000, 1, "save"),
    ]
    commits = [TableCommit(1, "WRITE", "run", 3_200), TableCommit(0, "CREATE TABLE", "run", 500)]
    assert step_costs(spans, queries, commits) == [
        StepCost("replaying groups", 2.3, queries=3, log_reads=1, jobs=3, commits=1),
        StepCost("counting records", 0.5, queries=1, jobs=1),
        StepCost("between the steps", queries=1, jobs=1, commits=1),
    ]
