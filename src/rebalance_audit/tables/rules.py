"""Checks as Spark SQL: for each row null, or a sentence that says what is wrong with it.

The suites for Great Expectations contain these queries, and `rebalance-audit check` evaluates the same expressions,
all of a table at once. Columns and lists of values come from `schemas/tables`; nothing of a log gets into the text.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import combinations
from types import MappingProxyType
from typing import Final

from rebalance_audit.tables.checks import HOUR, Check, CheckKind, Where, column_of_term
from rebalance_audit.tables.schemas import TableSchema

BATCH: Final = "{batch}"
"""Placeholder for the rows to check, both in Great Expectations' queries and in `SparkSession.sql`."""
ENDLESS: Final = (1 << 63) - 1
"""The end of a stretch that has not ended."""


EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class CheckBounds:
    """What a check depends on besides the rows: times, and how long rows are kept. Nothing of it by default."""

    now: datetime = EPOCH
    limits_ms: Mapping[str, int] = field(default_factory=dict)
    """Name of a limit -> milliseconds."""
    kept_ms: Mapping[str, int] = field(default_factory=dict)
    """Full table name -> milliseconds for which its rows are kept; an absent table keeps all rows."""


@dataclass(frozen=True, slots=True)
class Other:
    """The rows of another table that checks compare with; checks that have the same one share a join."""

    table: str
    there: tuple[str, ...]
    where: tuple[Where, ...]
    mine: tuple[str, ...]
    if_any: bool
    is_summed: bool


def other_of(check: Check) -> Other | None:
    """What the check compares its table with; None if it looks at its own table alone."""
    if check.table is None:
        return None
    mine = check.within or check.columns
    summed = check.kind in COMPARISONS
    return Other(check.table, check.there, check.there_where, mine, check.if_any, summed)


def view_name(table: str) -> str:
    """The name of a table's temporary view: `gold_epochs` for `gold.epochs`."""
    return table.replace(".", "_")


def unexpected_rows(schema: TableSchema, check: Check, bounds: CheckBounds) -> str:
    """The query that returns the rows that break a check: their key, and `problem`."""
    rows = rows_with_problems(schema, {"problem": check}, schema.key, bounds, view_name)
    return f"SELECT * FROM ({rows}) WHERE problem IS NOT NULL"  # noqa: S608 - our own names


def rows_with_problems(
    schema: TableSchema,
    checks: Mapping[str, Check],
    columns: Sequence[str],
    bounds: CheckBounds,
    source_of: Callable[[str], str],
) -> str:
    """The query that returns all rows with some of their columns, and the problems of checks, by their names.

    `source_of` returns what to select from for another table.
    """
    others = dict.fromkeys(filter(None, map(other_of, checks.values())))
    aliases = {other: f"other_{at}" for at, other in enumerate(others)}
    alias_of = {check: aliases[other] for check in checks.values() if (other := other_of(check))}
    problems = [
        f"{problem(schema, check, bounds, alias_of.get(check))} AS {name}"
        for name, check in checks.items()
    ]
    joins = "".join(
        _join(
            other,
            alias,
            [check for check in checks.values() if other_of(check) == other],
            source_of,
        )
        for other, alias in aliases.items()
    )
    return f"SELECT {', '.join([*columns, *problems])} FROM {BATCH}{joins}"  # noqa: S608 - our own names


def problem(
    schema: TableSchema, check: Check, bounds: CheckBounds, alias: str | None = None
) -> str:
    """What is wrong with a row, as an expression; `alias` names the joined rows of another table."""
    wrong, sentence = WRONG[check.kind](check, bounds) if alias is None else _compared(check, alias)
    judged = [*map(_condition, check.where), wrong]
    if check.table is not None and check.table in bounds.kept_ms:
        oldest = _moment(bounds.now, bounds.kept_ms[check.table])
        # Rows of the other table may have been deleted: the younger ones alone are judged.
        judged.append("false" if schema.begins_at is None else f"{schema.begins_at} >= {oldest}")
    return f"CASE WHEN {' AND '.join(judged)} THEN {sentence} END"


# --- a row by itself, and among its neighbours -------------------------------------------------

Wrong = tuple[str, str]
"""When a row is wrong, and the sentence."""


def _not_null(check: Check, _: CheckBounds) -> Wrong:
    (name,) = check.columns
    return f"{name} IS NULL", sql_literal(f"{name} is null")


def _in_set(check: Check, _: CheckBounds) -> Wrong:
    (name,) = check.columns
    return f"{name} NOT IN ({_list(check.values)})", _words(f"{name} is", name)


def _range(check: Check, _: CheckBounds) -> Wrong:
    (name,) = check.columns
    bounds = (("<", check.minimum), (">", check.maximum))
    wrong = " OR ".join(f"{name} {sign} {bound}" for sign, bound in bounds if bound is not None)
    return f"({wrong})", _words(f"{name} is", name)


def _unique(check: Check, _: CheckBounds) -> Wrong:
    alike = f"count(1) OVER (PARTITION BY {', '.join(check.columns)})"
    return f"{alike} > 1", f"concat_ws(' ', {alike}, 'rows with this key')"


def _ordered(check: Check, _: CheckBounds) -> Wrong:
    pairs = list(combinations(check.columns, 2))
    cases = [
        f"WHEN {one} > {two} THEN concat_ws(' ', '{two} is', {two}, ', {one} is', {one})"
        for one, two in pairs
    ]
    wrong = " OR ".join(f"{earlier} > {later}" for earlier, later in pairs)
    return f"({wrong})", f"CASE {' '.join(cases)} END"


def _sum(check: Check, _: CheckBounds) -> Wrong:
    total, *parts = check.columns
    added = " + ".join(parts)
    return f"{total} <> {added}", f"concat_ws(' ', {total}, 'is not', {added})"


def _difference(check: Check, _: CheckBounds) -> Wrong:
    given, begin, end = check.columns
    taken = f"unix_millis({end}) - unix_millis({begin})"
    words = sql_literal(f"is not {end} - {begin}, which is")
    return f"{given} <> {taken}", f"concat_ws(' ', {given}, {words}, {taken})"


def _absent(check: Check, _: CheckBounds) -> Wrong:
    (column,) = check.columns
    return "true", column


def _empty(check: Check, _: CheckBounds) -> Wrong:
    (name,) = check.columns
    return f"size({name}) > 0", f"concat('{name} is ', to_json({name}))"


def _chain(check: Check, _: CheckBounds) -> Wrong:
    value, previous = check.columns
    before = f"lag({value}) OVER ({_partition(check)} ORDER BY {value})"
    # The row before the first one is outside the run's window, or has been deleted for its age.
    wrong = f"{before} IS NOT NULL AND NOT {previous} <=> {before}"
    given = f"'{previous} is ', coalesce(string({previous}), 'null')"
    return wrong, f"concat({given}, ', {value} of the row before is ', {before})"


def _no_holes(check: Check, _: CheckBounds) -> Wrong:
    (value,) = check.columns
    before = f"lag({value}) OVER ({_partition(check)} ORDER BY {value})"
    return f"{value} <> {before} + 1", f"concat_ws(' ', 'the row before has', {before})"


def _no_overlap(check: Check, _: CheckBounds) -> Wrong:
    begin, end = check.columns
    ended = f"coalesce({end}, {ENDLESS})"
    latest = (
        f"max({ended}) OVER ({_partition(check)} ORDER BY {begin}, {ended}"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    )
    return f"{latest} > {begin}", _ends_at("an earlier stretch", latest)


def _contiguous(check: Check, _: CheckBounds) -> Wrong:
    begin, end = check.columns
    # The row before the first one is outside the run's window, or has been deleted for its age.
    ended = f"lag(coalesce({end}, {ENDLESS})) OVER ({_partition(check)} ORDER BY {begin})"
    return f"{ended} <> {begin}", _ends_at("the stretch before", ended)


def _ends_at(what: str, end: str) -> str:
    ended = f"CASE WHEN {end} = {ENDLESS} THEN 'has not ended' ELSE concat('ends at ', {end}) END"
    return f"concat_ws(' ', '{what}', {ended})"


def _fresh(check: Check, bounds: CheckBounds) -> Wrong:
    (value,) = check.columns
    oldest = _moment(bounds.now, bounds.limits_ms[str(check.limit)])
    newest = f"max({_only_where(check, value)}) OVER ({_partition(check)})"
    wrong = f"{value} = {newest} AND {newest} < {oldest}"
    return wrong, f"concat('nothing newer than ', {newest})"


WRONG: Final[Mapping[CheckKind, Callable[[Check, CheckBounds], Wrong]]] = {
    "unique": _unique,
    "not_null": _not_null,
    "in_set": _in_set,
    "range": _range,
    "ordered": _ordered,
    "sum": _sum,
    "difference": _difference,
    "chain": _chain,
    "no_holes": _no_holes,
    "no_overlap": _no_overlap,
    "contiguous": _contiguous,
    "empty": _empty,
    "fresh": _fresh,
    "absent": _absent,
}
"""Kind -> when a row of the table is wrong, by the table alone."""
OF_NEIGHBOURS: Final = frozenset({"chain", "no_holes", "no_overlap", "contiguous", "fresh"})
"""Kinds that compare a row with others of its table, which may lie outside a window of time."""


# --- another table -----------------------------------------------------------------------------

COMPARISONS: Final = MappingProxyType({"total": ("<>", "it is"), "at_most": (">", "it is at most")})
"""Kind -> when a value is wrong beside the sum of another table, and words for that sum."""


def _compared(check: Check, alias: str) -> Wrong:
    known = [f"{alias}_known.cluster_there IS NOT NULL"] if check.if_any else []
    if check.kind not in COMPARISONS:
        whole = [f"{name} IS NOT NULL" for name in check.columns]
        wrong = [*known, *whole, f"{alias}.is_there IS NULL"]
        return " AND ".join(wrong), sql_literal(f"{check.table} has no such row")
    (value,) = check.columns
    sign, words = COMPARISONS[check.kind]
    total = f"coalesce({alias}.{_amount_name(check)}, 0)"
    complete = [f"coalesce({alias}.{_lacks_name(check)}, 0) = 0"] if check.if_known else []
    wrong = [*known, *complete, f"{value} {sign} {total}"]
    phrase = sql_literal(f"here, by {check.table} {words}")
    return " AND ".join(wrong), f"concat_ws(' ', {value}, {phrase}, {total})"


def _join(
    other: Other, alias: str, checks: Sequence[Check], source_of: Callable[[str], str]
) -> str:
    """Joins what the checks need of another table, at most one row for each row; the keys compare null-safe."""
    where = f" WHERE {' AND '.join(map(_condition, other.where))}" if other.where else ""
    source = f"{source_of(other.table)}{where}"
    keys = [f"{_term(term)} AS key_{at}" for at, term in enumerate(other.there)]
    if other.is_summed:
        amounts = dict.fromkeys(amount for check in checks for amount in _amounts(check))
        group = ", ".join(str(at + 1) for at in range(len(keys)))
        rows = f"SELECT {', '.join([*keys, *amounts])} FROM {source} GROUP BY {group}"  # noqa: S608 - our own names
    else:
        rows = f"SELECT DISTINCT {', '.join(keys)}, true AS is_there FROM {source}"  # noqa: S608 - our own names
    on = " AND ".join(f"{name} <=> {alias}.key_{at}" for at, name in enumerate(other.mine))
    joins = f" LEFT JOIN ({rows}) {alias} ON {on}"
    if other.if_any:
        clusters = f"SELECT DISTINCT cluster AS cluster_there FROM {source}"  # noqa: S608 - our own names
        joins += f" LEFT JOIN ({clusters}) {alias}_known ON cluster = {alias}_known.cluster_there"
    return joins


def _amounts(check: Check) -> Iterable[str]:
    yield f"{'count(1)' if check.of == '*' else f'sum({check.of})'} AS {_amount_name(check)}"
    if check.if_known:
        yield f"count_if({check.of} IS NULL) AS {_lacks_name(check)}"


def _amount_name(check: Check) -> str:
    return "rows_there" if check.of == "*" else f"sum_of_{check.of}"


def _lacks_name(check: Check) -> str:
    return f"lacking_{check.of}"


# --- parts -------------------------------------------------------------------------------------


def sql_literal(text: str) -> str:
    """The text as a literal of Spark's, also where a statement takes a literal alone, as for a comment."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _condition(where: Where) -> str:
    if where.is_null is not None:
        return f"{where.column} IS {'' if where.is_null else 'NOT '}NULL"
    return f"{where.column} IN ({_list(where.values)})"


def _list(values: Iterable[str | bool | int]) -> str:
    return ", ".join(
        sql_literal(value) if isinstance(value, str) else str(value) for value in values
    )


def _words(words: str, value: str) -> str:
    return f"concat_ws(' ', {sql_literal(words)}, {value})"


def _partition(check: Check) -> str:
    return f"PARTITION BY {', '.join(check.within)}"


def _only_where(check: Check, value: str) -> str:
    condition = " AND ".join(map(_condition, check.where))
    return f"CASE WHEN {condition} THEN {value} END" if condition else value


def _term(term: str) -> str:
    column = column_of_term(term)
    return f"date_trunc('HOUR', {column})" if term.startswith(HOUR) else column


def _moment(now: datetime, before_ms: int) -> str:
    micros = int(now.timestamp() * 1_000_000) - before_ms * 1000
    return f"timestamp_micros({micros})"
