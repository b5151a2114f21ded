"""Checks of the output tables as data: what `checks` in `schemas/tables/*.json` may say.

A check is about one table, or about a table and one other. The suites of `quality/`, the catalogue in `docs/tables.md`
and the planted violations of the tests are made from these objects; each check is written once.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias, get_args

CheckSeverity: TypeAlias = Literal["fail", "warn"]
CheckKind: TypeAlias = Literal[
    "unique",
    "not_null",
    "in_set",
    "range",
    "ordered",
    "sum",
    "difference",
    "chain",
    "no_holes",
    "no_overlap",
    "contiguous",
    "refers",
    "total",
    "at_most",
    "empty",
    "fresh",
    "absent",
]
Json: TypeAlias = dict[str, Any]
HOUR: Final = "hour("
"""Begins a term for the hour of a moment."""


class TableSchemaError(ValueError):
    """A file of `schemas/tables` breaks the rules of this module; the message names the file."""


@dataclass(frozen=True, slots=True)
class Where:
    """Restricts a check to rows whose `column` has one of `values`, or is (`is_null`) or is not null."""

    column: str
    values: tuple[str | bool | int, ...] = ()
    is_null: bool | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """What must hold (`fail`) or should hold (`warn`) for the rows of a table that meet all of `where`.

    Nulls are ignored by every kind but `unique`, to which they are equal, and `not_null`. Of the kinds
    `unique`: the columns together. `not_null`, `in_set`, `range` (both ends inclusive): each of the columns.
    `ordered`: each of the columns is at most every later one. `sum`: the first column is the sum of the others.
    `difference`: the first is the third less the second, in milliseconds.
    `chain`: `within` rows alike, ordered by the first column, the second has the first of the row before, if any.
    `no_holes`: `within` rows alike, each value is one more than the one before.
    `no_overlap`: `within` rows alike, the stretches [first, second) do not overlap; a null end is an open one.
    `contiguous`: `within` rows alike, each stretch [first, second) begins where the one before it ends.
    `refers`: `table` has a row with these values in its columns `there`.
    `total`: the column is the sum of `of` (`*`: the number) over the rows of `table` that are alike in `within`.
    `at_most`: the column is not larger than that sum. `empty`: the column's list has no entry.
    A column `there` may be written `hour(name)`: the hour in which that moment is.
    `fresh`: `within` rows alike, the newest value is no older than the configured limit named `limit`.
    `absent`: there is no such row; the column, which is never null, says in words what is wrong with one.
    """

    kind: CheckKind
    severity: CheckSeverity
    columns: tuple[str, ...]
    values: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    where: tuple[Where, ...] = ()
    within: tuple[str, ...] = ()
    table: str | None = None
    there: tuple[str, ...] = ()
    there_where: tuple[Where, ...] = ()
    of: str | None = None
    if_any: bool = False
    """Clusters without a row in `table` are skipped: a run may write gold alone."""
    if_known: bool = False
    """Sums that lack a value are skipped: `of` is null in one of their rows."""
    limit: str | None = None

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Columns of the check's own table that it looks at, each once."""
        used = (*self.columns, *self.within, *(where.column for where in self.where))
        return tuple(dict.fromkeys(used))

    def name_in(self, table: str) -> str:
        """Name of a single check of this table: table, kind, columns, conditions. The same from run to run."""
        parts = [f"{table} {self.kind}({', '.join(self.columns)})"]
        parts += [f">= {self.minimum}"] if self.minimum is not None else []
        parts += [f"<= {self.maximum}"] if self.maximum is not None else []
        parts += [self.table] if self.table is not None else []
        parts += [f"where {' and '.join(map(where_words, self.where))}"] if self.where else []
        return " ".join(parts)

    def used_there(self) -> Iterator[str]:
        """Columns of `table` that it looks at."""
        yield from (column_of_term(term) for term in self.there)
        yield from (where.column for where in self.there_where)
        if self.of not in {None, "*"}:
            assert self.of is not None
            yield self.of


OF_EACH_COLUMN: Final = frozenset({"not_null", "in_set", "range"})
"""Kinds that say the same of each of their columns."""


def single_checks(checks: Iterable[Check]) -> Iterator[Check]:
    """The checks, one for each column where they say the same of each."""
    for check in checks:
        if check.kind in OF_EACH_COLUMN:
            yield from (replace(check, columns=(column,)) for column in check.columns)
        else:
            yield check


def column_of_term(term: str) -> str:
    """The column that a term of `there` is about: `started_at` of `hour(started_at)`, else the term."""
    return term.removeprefix(HOUR).removesuffix(")") if term.startswith(HOUR) else term


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kind takes beside kind, severity, columns and where: how many columns, which keys."""

    columns: tuple[int, int]
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


MANY: Final = 99
SHAPES: Final[Mapping[CheckKind, Shape]] = MappingProxyType(
    {
        "unique": Shape((1, MANY)),
        "not_null": Shape((1, MANY)),
        "in_set": Shape((1, MANY), ("list",)),
        "range": Shape((1, MANY), (), ("min", "max")),
        "ordered": Shape((2, MANY)),
        "sum": Shape((2, MANY)),
        "difference": Shape((3, 3)),
        "chain": Shape((2, 2), ("within",)),
        "no_holes": Shape((1, 1), ("within",)),
        "no_overlap": Shape((2, 2), ("within",)),
        "contiguous": Shape((2, 2), ("within",)),
        "refers": Shape((1, MANY), ("table",), ("there", "there_where", "if_any")),
        "total": Shape(
            (1, 1), ("within", "table", "of"), ("there", "there_where", "if_any", "if_known")
        ),
        "at_most": Shape((1, 1), ("within", "table", "of"), ("there", "there_where", "if_any")),
        "empty": Shape((1, 1)),
        "fresh": Shape((1, 1), ("within", "limit")),
        "absent": Shape((1, 1)),
    }
)


def parse_check(path: str, data: object, lists: Mapping[str, tuple[str, ...]]) -> Check:
    """The check that a JSON object of the file at `path` describes. Raises TableSchemaError."""
    of_table = ("table", "there", "there_where", "of", "if_any", "if_known")
    every = ("list", "min", "max", "within", *of_table, "limit")
    given = json_object(path, data, ("kind", "severity", "columns"), ("where", *every))
    if given["kind"] not in SHAPES or given["severity"] not in get_args(CheckSeverity):
        raise TableSchemaError(f"{path}: no such kind or severity in {given}")
    shape = SHAPES[given["kind"]]
    extra = {key for key in every if key in given}
    if missing := sorted(set(shape.required) - extra):
        raise TableSchemaError(f"{path}: {given['kind']} takes {', '.join(missing)}: {given}")
    if odd := sorted(extra - {*shape.required, *shape.optional}):
        raise TableSchemaError(f"{path}: {given['kind']} takes no {', '.join(odd)}: {given}")
    if given["kind"] == "range" and not extra:
        raise TableSchemaError(f"{path}: range takes min or max: {given}")
    columns = tuple(given["columns"])
    if not shape.columns[0] <= len(columns) <= shape.columns[1]:
        raise TableSchemaError(f"{path}: {given['kind']} of {len(columns)} columns: {given}")
    if "list" in given and given["list"] not in lists:
        raise TableSchemaError(f"{path}: there is no list {given['list']}")
    within = tuple(given.get("within", ()))
    there = tuple(given.get("there", within or columns)) if "table" in given else ()
    if "table" in given and len(there) != len(within or columns):
        raise TableSchemaError(f"{path}: there are {len(there)} columns there: {given}")
    return Check(
        kind=given["kind"],
        severity=given["severity"],
        columns=columns,
        values=lists[given["list"]] if "list" in given else (),
        minimum=given.get("min"),
        maximum=given.get("max"),
        where=_wheres(path, given.get("where", [])),
        within=within,
        there=there,
        there_where=_wheres(path, given.get("there_where", [])),
        **{
            key: given[key]
            for key in ("table", "of", "if_any", "if_known", "limit")
            if key in given
        },
    )


def json_object(
    where: str, data: object, required: tuple[str, ...], optional: tuple[str, ...] = ()
) -> Json:
    """The object itself, after a check that it has all required keys and otherwise only optional ones."""
    if not isinstance(data, dict):
        raise TableSchemaError(f"{where}: {data!r} is not an object")
    if missing := [key for key in required if key not in data]:
        raise TableSchemaError(f"{where}: {', '.join(missing)} missing in {data!r}")
    if unknown := [key for key in data if key not in required + optional]:
        raise TableSchemaError(f"{where}: unknown key {', '.join(unknown)}")
    return data


def _wheres(path: str, data: object) -> tuple[Where, ...]:
    conditions = data if isinstance(data, list) else [data]
    return tuple(_where(path, condition) for condition in conditions)


def _where(path: str, data: object) -> Where:
    given = json_object(path, data, required=("column",), optional=("values", "null"))
    if ("values" in given) == ("null" in given):
        raise TableSchemaError(f"{path}: where takes either values or null: {given}")
    return Where(given["column"], tuple(given.get("values", ())), given.get("null"))


# --- words -------------------------------------------------------------------------------------


def words(check: Check) -> str:
    """The check as a phrase for people."""
    text = _WORDS[check.kind](check)
    conditions = " and ".join(map(where_words, check.where))
    return f"{text} where {conditions}" if conditions else text


def where_words(where: Where) -> str:
    """The condition as a phrase for people."""
    if where.is_null is not None:
        return f"{where.column} is {'' if where.is_null else 'not '}null"
    return f"{where.column} is {' or '.join(map(_literal, where.values))}"


def _literal(value: str | bool | int) -> str:
    return value if isinstance(value, str) else str(value).lower()


def _bounds(check: Check) -> str:
    bounds = (("at least", check.minimum), ("at most", check.maximum))
    return " and ".join(f"{phrase} {bound}" for phrase, bound in bounds if bound is not None)


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(columns)


def _there(check: Check) -> str:
    conditions = " and ".join(map(where_words, check.there_where))
    table = f"{check.table} where {conditions}" if conditions else str(check.table)
    mine = check.within or check.columns
    named = table if check.there == mine else f"{table} (there {_names(check.there)})"
    return f"{named}, if that has rows of the cluster" if check.if_any else named


def _amount(check: Check) -> str:
    what = "number" if check.of == "*" else f"sum of {check.of}"
    known = ", if that is known of each" if check.if_known else ""
    return f"{what} of rows of {_there(check)}, by {_names(check.within)}{known}"


_WORDS: Final[Mapping[CheckKind, Callable[[Check], str]]] = MappingProxyType(
    {
        "unique": lambda check: f"{_names(check.columns)} unique together",
        "not_null": lambda check: f"{_names(check.columns)} not null",
        "in_set": lambda check: (
            f"{_names(check.columns)} one of"
            f" {', '.join(value or '(empty)' for value in check.values)}"
        ),
        "range": lambda check: f"{_names(check.columns)} {_bounds(check)}",
        "ordered": lambda check: " ≤ ".join(check.columns),
        "sum": lambda check: f"{check.columns[0]} = {' + '.join(check.columns[1:])}",
        "difference": lambda check: f"{check.columns[0]} = {check.columns[2]} - {check.columns[1]}",
        "chain": lambda check: (
            f"{check.columns[1]} is the {check.columns[0]} of the row before, by"
            f" {_names(check.within)}"
        ),
        "no_holes": lambda check: f"{check.columns[0]} without holes, by {_names(check.within)}",
        "no_overlap": lambda check: (
            f"stretches from {check.columns[0]} to {check.columns[1]} without overlap, by"
            f" {_names(check.within)}"
        ),
        "contiguous": lambda check: (
            f"each stretch from {check.columns[0]} to {check.columns[1]} begins where the one before"
            f" it ends, by {_names(check.within)}"
        ),
        "refers": lambda check: f"{_names(check.columns)} in {_there(check)}",
        "total": lambda check: f"{check.columns[0]} = {_amount(check)}",
        "at_most": lambda check: f"{check.columns[0]} ≤ {_amount(check)}",
        "empty": lambda check: f"{check.columns[0]} has no entry",
        "fresh": lambda check: (
            f"newest {check.columns[0]} not older than checks.{check.limit}, by"
            f" {_names(check.within)}"
        ),
        "absent": lambda _: "no row",
    }
)
