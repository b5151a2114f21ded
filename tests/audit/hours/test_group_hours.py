"""Hours of groups: what rows of gold tables and commits say, minute by minute."""

from collections import defaultdict
from collections.abc import Mapping

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.audit.hours.group_hours import (
    MADE_OF,
    OF_COMMITS,
    GroupHours,
    HourCommits,
    hours_of_tables,
)
from rebalance_audit.tables.schemas import table_schemas
from tests.audit.hours.hours_by_hand import (
    COMMITS,
    HOUR,
    MINUTE,
    TABLES,
    Row,
    Tables,
    expected,
)


def whole(tables: Tables) -> dict[str, list[Row]]:
    """Rows with all columns of their tables."""
    return {
        name: [dict.fromkeys(table_schemas()[f"gold.{name}"].column_names) | row for row in rows]
        for name, rows in tables.items()
    }


def committed(pauses: Mapping[str, list[float]]) -> dict[tuple[str, int], HourCommits]:
    """Something about the hours in which each group commits."""
    found: dict[tuple[str, int], list[int]] = defaultdict(list)
    for group, each in pauses.items():
        for number in range(len(each)):
            at = int(1_000 * sum(each[: number + 1]))
            found[group, at // HOUR].append(at)
    return {key: HourCommits(len(times), 0, None, times[-1]) for key, times in found.items()}


def made(tables: Tables, end: int, commits: Mapping[tuple[str, int], HourCommits]) -> list[Row]:
    """All hours: rows that have not ended come at the end of the log."""
    groups = {row["group_id"] for rows in tables.values() for row in rows}
    found = []
    for group in groups | {group for group, _ in commits}:
        hours = GroupHours(end, with_commits=True)
        for name in MADE_OF:
            for row in tables[name]:
                if row["group_id"] == group:
                    hours.add(name, row)
        hours.committed({hour: each for (name, hour), each in commits.items() if name == group})
        for row, is_there in hours.rows():
            assert is_there
            found.append({"group_id": group, **row})
    return by_key(found)


def by_key(rows: list[Row]) -> list[Row]:
    """In order of group and hour."""
    return sorted(rows, key=lambda row: (row["group_id"], row["hour"]))


@settings(deadline=None)
@given(TABLES, COMMITS, st.integers(0, 7 * 60))
def test_hours_are_what_rows_say(
    tables: Tables, pauses: dict[str, list[float]], end_minute: int
) -> None:
    """Counts, shares of time, bounds, the latest state, the most frequent cause."""
    end, commits = end_minute * MINUTE, committed(pauses)
    of_commits = {key: dict(zip(OF_COMMITS, each, strict=True)) for key, each in commits.items()}
    assert made(whole(tables), end, commits) == by_key(expected(tables, end, of_commits))


@settings(deadline=None)
@given(TABLES, st.integers(0, 7 * 60))
def test_without_silver_nothing_is_said_of_commits(tables: Tables, end_minute: int) -> None:
    """Where commits were not decoded their columns are null, not zero."""
    end = end_minute * MINUTE
    found = hours_of_tables(whole(tables), end)
    wanted = by_key(expected(tables, end, {}))
    assert found == [row | dict.fromkeys(OF_COMMITS) for row in wanted]
