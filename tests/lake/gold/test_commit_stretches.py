"""Seconds of commits become hours: beside what the definition of a stretch says, commit by commit."""

from collections import defaultdict
from itertools import groupby, pairwise
from statistics import median
from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from rebalance_audit.lake.gold.commit_stretches import SECONDS, hours_of_seconds
from rebalance_audit.tables.arrow_types import schema_of_columns

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
PAUSES_MS = st.sampled_from([0, 1, 400, 999, 1_000, 7_000, 59_999, 61_000, HOUR_MS, 8 * DAY_MS])
Commits = dict[str, list[int]]

GROUPS = st.dictionaries(
    st.sampled_from(["", "g", "h", "ü"]), st.lists(PAUSES_MS, min_size=1, max_size=30), min_size=1
)
"""Group -> the pauses between its commits."""


def expected(commits: Commits) -> dict[tuple[str, int], tuple[int, int, int | None, int]]:
    """Group and hour -> commits, gaps, longest stretch and last commit, epoch milliseconds."""
    found = {}
    for group, times in commits.items():
        seconds = [[*each] for _, each in groupby(sorted(times), lambda at: at // 1_000)]
        stretches = defaultdict(list)
        for before, after in pairwise(seconds):
            if after[0] - before[-1] <= 7 * DAY_MS:
                stretches[after[0] // HOUR_MS].append(after[0] - before[-1])
        for hour, each in groupby(sorted(times), lambda at: at // HOUR_MS):
            of_hour, there = stretches[hour], [*each]
            usual = median(of_hour) if of_hour else 0
            gaps = sum(stretch > max(60_000, 10 * usual) for stretch in of_hour)
            found[group, hour] = (len(there), gaps, max(of_hour, default=None), there[-1])
    return found


def rows_of(commits: Commits, apart: set[int]) -> list[dict[str, Any]]:
    """Seconds in their order; those in `apart` come in a row for each commit."""
    rows = []
    for group in sorted(commits):
        for second, each in groupby(sorted(commits[group]), lambda at: at // 1_000):
            times = [*each]
            parts = [[at] for at in times] if second % 5 in apart else [times]
            rows += [
                {
                    "group_id": group,
                    "hour": second * 1_000 // HOUR_MS * HOUR_MS * 1_000,
                    "second": second * 1_000_000,
                    "commits": len(part),
                    "first_at": part[0] * 1_000,
                    "last_at": part[-1] * 1_000,
                }
                for part in parts
            ]
    return rows


@example({"g": [*[7_000] * 6, 66_000, 71_000]}, set(), 20, 0)
@given(GROUPS, st.sets(st.integers(0, 4)), st.integers(1, 20), st.integers(-2, 2))
def test_hours_are_what_the_commits_say(
    pauses: dict[str, list[int]], apart: set[int], batch_rows: int, begin_hours: int
) -> None:
    """Whatever batches they come in, of whatever groups, before 1970 and after it."""
    commits = {
        group: [begin_hours * HOUR_MS + sum(each[: at + 1]) for at in range(len(each))]
        for group, each in pauses.items()
    }
    table = pa.Table.from_pylist(rows_of(commits, apart), schema=schema_of_columns(SECONDS))
    rows = [
        row
        for batch in hours_of_seconds(table.to_batches(max_chunksize=batch_rows))
        for row in batch.to_pylist()
    ]
    found = {
        (row["group_id"], round(row["hour"].timestamp() * 1_000) // HOUR_MS): (
            row["commits"],
            row["commit_gaps"],
            row["commit_gap_ms_max"],
            round(row["last_commit_at"].timestamp() * 1_000),
        )
        for row in rows
    }
    assert len(found) == len(rows)
    assert found == expected(commits)
    assert not any(row["again"] or row["commits_before"] is not None for row in rows)
