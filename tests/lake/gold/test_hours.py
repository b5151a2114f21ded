"""Hours of groups: what rows of gold tables and commits say, minute by minute; at once, and in two increments."""

import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rebalance_audit.audit.rows import EPOCHS, GROUP_STATES, OWNERSHIP, REBALANCES
from rebalance_audit.lake.gold.commit_seconds import counted_by_second
from rebalance_audit.lake.gold.commit_stretches import (
    HOURS,
    hours_of_seconds,
    seconds_in_order,
    seconds_with,
)
from rebalance_audit.lake.gold.hour_codes import KEY
from rebalance_audit.lake.gold.hour_facts import (
    LOOKED_AT,
    OF_COMMITS,
    FactsOf,
    facts_with,
    hours_of_open,
    hours_touched,
)
from rebalance_audit.lake.gold.hour_rows import hours_made_of
from rebalance_audit.lake.gold.hours_patch import HoursMade, HoursPatch
from rebalance_audit.lake.storage.data_files import DataFiles
from rebalance_audit.lake.storage.table_files import TableFiles
from rebalance_audit.lake.storage.table_patch import PatchableTable, PatchedTable
from rebalance_audit.tables.arrow_types import arrow_table, schema_of_columns
from rebalance_audit.tables.schemas import TableName, table_schemas
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
DATED_BACK = st.integers(0, 8)
"""Which of nine commits come after later ones."""


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
    """KEY and OF_COMMITS, made of all commits at once."""
    batches = arrow(TableName.OFFSET_COMMITS, rows).to_batches()
    seconds = seconds_with(pa.Table.from_batches([part]) for part in counted_by_second(batches))
    made = [*hours_of_seconds(seconds_in_order(seconds))]
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


def until(tables: Tables, end: int) -> dict[str, list[Row]]:
    """What tables have when the log has come to a moment: what ends later has not ended."""
    bounds_of_open = dict.fromkeys([f"duration_{end}_ms" for end in ("min", "estimate", "max")])

    def ends(row: Row) -> Row:
        later = {
            name: None
            for name in ("ended_at", "converged_at", "to_at")
            if row.get(name) is not None and row[name] > end
        }
        if "converged_at" in later:
            later["convergence_ms"] = None
        if "ended_at" in later:
            later |= bounds_of_open
        return {**row, **later}

    begins = dict.fromkeys((EPOCHS, REBALANCES), "started_at")
    begins |= dict.fromkeys((OWNERSHIP, GROUP_STATES), "from_at")
    return {
        name: [ends(row) for row in rows if row[begins[name]] <= end]
        for name, rows in tables.items()
    }


class Files:
    """Tables as files in folders of their own."""

    def __init__(self, folder: Path) -> None:
        """Nothing is written yet."""
        self._folder = folder
        self.names: dict[str, list[str]] = defaultdict(list)

    def of(self, name: str) -> DataFiles:
        """How the table's files are written."""
        folder = self._folder / name
        folder.mkdir(exist_ok=True)
        columns = {column.name: (column.type, True) for column in table_schemas()[name].columns}
        return DataFiles(str(folder), columns, (), "zstd")

    def write(self, name: str, rows: pa.Table) -> TableFiles:
        """One more file, or none; gives it alone."""
        names = [self.of(name).written(rows).name] if rows.num_rows else []
        self.names[name] += names
        files = self.patchable(name).of_cluster(CLUSTER)
        return replace(files, paths=files.paths[len(files.paths) - len(names) :])

    def patchable(self, name: str) -> PatchableTable:
        """As the driver describes it."""
        key = tuple(table_schemas()[name].key)
        return PatchableTable(self.of(name), tuple(self.names[name]), key, None, True, 0)

    def change(self, name: str, done: PatchedTable) -> None:
        """As the driver commits it."""
        there = [each for each in self.names[name] if each not in done.removed]
        self.names[name] = there + [file.name for file in done.added]

    def rows(self, name: str) -> pa.Table:
        """All of them."""
        schema = schema_of_columns(
            {column.name: column.type for column in table_schemas()[name].columns}
        )
        files = self.patchable(name).of_cluster(CLUSTER)
        return pa.Table.from_batches([*files.rows(schema.names)], schema)


def told(patch: HoursPatch, changed: list[pa.Table]) -> HoursMade:
    """What the task tells."""
    batches = pa.concat_tables(changed).to_batches()
    ((text,),) = ([*each["told"].to_pylist()] for each in patch.tell(batches))
    return HoursMade.from_told(text)


@settings(deadline=None, max_examples=40)
@example({name: [] for name in LOOKED_AT}, {"g": [600, 600, 3_000]}, 80, 0, {1})
@given(TABLES, COMMITS, st.integers(0, 5 * 60), st.integers(0, 3 * 60), st.sets(DATED_BACK))
def test_hours_go_on_as_if_made_at_once(
    tables: Tables,
    pauses: dict[str, list[float]],
    first_minute: int,
    more_minutes: int,
    dated_back: set[int],
) -> None:
    """One task brings the table up to date from what changed, and reads known commits only where it asked for them."""
    first = first_minute * MINUTE
    end = first + more_minutes * MINUTE
    commits = [row for row in commit_rows(moments(pauses)) if row["timestamp"] <= end]
    is_new = [
        row["timestamp"] > first or number % 9 in dated_back for number, row in enumerate(commits)
    ]
    old = [row for row, new in zip(commits, is_new, strict=True) if not new]
    new = [row for row, new in zip(commits, is_new, strict=True) if new]
    before, after = until(tables, first), until(tables, end)
    with tempfile.TemporaryDirectory() as folder:
        files = Files(Path(folder))
        hours = made_at_once(before, first, hours_of_commits(old))
        names = table_schemas()[TableName.GROUP_HOURS].column_names
        hours = hours.append_column("cluster", pa.array([CLUSTER] * len(hours), pa.string()))
        files.write(TableName.GROUP_HOURS, hours.select(names))
        changed = []
        for name, rows in after.items():
            files.write(f"gold.{name}", arrow(f"gold.{name}", rows))
            differ = [row for row in rows if row not in before[name]]
            gone = [row for row in before[name] if row not in rows]
            changed.append(hours_touched(name, arrow(f"gold.{name}", [*differ, *gone])))
        changed.append(hours_of_open(arrow("gold.rebalances", after[REBALANCES]), first, end))
        files.write(TableName.OFFSET_COMMITS, arrow(TableName.OFFSET_COMMITS, old))
        patch = HoursPatch(
            files.patchable(TableName.GROUP_HOURS),
            {name: files.patchable(f"gold.{name}") for name in LOOKED_AT},
            CLUSTER,
            files.write(TableName.OFFSET_COMMITS, arrow(TableName.OFFSET_COMMITS, new)),
            min((row["timestamp"] for row in new), default=None),
            end,
        )
        made = told(patch, changed)
        if made.lacks_commits:
            there = files.patchable(TableName.OFFSET_COMMITS).of_cluster(CLUSTER)
            made = told(replace(patch, commits=there), changed)
        assert made.patched is not None
        files.change(TableName.GROUP_HOURS, made.patched)
        found = files.rows(TableName.GROUP_HOURS).drop_columns("cluster")
    assert plain(found) == plain(made_at_once(after, end, hours_of_commits(commits)))
