"""Suites for Great Expectations, one per table, as the library reads them from JSON.

`make codegen` writes them to `schemas/suites`; they need nothing of this package.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final, TypeAlias

from rebalance_audit.tables.checks import Check, CheckKind, Json, Where, single_checks, words
from rebalance_audit.tables.rules import CheckBounds, unexpected_rows
from rebalance_audit.tables.schemas import Column, TableSchema

FOLDER: Final = "schemas/suites"
SEVERITIES: Final = {"fail": "critical", "warn": "warning"}
"""Severity -> the library's severity."""
SPARK_TYPES: Final = {
    "string": "StringType",
    "int": "IntegerType",
    "bigint": "LongType",
    "double": "DoubleType",
    "timestamp": "TimestampType",
    "boolean": "BooleanType",
    "binary": "BinaryType",
    "array": "ArrayType",
    "map": "MapType",
}
"""DDL type, without its elements -> Spark's class."""
UNTIL_SET: Final = "Not in the suite, since it depends on a limit that is off until it is set: {}."


def suite_of(
    schema: TableSchema,
    bounds: CheckBounds | None = None,
    without: Collection[Check] = (),
    columns: Collection[str] | None = None,
) -> Json:
    """The table's suite: types, then its checks but for those in `without` and those whose limit is not set.

    `columns` are those that a table of an earlier release has; None for all.
    """
    bounds = bounds or CheckBounds()
    found = [column for column in schema.columns if columns is None or column.name in columns]
    expectations = [_type(schema, column) for column in found]
    notes = [schema.description, f"A row is {schema.grain}."]
    for check in single_checks(schema.checks):
        if check.limit is not None and check.limit not in bounds.limits_ms:
            notes.append(UNTIL_SET.format(words(check)))
        elif check not in without:
            expectations += _expectations(schema, check, bounds)
    return {"name": schema.full_name, "expectations": expectations, "notes": notes}


def _type(schema: TableSchema, column: Column) -> Json:
    arguments = {"column": column.name, "type_": SPARK_TYPES[column.type.partition("<")[0]]}
    rule = f"{schema.full_name} type({column.name})"
    return {
        "type": "expect_column_values_to_be_of_type",
        "kwargs": arguments,
        "severity": SEVERITIES["fail"],
        "description": f"{column.name} {column.type}",
        "meta": {"name": rule},
        "notes": column.meaning,
    }


def _expectations(schema: TableSchema, check: Check, bounds: CheckBounds) -> Iterator[Json]:
    """One expectation, or one for each pair of columns that are in order."""
    parts = [check]
    if check.kind == "ordered":
        parts = [replace(check, columns=pair) for pair in combinations(check.columns, 2)]
    for part in parts:
        if part.kind in STANDARD:
            kind, arguments = STANDARD[part.kind](part)
            if part.where:
                arguments |= {"row_condition": _row_condition(part.where)}
        else:
            kind = "unexpected_rows_expectation"
            arguments = {"unexpected_rows_query": unexpected_rows(schema, part, bounds)}
        yield {
            "type": kind,
            "kwargs": arguments,
            "severity": SEVERITIES[part.severity],
            "description": words(part),
            "meta": {"name": part.name_in(schema.full_name)},
        }


def _row_condition(wheres: Sequence[Where]) -> Json:
    """The conditions as the library's `Condition` objects are written in JSON."""
    conditions = [_condition_object(where) for where in wheres]
    return conditions[0] if len(conditions) == 1 else {"type": "and", "conditions": conditions}


def _condition_object(where: Where) -> Json:
    column = {"name": where.column}
    if where.is_null is not None:
        return {"type": "nullity", "column": column, "is_null": where.is_null}
    is_one = len(where.values) == 1
    return {
        "type": "comparison",
        "column": column,
        "operator": "==" if is_one else "IN",
        "parameter": where.values[0] if is_one else list(where.values),
    }


# --- kinds that the library has an expectation for ---------------------------------------------

Making: TypeAlias = tuple[str, Json]
"""Type of an expectation, and its arguments."""


def _unique(check: Check) -> Making:
    columns = list(check.columns)
    if len(columns) == 1:
        return "expect_column_values_to_be_unique", {"column": columns[0]}
    arguments = {"column_list": columns, "ignore_row_if": "never"}
    return "expect_compound_columns_to_be_unique", arguments


def _range(check: Check) -> Making:
    bounds = {"min_value": check.minimum, "max_value": check.maximum}
    given = {name: bound for name, bound in bounds.items() if bound is not None}
    return "expect_column_values_to_be_between", {"column": check.columns[0], **given}


def _ordered(check: Check) -> Making:
    earlier, later = check.columns
    arguments = {"column_A": later, "column_B": earlier, "or_equal": True}
    return "expect_column_pair_values_a_to_be_greater_than_b", {
        **arguments,
        "ignore_row_if": "either_value_is_missing",
    }


STANDARD: Final[Mapping[CheckKind, Callable[[Check], Making]]] = {
    "unique": _unique,
    "not_null": lambda check: ("expect_column_values_to_not_be_null", {"column": check.columns[0]}),
    "in_set": lambda check: (
        "expect_column_values_to_be_in_set",
        {"column": check.columns[0], "value_set": list(check.values)},
    ),
    "range": _range,
    "ordered": _ordered,
}
"""Kind -> the library's own expectation for it; the others are queries for unexpected rows."""
