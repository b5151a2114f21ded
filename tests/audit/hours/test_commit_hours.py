"""Hours of commits: beside what the definition of a stretch says, commit by commit."""

from collections import defaultdict
from itertools import groupby, pairwise
from statistics import median

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rebalance_audit.audit.hours import commit_hours
from rebalance_audit.audit.hours.commit_hours import (
    CommitHours,
    LogCommitHours,
    by_second,
    single_commits,
)
from rebalance_audit.audit.hours.group_hours import HourCommits

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
        first.add(single_commits(np.array([times[place] for place in part], np.int64)))
    found = dict(first.hours())
    second = CommitHours(first.state())
    for place in range(cut, len(times)):
        second.add(single_commits(np.array([times[place]], np.int64)))
    found |= second.hours()
    assert not second.is_lost
    assert found == expected(times)


def test_many_commits_are_counted_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more than some are held."""
    monkeypatch.setattr(commit_hours, "HELD", 100)
    times, hours = moments([400] * 9_000, 0), CommitHours()
    for place in range(0, len(times), 70):
        hours.add(single_commits(np.array(times[place : place + 70], np.int64)))
    assert hours.hours() == expected(times)


def test_an_earlier_commit_needs_all_of_them() -> None:
    """What an earlier part has counted cannot be taken apart."""
    first = CommitHours()
    first.add(single_commits(np.array([1_000, 90_000], np.int64)))
    first.hours()
    second = CommitHours(first.state())
    second.add(single_commits(np.array([89_000], np.int64)))
    assert second.hours() == {}
    assert second.is_lost


@given(PAUSES, st.integers(1, 9), st.integers(0, 3))
def test_hours_of_a_log_are_those_of_its_groups(
    pauses: list[int], size: int, elsewhere: int
) -> None:
    """In stretches of some commits, of two groups; few are held, and some commits of one are in another partition."""
    times = moments(pauses, 3)
    log = LogCommitHours(held=4)
    for begin in range(0, len(times), size):
        stretch = np.array(times[begin : begin + size], np.int64)
        numbers = {"a": begin % 2, "b": 1 - begin % 2}
        both = [single_commits(stretch, numbers["a"]), single_commits(stretch + 1, numbers["b"])]
        log.add(5, ["a", "b"] if numbers["b"] else ["b", "a"], by_second(both))
    moved = np.array(times[:elsewhere], np.int64)
    log.add(6, ["a"], by_second([single_commits(moved)]))
    found, alone, moved_alone = log.hours(), expected(times), expected(times[:elsewhere])
    assert found["b"] == expected([at + 1 for at in times])
    assert found["a"] == {
        hour: HourCommits(
            each.commits + more.commits,
            each.commit_gaps + more.commit_gaps,
            each.commit_gap_ms_max,
            each.last_commit_ms,
        )
        for hour, each in alone.items()
        for more in [moved_alone.get(hour, HourCommits(0, 0, None, None))]
    }


def test_a_late_commit_of_a_log_counts_with_what_is_not_counted_yet() -> None:
    """A clock that was set back by hours: no commit is lost."""
    log = LogCommitHours(held=1)
    for times in ([HOUR_MS, 3 * HOUR_MS], [HOUR_MS // 2]):
        log.add(0, ["g"], by_second([single_commits(np.array(times, np.int64))]))
    assert {hour: each.commits for hour, each in log.hours()["g"].items()} == {1: 2, 3: 1}
