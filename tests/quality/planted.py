"""Rows that break a check, made from the check: a new check brings its planted violation along."""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from rebalance_audit.tables.checks import Check, CheckKind, Where, single_checks
from rebalance_audit.tables.schemas import TableSchema, table_schemas

Row: TypeAlias = dict[str, Any]
MARK = "planted-"
LONG_AGO_MS = 1_000_000_000_000
DEFAULTS: Mapping[str, Any] = {
    "string": "x",
    "int": 0,
    "bigint": 0,
    "timestamp": LONG_AGO_MS,
    "boolean": False,
    "binary": b"",
}


class Planted(NamedTuple):
    """Rows of one table that break one expectation; every string of their key is `mark`, unless that breaks it."""

    table: str
    expectation: str
    mark: str
    rows: list[Row]
    beside: list[tuple[str, Row]]
    """Rows of other tables, which make it a case for the check."""

    def is_in(self, key: Row) -> bool:
        """Whether a key is one of these rows."""
        mine = {name: self.rows[-1][name] for name in key}
        return key == mine or self.mark in key.values()


def violations() -> Iterator[Planted]:
    """One or more for every expectation of every table."""
    number = 0
    for schema in table_schemas().values():
        for check in single_checks(schema.checks):
            for rows in BREAK[check.kind](check):
                number += 1
                mark = f"{MARK}{number}"
                full = [_row(schema, check, mark) | row for row in rows]
                beside = [(str(check.table), _stranger(check, mark))] if check.if_any else []
                yield Planted(schema.full_name, check.name_in(schema.full_name), mark, full, beside)


def _row(schema: TableSchema, check: Check, mark: str) -> Row:
    """A row that meets the conditions of a check; what may be null is null."""
    row = {
        column.name: None if column.nullable else DEFAULTS.get(column.type, [])
        for column in schema.columns
    }
    types = schema.column_types
    for name in (*check.within, *schema.key):
        row[name] = mark if types[name] == "string" else DEFAULTS[types[name]]
    row |= {where.column: _met(where, types[where.column]) for where in check.where}
    return row | {"cluster": mark}


def _stranger(check: Check, mark: str) -> Row:
    """A row of the other table that shows that it knows the cluster, and has nothing to do with the planted ones."""
    schema = table_schemas()[str(check.table)]
    row = _row(schema, Check("absent", "fail", ()), mark)
    return row | {column.name: 77 for column in schema.columns if column.type in {"int", "bigint"}}


def _met(where: Where, type_name: str) -> Any:
    if where.is_null is not None:
        return None if where.is_null else DEFAULTS[type_name]
    return where.values[0]


def _unique(_: Check) -> Iterator[list[Row]]:
    yield [{}, {}]


def _not_null(check: Check) -> Iterator[list[Row]]:
    yield [{check.columns[0]: None}]


def _in_set(check: Check) -> Iterator[list[Row]]:
    yield [{check.columns[0]: "of no list"}]


def _range(check: Check) -> Iterator[list[Row]]:
    if check.minimum is not None:
        yield [{check.columns[0]: check.minimum - 1}]
    if check.maximum is not None:
        yield [{check.columns[0]: check.maximum + 1}]


def _ordered(check: Check) -> Iterator[list[Row]]:
    for earlier, later in combinations(check.columns, 2):
        nothing: Row = dict.fromkeys(check.columns)
        yield [nothing | {earlier: LONG_AGO_MS + 1, later: LONG_AGO_MS}]


def _sum(check: Check) -> Iterator[list[Row]]:
    total, *parts = check.columns
    yield [{total: len(parts) + 1} | dict.fromkeys(parts, 1)]


def _difference(check: Check) -> Iterator[list[Row]]:
    given, begin, end = check.columns
    yield [{given: 5, begin: LONG_AGO_MS, end: LONG_AGO_MS + 6}]


def _chain(check: Check) -> Iterator[list[Row]]:
    value, previous = check.columns
    yield [{value: 1, previous: None}, {value: 2, previous: 7}]
    yield [{value: 1, previous: None}, {value: 2, previous: None}]


def _no_holes(check: Check) -> Iterator[list[Row]]:
    (value,) = check.columns
    yield [{value: 1}, {value: 3}]


def _no_overlap(check: Check) -> Iterator[list[Row]]:
    begin, end = check.columns
    yield [{begin: 1, end: 5}, {begin: 4, end: None}]
    yield [{begin: 1, end: None}, {begin: 4, end: 5}]
    # Not with the row right before, but with the one before that.
    yield [{begin: 1, end: 9}, {begin: 2, end: 3}, {begin: 4, end: 5}]


def _refers(check: Check) -> Iterator[list[Row]]:
    names = [name for name in check.columns if name != "cluster"]
    yield [{name: "x" if name.endswith(STRINGS) else 3 for name in names}]


def _contiguous(check: Check) -> Iterator[list[Row]]:
    begin, end = check.columns
    yield [{begin: 1, end: 3}, {begin: 4, end: None}]
    yield [{begin: 1, end: None}, {begin: 4, end: 5}]


def _total(check: Check) -> Iterator[list[Row]]:
    yield [{check.columns[0]: 3}]


def _empty(check: Check) -> Iterator[list[Row]]:
    yield [{check.columns[0]: ["x"]}]


def _absent(_: Check) -> Iterator[list[Row]]:
    yield [{}]


def _fresh(check: Check) -> Iterator[list[Row]]:
    yield [{check.columns[0]: LONG_AGO_MS}]


STRINGS = ("_id", "topic", "cause", "certainty")
"""How names of columns end that hold text, of those that refer to other tables."""

BREAK: Mapping[CheckKind, Callable[[Check], Iterator[list[Row]]]] = {
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
    "refers": _refers,
    "total": _total,
    "at_most": _total,
    "empty": _empty,
    "fresh": _fresh,
    "absent": _absent,
}
"""Kind -> changes to rows that meet a check's conditions, so that the last of them breaks it."""
