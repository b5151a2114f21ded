"""What is wrong with a row, judged by its neighbours or by another table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import reduce
from operator import and_, gt, ne
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.checks.row_problems import conditions
from rebalance_audit.lake.checks.scope import Scope
from rebalance_audit.lake.checks.table_frames import TableFrames
from rebalance_audit.tables.checks import HOUR, Check, CheckKind, column_of_term

ENDLESS: Final = (1 << 63) - 1
"""The end of a stretch that has not ended."""
HELPERS: Final = ("found", "known", "lacks")
"""Suffixes of helper columns."""
COMPARISONS: Final[Mapping[CheckKind, tuple[str, Callable[[Column, Column], Column]]]] = {
    "total": ("it is", ne),
    "at_most": ("it is at most", gt),
}
"""Kind -> words for the sum of another table, and when a value disagrees with it."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What checks over more than one row use, and the name of the first one's column."""

    tables: TableFrames
    scope: Scope
    name: str
    begins_at: str | None

    def judged(self, check: Check) -> Column:
        """Whether a row is judged by another table: not if that table's rows of the time may have been deleted."""
        wanted = conditions(check.where)
        kept_ms = self.scope.kept_ms.get(str(check.table))
        if kept_ms is None:
            return wanted
        if self.begins_at is None:
            return F.lit(False)
        oldest = F.lit(self.scope.now - timedelta(milliseconds=kept_ms))
        return wanted & F.coalesce(F.col(self.begins_at) >= oldest, F.lit(False))

    def table(self, check: Check) -> DataFrame:
        """The rows of the other table that the check uses."""
        assert check.table is not None
        found = self.tables.find(check.table)
        assert found is not None
        return found[1].where(conditions(check.there_where))

    def known(self, rows: DataFrame, check: Check) -> tuple[DataFrame, Column]:
        """The rows with a column, and whether the other table has any row of their cluster, where that matters."""
        if not check.if_any:
            return rows, F.lit(True)
        assert check.table is not None
        name = f"{self.name}_known"
        clusters = self.table(check).select("cluster").distinct().withColumn(name, F.lit(True))
        return rows.join(F.broadcast(clusters), "cluster", "left"), F.col(name).isNotNull()

    def with_columns(self, rows: DataFrame, problems: Mapping[str, Column]) -> DataFrame:
        """The rows with the columns that say what is wrong, without helper columns."""
        helpers = [f"{name}_{what}" for name in problems for what in HELPERS]
        return rows.withColumns(dict(problems)).drop(*helpers)

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


def _chain(sight: Sight, rows: DataFrame, check: Check) -> DataFrame:
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


def _no_holes(sight: Sight, rows: DataFrame, check: Check) -> DataFrame:
    (value,) = check.columns
    before = F.lag(value).over(Window.partitionBy(*check.within).orderBy(value))
    problem = F.when(
        conditions(check.where) & (F.col(value) != before + 1),
        F.concat_ws(" ", F.lit("the row before has"), before),
    )
    return rows.withColumn(sight.name, problem)


def _no_overlap(sight: Sight, rows: DataFrame, check: Check) -> DataFrame:
    begin, end = check.columns
    earlier = (
        Window.partitionBy(*check.within)
        .orderBy(begin, F.coalesce(end, F.lit(ENDLESS)))
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    latest = F.max(F.coalesce(end, F.lit(ENDLESS))).over(earlier)
    problem = F.when(
        conditions(check.where) & (latest > F.col(begin)),
        F.concat(F.lit("an earlier stretch "), _ends_at(latest)),
    )
    return rows.withColumn(sight.name, problem)


def _contiguous(sight: Sight, rows: DataFrame, check: Check) -> DataFrame:
    begin, end = check.columns
    before = Window.partitionBy(*check.within).orderBy(begin)
    # The row before the first one is outside the run's window, or has been deleted for its age.
    ended = F.when(
        F.lag(begin).over(before).isNotNull(), F.coalesce(F.lag(end).over(before), F.lit(ENDLESS))
    )
    problem = F.when(
        conditions(check.where) & (ended != F.col(begin)),
        F.concat(F.lit("the stretch before "), _ends_at(ended)),
    )
    return rows.withColumn(sight.name, problem)


def _ends_at(end: Column) -> Column:
    return F.when(end == ENDLESS, F.lit("has not ended")).otherwise(
        F.concat(F.lit("ends at "), end.cast("string"))
    )


def _refers(sight: Sight, rows: DataFrame, check: Check) -> DataFrame:
    there = sight.table(check).select(*sight.there(check)).distinct()
    found = f"{sight.name}_found"
    joined = sight.join(rows, there.withColumn(found, F.lit(True)), check.columns)
    joined, known = sight.known(joined, check)
    whole = reduce(and_, (F.col(name).isNotNull() for name in check.columns))
    problem = F.when(
        sight.judged(check) & known & whole & F.col(found).isNull(),
        F.lit(f"{check.table} has no such row"),
    )
    return sight.with_columns(joined, {sight.name: problem})


def _summed(sight: Sight, rows: DataFrame, names: Mapping[Check, str]) -> DataFrame:
    """The rows with a column for each of these checks, by its name: all compare with sums over the same rows."""
    first, *_ = names
    amounts = [amount for check, name in names.items() for amount in _amounts(check, name)]
    totals = sight.table(first).groupBy(*sight.there(first)).agg(*amounts)
    joined, known = sight.known(sight.join(rows, totals, first.within), first)
    problems = {}
    for check, name in names.items():
        (value,), total = check.columns, F.coalesce(F.col(f"{name}_found"), F.lit(0))
        phrase, is_wrong = COMPARISONS[check.kind]
        complete = ~F.coalesce(F.col(f"{name}_lacks"), F.lit(False))
        problems[name] = F.when(
            sight.judged(check) & known & complete & is_wrong(F.col(value), total),
            F.concat_ws(" ", F.col(value), F.lit(f"here, by {check.table} {phrase}"), total),
        )
    return sight.with_columns(joined, problems)


def _amounts(check: Check, name: str) -> tuple[Column, Column]:
    """The sum that a check compares with, and whether a value of it is missing."""
    amount = F.count(F.lit(1)) if check.of == "*" else F.sum(str(check.of))
    lacking = F.col(str(check.of)).isNull() if check.if_known else F.lit(False)
    return amount.alias(f"{name}_found"), F.bool_or(lacking).alias(f"{name}_lacks")


def _fresh(sight: Sight, rows: DataFrame, check: Check) -> DataFrame:
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


PROBLEMS: Final[Mapping[CheckKind, Callable[[Sight, DataFrame, Check], DataFrame]]] = {
    "chain": _chain,
    "no_holes": _no_holes,
    "no_overlap": _no_overlap,
    "contiguous": _contiguous,
    "refers": _refers,
    "fresh": _fresh,
}
"""Kind -> function that adds the column with what is wrong with each row."""


def judged_together(checks: Iterable[Check]) -> list[list[Check]]:
    """The checks of neighbours and other tables, those together that compare with sums over the same rows."""
    found: dict[object, list[Check]] = {}
    for check in checks:
        if check.kind in COMPARISONS:
            alike = (check.table, check.there, check.there_where, check.within, check.if_any)
            found.setdefault(alike, []).append(check)
        elif check.kind in PROBLEMS:
            found[check] = [check]
    return list(found.values())


def with_problems(sight: Sight, rows: DataFrame, names: Mapping[Check, str]) -> DataFrame:
    """The rows with the columns of checks that are judged together, by their names."""
    first, *_ = names
    if first.kind in COMPARISONS:
        return _summed(sight, rows, names)
    return PROBLEMS[first.kind](sight, rows, first)
