"""Hours of groups: what rows of gold tables and commits say, minute by minute."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.lake.gold.commit_stretches import HOURS, SECONDS, hours_of_seconds
from rebalance_audit.lake.gold.hour_codes import KEY
from rebalance_audit.lake.gold.hour_facts import OF_COMMITS, FactsOf, facts_with
from rebalance_audit.lake.gold.hour_rows import hours_made_of
from rebalance_audit.tables.arrow_types import arrow_table, column_of, schema_of_columns
from rebalance_audit.tables.schemas import table_schemas
from tests.lake.gold.hours_by_hand import (
    COMMITS,
    HOUR,
    MINUTE,
    TABLES,
    Row,
    Tables,
    expected,
)

CLUSTER = "blue"


def arrow(name: str, rows: list[Row]) -> pa.Table:
    """Rows of a table, by its full name."""
    return arrow_table(table_schemas()[name], [{"cluster": CLUSTER, **row} for row in rows])


def commit_rows(commits: Mapping[str, list[int]]) -> list[Row]:
    """Rows of silver."""
    return [
        {"group_id": group, "timestamp": at, "tombstone": False}
        for group, times in commits.items()
        for at in times
    ]


def hours_of_commits(rows: list[Row]) -> pa.Table:
    """KEY and OF_COMMITS, made of all commits."""
    seconds: dict[tuple[str, int], list[int]] = defaultdict(list)
    for row in rows:
        seconds[row["group_id"], row["timestamp"] // 1_000].append(row["timestamp"])
    given = [
        {
            "group_id": group,
            "hour": second // 3_600 * HOUR,
            "second": second * 1_000,
            "commits": len(times),
            "first_at": min(times),
            "last_at": max(times),
        }
        for (group, second), times in sorted(seconds.items())
    ]
    columns = {
        name: column_of(kind, [row.get(name) for row in given]) for name, kind in SECONDS.items()
    }
    made = [*hours_of_seconds(pa.table(columns).to_batches())]
    return pa.Table.from_batches(made, schema_of_columns(HOURS)).select([*KEY, *OF_COMMITS])


def made_at_once(tables: Tables, end: int, of_commits: pa.Table, batch_rows: int = 100) -> pa.Table:
    """All hours."""
    facts = [
        FactsOf(end).facts(name, batch)
        for name, rows in tables.items()
        for batch in arrow(f"gold.{name}", rows).to_batches(max_chunksize=batch_rows)
    ]
    columns = {name: of_commits[name] for name in of_commits.column_names}
    facts.append(facts_with(len(of_commits), **columns, makes_row=True))
    return hours_made_of(pa.concat_tables(facts), has_commits=True, of_wanted=False)


def plain(rows: pa.Table) -> list[Row]:
    """Rows by key, moments in milliseconds."""
    found = rows.cast(
        pa.schema(
            [
                (field.name, pa.int64() if pa.types.is_timestamp(field.type) else field.type)
                for field in rows.schema
            ]
        )
    ).to_pylist()
    for row in found:
        row["hour"] //= 1_000
        last = row["last_commit_at"]
        row["last_commit_at"] = None if last is None else last // 1_000
    return by_key(found)


def by_key(rows: Iterable[Row]) -> list[Row]:
    """In order of group and hour."""
    return sorted(rows, key=lambda row: (row["group_id"], row["hour"]))


def moments(pauses: Mapping[str, list[float]]) -> dict[str, list[int]]:
    """Group -> when it commits."""
    found = defaultdict(list)
    for group, each in pauses.items():
        for number in range(len(each)):
            found[group].append(int(1_000 * sum(each[: number + 1])))
    return found


@settings(deadline=None)
@given(TABLES, COMMITS, st.integers(0, 7 * 60), st.integers(1, 5))
def test_hours_are_what_rows_say(
    tables: Tables, pauses: dict[str, list[float]], end_minute: int, batch_rows: int
) -> None:
    """Whatever batches the rows come in: counts, shares of time, bounds, the latest state, the most frequent cause."""
    end = end_minute * MINUTE
    of_commits = hours_of_commits(commit_rows(moments(pauses)))
    known = {
        (row["group_id"], row.pop("hour").timestamp() * 1_000 // HOUR): row
        for row in of_commits.to_pylist()
    }
    for row in known.values():
        del row["group_id"]
        row["last_commit_at"] = int(row["last_commit_at"].timestamp() * 1_000 + 0.5)
    found = plain(made_at_once(tables, end, of_commits, batch_rows))
    wanted = by_key(expected(tables, end, known))
    assert found == [{name: row[name] for name in found[0]} for row in wanted]
