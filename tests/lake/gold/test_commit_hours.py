"""Hours of commits: beside what the definition of a stretch says, commit by commit."""

from collections import defaultdict
from itertools import groupby, pairwise
from statistics import median

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rebalance_audit.audit.hours.group_hours import HourCommits
from rebalance_audit.lake.gold import commit_hours
from rebalance_audit.lake.gold.commit_hours import CommitHours

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
PAUSES_MS = st.sampled_from(
    [0, 1, 400, 999, 1_000, 6_000, 7_000, 59_999, 61_000, 75_000, HOUR_MS, 8 * DAY_MS]
)
PAUSES = st.lists(PAUSES_MS, min_size=1, max_size=30)


def expected(times: list[int]) -> dict[int, HourCommits]:
    """By the hour."""
    found = {}
    seconds = [[*each] for _, each in groupby(times, lambda at: at // 1_000)]
    stretches = defaultdict(list)
    for before, after in pairwise(seconds):
        if after[0] - before[-1] <= 7 * DAY_MS:
            stretches[after[0] // HOUR_MS].append(after[0] - before[-1])
    for hour, each in groupby(times, lambda at: at // HOUR_MS):
        of_hour, there = stretches[hour], [*each]
        usual = median(of_hour) if of_hour else 0
        gaps = sum(stretch > max(60_000, 10 * usual) for stretch in of_hour)
        found[hour] = HourCommits(len(there), gaps, max(of_hour, default=None), there[-1])
    return found


def moments(pauses: list[int], begin_hours: int) -> list[int]:
    """When commits come."""
    return [begin_hours * HOUR_MS + sum(pauses[: at + 1]) for at in range(len(pauses))]


@example([*[7_000] * 6, 66_000, 71_000], {3}, 0, 5)
@example([*[6_000] * 5, *[7_000] * 5, 61_000], set(), 0, 5)
@given(PAUSES, st.sets(st.integers(0, 29)), st.integers(-2, 2), st.integers(0, 29))
def test_hours_are_what_the_commits_say(
    pauses: list[int], apart: set[int], begin_hours: int, cut: int
) -> None:
    """In whatever order they come, before 1970 and after it, at once or in two parts."""
    times = moments(pauses, begin_hours)
    first = CommitHours()
    there = {*range(min(cut, len(times)))}
    for part in (there & apart, there - apart):
        first.add(np.array([times[place] for place in part], np.int64))
    found = dict(first.hours())
    second = CommitHours(first.state())
    for place in range(cut, len(times)):
        second.add(np.array([times[place]], np.int64))
    found |= second.hours()
    assert not second.is_lost
    assert found == expected(times)


def test_many_commits_are_counted_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than some are held."""
    monkeypatch.setattr(commit_hours, "HELD", 100)
    times, hours = moments([400] * 9_000, 0), CommitHours()
    for place in range(0, len(times), 70):
        hours.add(np.array(times[place : place + 70], np.int64))
    assert hours.hours() == expected(times)


def test_an_earlier_commit_needs_all_of_them() -> None:
    """What an earlier part has counted cannot be taken apart."""
    first = CommitHours()
    first.add(np.array([1_000, 90_000], np.int64))
    first.hours()
    second = CommitHours(first.state())
    second.add(np.array([89_000], np.int64))
    assert second.hours() == {}
    assert second.is_lost
