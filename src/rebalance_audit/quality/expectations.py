"""Checks of `schemas/tables` as expectations of Great Expectations."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from great_expectations.expectations.core.expect_column_values_to_be_between import (
    ExpectColumnValuesToBeBetween,
)
from great_expectations.expectations.core.expect_column_values_to_be_in_set import (
    ExpectColumnValuesToBeInSet,
)
from great_expectations.expectations.core.expect_column_values_to_be_null import (
    ExpectColumnValuesToBeNull,
)
from great_expectations.expectations.core.expect_column_values_to_not_be_null import (
    ExpectColumnValuesToNotBeNull,
)
from great_expectations.expectations.expectation import Expectation
from great_expectations.expectations.metadata_types import FailureSeverity

from rebalance_audit.tables.checks import Check, CheckKind, where_words, words
from rebalance_audit.tables.schemas import TableSchema

SEVERITIES: Final = {"fail": FailureSeverity.CRITICAL, "warn": FailureSeverity.WARNING}
"""Severity -> the library's severity."""


class ExpectNoProblem(ExpectColumnValuesToBeNull):
    """Expects the column that says what is wrong with a row (see `lake.checks.check_frames`) to be null."""


Making: TypeAlias = tuple[type[Expectation], dict[str, Any]]
"""A kind of expectation and its arguments."""


@dataclass(frozen=True, slots=True)
class Expected:
    """One expectation, and the check that it comes from."""

    name: str
    """The same from check to check: table, kind, columns, conditions."""
    check: Check
    expectation: Expectation
    """With `name` in its `meta`."""


def expectation_of(schema: TableSchema, check: Check, problem: str | None) -> Expected:
    """The expectation for a single check; `problem` is the name of the column that says what breaks it.

    None for a check of one column without conditions.
    """
    kind, arguments = OF_COLUMNS[check.kind](check) if problem is None else _no_problem(problem)
    name = name_of(schema, check)
    expectation = kind(
        **arguments,
        severity=SEVERITIES[check.severity],
        description=words(check),
        meta={"name": name},
    )
    return Expected(name, check, expectation)


def name_of(schema: TableSchema, check: Check) -> str:
    """Name of the expectation for a single check."""
    parts = [f"{schema.full_name} {check.kind}({', '.join(check.columns)})"]
    parts += [f">= {check.minimum}"] if check.minimum is not None else []
    parts += [f"<= {check.maximum}"] if check.maximum is not None else []
    parts += [check.table] if check.table is not None else []
    parts += [f"where {' and '.join(map(where_words, check.where))}"] if check.where else []
    return " ".join(parts)


# --- kinds that the library knows --------------------------------------------------------------


def _no_problem(column: str) -> Making:
    return ExpectNoProblem, {"column": column}


def _not_null(check: Check) -> Making:
    return ExpectColumnValuesToNotBeNull, {"column": check.columns[0]}


def _in_set(check: Check) -> Making:
    arguments = {"column": check.columns[0], "value_set": list(check.values)}
    return ExpectColumnValuesToBeInSet, arguments


def _range(check: Check) -> Making:
    bounds = {"min_value": check.minimum, "max_value": check.maximum}
    return ExpectColumnValuesToBeBetween, {"column": check.columns[0], **bounds}


OF_COLUMNS: Final[Mapping[CheckKind, Callable[[Check], Making]]] = {
    "not_null": _not_null,
    "in_set": _in_set,
    "range": _range,
}
"""Kind -> the library's own expectation for it."""
