"""What is wrong with a row, judged by itself and by the rows that are checked with it."""

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import combinations
from operator import and_
from typing import Final

from pyspark.sql import Column, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.tables.checks import Check, CheckKind, Where


def conditions(wheres: Sequence[Where]) -> Column:
    """Whether a row meets all conditions; never null."""
    return reduce(and_, map(_condition, wheres), F.lit(True))


def _condition(where: Where) -> Column:
    column = F.col(where.column)
    if where.is_null is not None:
        return column.isNull() if where.is_null else column.isNotNull()
    return F.coalesce(column.isin(list(where.values)), F.lit(False))


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


def _empty(check: Check) -> Column:
    (name,) = check.columns
    return F.when(F.size(name) > 0, F.concat(F.lit(f"{name} is "), F.to_json(name)))


ROW_PROBLEMS: Final[Mapping[CheckKind, Callable[[Check], Column]]] = {
    "unique": _unique,
    "ordered": _ordered,
    "sum": _sum,
    "difference": _difference,
    "absent": _absent,
    "empty": _empty,
}
"""Kind -> what is wrong with a row, judged by the rows that are checked."""
