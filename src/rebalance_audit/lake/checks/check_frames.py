"""Tables as frames that an expectation can judge row by row.

Most checks look at one row. Those that look at its neighbours or at another table get a column of their own here: null
if the row is fine, otherwise a sentence that says what is wrong. One pass computes all columns of a table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import combinations
from operator import and_
from threading import Lock
from typing import Final, TypeAlias

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.checks import (
    HOUR,
    Check,
    CheckKind,
    Where,
    column_of_term,
    single_checks,
)
from rebalance_audit.tables.schemas import TableSchema

Frame: TypeAlias = DataFrame
"""The type for modules that judge a frame without knowing the engine."""
ENDLESS: Final = (1 << 63) - 1
"""The end of a stretch that has not ended."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which rows are checked, and at which time."""

    cluster: str | None = None
    """None: rows of all clusters."""
    from_ms: int | None = None
    """Rows that begin at this moment or later, epoch milliseconds; rows without a time are in every window."""
    to_ms: int | None = None
    """Rows that begin before this moment, epoch milliseconds."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    limits: Mapping[str, int] = field(default_factory=dict)
    """Name of a limit -> milliseconds; if it is 0 or absent, the checks that use it are passed over."""

    kept_ms: Mapping[str, int] = field(default_factory=dict)
    """Full table name -> milliseconds for which rows are kept once they have ended; an absent table keeps all rows."""

    @property
    def is_window(self) -> bool:
        """Whether rows outside a window of time are left out."""
        return self.from_ms is not None or self.to_ms is not None


@dataclass(slots=True)
class CheckedTable:
    """A table that is ready to be judged."""

    schema: TableSchema
    checks: tuple[Check, ...]
    """A check of several columns at once is split into one for each."""
    version: int | None
    """Delta version; None if there is no such table."""
    rows: int = 0
    """How many of its rows are judged."""
    frame: DataFrame | None = None
    """The columns that checks use, and a column for each check in `problems`; held in memory until `release`."""
    problems: dict[Check, str] = field(default_factory=dict)
    """Check -> name of its column: null, or what is wrong with the row."""
    passed_over: dict[Check, str] = field(default_factory=dict)
    """Check -> why it cannot be judged here."""

    def release(self) -> None:
        """Free what the frame holds."""
        if self.frame is not None:
            self.frame.unpersist()


class TableFrames:
    """The tables of a lake as they are when a check begins: each is looked up only once."""

    def __init__(self, lake: Lake, scope: Scope) -> None:
        """Nothing is read yet."""
        self._lake = lake
        self._scope = scope
        self._found: dict[str, tuple[int, DataFrame] | None] = {}
        self._lock = Lock()

    def find(self, name: str) -> tuple[int, DataFrame] | None:
        """Version of a table, and its rows of the cluster that is checked; None if there is no table.

        Raises LakeNotReadable.
        """
        with self._lock:
            if name not in self._found:
                version = self._lake.version(name)
                self._found[name] = None if version is None else (version, self._read(name))
            return self._found[name]

    def _read(self, name: str) -> DataFrame:
        table = self._lake.read(name)
        cluster = self._scope.cluster
        return table if cluster is None else table.where(F.col("cluster") == cluster)


def checked_table(tables: TableFrames, schema: TableSchema, scope: Scope) -> CheckedTable:
    """A table with the columns that its checks need. Raises LakeNotReadable."""
    checks = tuple(single_checks(schema.checks))
    found = tables.find(schema.full_name)
    if found is None:
        checked = CheckedTable(schema, checks, None)
        checked.passed_over = dict.fromkeys(checks, "the lake has no such table")
        return checked
    version, table = found
    checked = CheckedTable(schema, checks, version)
    for check in checks:
        if (why := _cannot(tables, check, table.columns, scope)) is not None:
            checked.passed_over[check] = why
    judged = [check for check in checks if check not in checked.passed_over]
    used = {name for check in judged for name in check.used_columns}
    used |= {*schema.key, *filter(None, [schema.begins_at])}
    rows = table.select(*[name for name in table.columns if name in used])
    for number, check in enumerate(check for check in judged if check.kind in PROBLEMS):
        checked.problems[check] = name = f"problem_{number}"
        sight = _Sight(tables, scope, name, schema.begins_at)
        rows = PROBLEMS[check.kind](sight, rows, check)
    rows = rows.where(_in_window(schema, scope))
    for number, check in enumerate(check for check in judged if check.kind in ROW_PROBLEMS):
        checked.problems[check] = name = f"row_problem_{number}"
        rows = rows.withColumn(name, _row_problem(check))
    checked.frame = rows.persist(StorageLevel.MEMORY_AND_DISK)
    checked.rows = checked.frame.count()
    return checked


@dataclass(frozen=True, slots=True)
class BrokenRows:
    """The rows of a table that break a check."""

    count: int
    keys: tuple[str, ...]
    """Keys of the first of them, each as JSON."""
    detail: str
    """What is wrong with the first."""


def broken_rows(
    table: CheckedTable, checks: Sequence[Check], sample_keys: int
) -> dict[Check, BrokenRows]:
    """The rows that break each of these checks, found in one job; a check that no row breaks is absent."""
    assert table.frame is not None
    if not checks:
        return {}
    found = [
        F.struct(F.lit(at).alias("check"), _problem(table, check).alias("problem"))
        for at, check in enumerate(checks)
    ]
    key = F.to_json(F.struct(*table.schema.key), {"ignoreNullFields": "false"})
    broken = table.frame.select(key.alias("key"), F.explode(F.array(*found)).alias("found"))
    alike = Window.partitionBy("found.check")
    told = (
        broken.where("found.problem is not null")
        .withColumn("place", F.row_number().over(alike.orderBy("key")))
        .withColumn("count", F.count(F.lit(1)).over(alike))
        .where(F.col("place") <= sample_keys)
        .select("found.*", "key", "place", "count")
    )
    rows: dict[int, list[Row]] = {}
    for row in sorted(told.collect(), key=lambda row: row["place"]):
        rows.setdefault(row["check"], []).append(row)
    return {
        checks[at]: BrokenRows(of[0]["count"], tuple(row["key"] for row in of), of[0]["problem"])
        for at, of in rows.items()
    }


def _problem(table: CheckedTable, check: Check) -> Column:
    name = table.problems.get(check)
    return _row_problem(check) if name is None else F.col(name)


def _row_problem(check: Check) -> Column:
    problem = {**COLUMN_PROBLEMS, **ROW_PROBLEMS}[check.kind](check)
    return F.when(conditions(check.where), problem)


def conditions(wheres: Sequence[Where]) -> Column:
    """Whether a row meets all conditions; never null."""
    return reduce(and_, map(_condition, wheres), F.lit(True))


def _condition(where: Where) -> Column:
    column = F.col(where.column)
    if where.is_null is not None:
        return column.isNull() if where.is_null else column.isNotNull()
    return F.coalesce(column.isin(list(where.values)), F.lit(False))


def _in_window(schema: TableSchema, scope: Scope) -> Column:
    window = F.lit(True)
    if schema.begins_at is None:
        return window
    begins = F.col(schema.begins_at)
    if scope.from_ms is not None:
        window &= begins >= F.timestamp_millis(F.lit(scope.from_ms))
    if scope.to_ms is not None:
        window &= begins < F.timestamp_millis(F.lit(scope.to_ms))
    return window


def _cannot(tables: TableFrames, check: Check, columns: Sequence[str], scope: Scope) -> str | None:
    """Why a check cannot be judged; None if it can."""
    if missing := [name for name in check.used_columns if name not in columns]:
        return f"the table is an earlier release's and has no {', '.join(missing)}"
    if check.limit is not None and not scope.limits.get(check.limit):
        return f"checks.{check.limit} is 0"
    if check.table is not None:
        found = tables.find(check.table)
        if found is None:
            return f"the lake has no {check.table}"
        if missing := [name for name in check.used_there() if name not in found[1].columns]:
            return f"{check.table} is an earlier release's and has no {', '.join(missing)}"
    return None


# --- rows of the window -------------------------------------------------------------------------


def _not_null(check: Check) -> Column:
    (name,) = check.columns
    return F.when(F.col(name).isNull(), F.lit(f"{name} is null"))


def _in_set(check: Check) -> Column:
    (name,) = check.columns
    return F.when(~F.col(name).isin(list(check.values)), F.concat(F.lit(f"{name} is "), name))


def _range(check: Check) -> Column:
    (name,) = check.columns
    below = F.lit(False) if check.minimum is None else F.col(name) < check.minimum
    above = F.lit(False) if check.maximum is None else F.col(name) > check.maximum
    return F.when(below | above, F.concat(F.lit(f"{name} is "), F.col(name).cast("string")))


def _unique(check: Check) -> Column:
    # Only within the window: rows with the same key have the same time, and a window of a long log is quickly sorted.
    alike = F.count(F.lit(1)).over(Window.partitionBy(*check.columns))
    return F.when(alike > 1, F.concat_ws(" ", alike, F.lit("rows with this key")))


def _ordered(check: Check) -> Column:
    pairs = [
        F.when(
            F.col(earlier) > F.col(later),
            F.concat_ws(" ", F.lit(f"{later} is"), later, F.lit(f", {earlier} is"), earlier),
        )
        for earlier, later in combinations(check.columns, 2)
    ]
    return F.coalesce(*pairs)


def _sum(check: Check) -> Column:
    total, *parts = map(F.col, check.columns)
    added = reduce(lambda one, two: one + two, parts)
    return F.when(total != added, F.concat_ws(" ", total, F.lit("is not"), added))


def _difference(check: Check) -> Column:
    given, begin, end = check.columns
    taken = F.unix_millis(F.col(end)) - F.unix_millis(F.col(begin))
    return F.when(
        F.col(given) != taken,
        F.concat_ws(" ", F.col(given), F.lit(f"is not {end} - {begin}, which is"), taken),
    )


COLUMN_PROBLEMS: Final[Mapping[CheckKind, Callable[[Check], Column]]] = {
    "not_null": _not_null,
    "in_set": _in_set,
    "range": _range,
}
"""Kind -> what is wrong with a row, for kinds that the suites judge by the column alone."""


def _absent(check: Check) -> Column:
    (column,) = check.columns
    return F.col(column)


ROW_PROBLEMS: Final[Mapping[CheckKind, Callable[[Check], Column]]] = {
    "unique": _unique,
    "ordered": _ordered,
    "sum": _sum,
    "difference": _difference,
    "absent": _absent,
}
"""Kind -> what is wrong with a row, judged by the rows that are checked."""


# --- neighbours and other tables ---------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Sight:
    """What a check over more than one row uses, and the name of its column."""

    tables: TableFrames
    scope: Scope
    name: str
    begins_at: str | None

    def judged(self, check: Check) -> Column:
        """Whether a row is judged by another table: not if that table's rows of the time may have been deleted."""
        wanted = conditions(check.where)
        kept_ms = self.scope.kept_ms.get(str(check.table))
        if kept_ms is None or self.begins_at is None:
            return wanted
        oldest = F.lit(self.scope.now - timedelta(milliseconds=kept_ms))
        return wanted & F.coalesce(F.col(self.begins_at) >= oldest, F.lit(False))

    def table(self, check: Check) -> DataFrame:
        """The rows of the other table that the check uses."""
        assert check.table is not None
        found = self.tables.find(check.table)
        assert found is not None
        return found[1].where(conditions(check.there_where))

    def there(self, check: Check) -> list[Column]:
        """The terms of `there`, as columns named by their place."""
        return [_term(term).alias(f"{self.name}_{at}") for at, term in enumerate(check.there)]

    def join(self, rows: DataFrame, other: DataFrame, columns: Sequence[str]) -> DataFrame:
        """Each row with what `other` has for it, null-safe; the columns of `there` are gone."""
        names = [f"{self.name}_{at}" for at in range(len(columns))]
        pairs = zip(columns, names, strict=True)
        same = reduce(and_, (F.col(mine).eqNullSafe(F.col(its)) for mine, its in pairs))
        return rows.join(other, same, "left").drop(*names)


def _term(term: str) -> Column:
    column = F.col(column_of_term(term))
    return F.date_trunc("hour", column) if term.startswith(HOUR) else column


def _chain(sight: _Sight, rows: DataFrame, check: Check) -> DataFrame:
    value, previous = check.columns
    before = F.lag(value).over(Window.partitionBy(*check.within).orderBy(value))
    # The row before the first one is outside the run's window, or has been deleted for its age.
    problem = F.when(
        conditions(check.where) & before.isNotNull() & ~F.col(previous).eqNullSafe(before),
        F.concat(
            F.lit(f"{previous} is "),
            F.coalesce(F.col(previous).cast("string"), F.lit("null")),
            F.lit(f", {value} of the row before is "),
            before.cast("string"),
        ),
    )
    return rows.withColumn(sight.name, problem)


def _no_holes(sight: _Sight, rows: DataFrame, check: Check) -> DataFrame:
    (value,) = check.columns
    before = F.lag(value).over(Window.partitionBy(*check.within).orderBy(value))
    problem = F.when(
        conditions(check.where) & (F.col(value) != before + 1),
        F.concat_ws(" ", F.lit("the row before has"), before),
    )
    return rows.withColumn(sight.name, problem)


def _no_overlap(sight: _Sight, rows: DataFrame, check: Check) -> DataFrame:
    begin, end = check.columns
    earlier = (
        Window.partitionBy(*check.within)
        .orderBy(begin, F.coalesce(end, F.lit(ENDLESS)))
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    latest = F.max(F.coalesce(end, F.lit(ENDLESS))).over(earlier)
    shown = F.when(latest == ENDLESS, F.lit("has not ended")).otherwise(
        F.concat(F.lit("ends at "), latest.cast("string"))
    )
    problem = F.when(
        conditions(check.where) & (latest > F.col(begin)),
        F.concat(F.lit("an earlier stretch "), shown),
    )
    return rows.withColumn(sight.name, problem)


def _refers(sight: _Sight, rows: DataFrame, check: Check) -> DataFrame:
    there = sight.table(check).select(*sight.there(check)).distinct()
    found = f"{sight.name}_found"
    joined = sight.join(rows, there.withColumn(found, F.lit(True)), check.columns)
    whole = reduce(and_, (F.col(name).isNotNull() for name in check.columns))
    problem = F.when(
        sight.judged(check) & whole & F.col(found).isNull(),
        F.lit(f"{check.table} has no such row"),
    )
    return joined.withColumn(sight.name, problem).drop(found)


def _total(sight: _Sight, rows: DataFrame, check: Check) -> DataFrame:
    (value,) = check.columns
    amount = F.count(F.lit(1)) if check.of == "*" else F.sum(str(check.of))
    found = f"{sight.name}_found"
    there = sight.table(check).groupBy(*sight.there(check)).agg(amount.alias(found))
    joined = sight.join(rows, there, check.within)
    total = F.coalesce(found, F.lit(0))
    problem = F.when(
        sight.judged(check) & (F.col(value) != total),
        F.concat_ws(" ", F.col(value), F.lit(f"here, by {check.table} it is"), total),
    )
    return joined.withColumn(sight.name, problem).drop(found)


def _fresh(sight: _Sight, rows: DataFrame, check: Check) -> DataFrame:
    (value,) = check.columns
    assert check.limit is not None
    limit_ms = sight.scope.limits[check.limit]
    oldest = F.lit(sight.scope.now - timedelta(milliseconds=limit_ms))
    counts = F.when(conditions(check.where), F.col(value))
    newest = F.max(counts).over(Window.partitionBy(*check.within))
    problem = F.when(
        (counts == newest) & (newest < oldest),
        F.concat(F.lit("nothing newer than "), newest.cast("string")),
    )
    return rows.withColumn(sight.name, problem)


PROBLEMS: Final[Mapping[CheckKind, Callable[[_Sight, DataFrame, Check], DataFrame]]] = {
    "chain": _chain,
    "no_holes": _no_holes,
    "no_overlap": _no_overlap,
    "refers": _refers,
    "total": _total,
    "fresh": _fresh,
}
"""Kind -> function that adds the column with what is wrong with each row."""
