"""The order of a gold table's rows: by its key, so that the same rows print the same from any source.

The current incarnation of a group comes before its earlier ones.
"""

from collections.abc import Iterable
from functools import partial
from operator import itemgetter
from typing import Any, Final

from rebalance_audit.tables.schemas import table_schemas

LATEST_FIRST: Final = frozenset({"incarnation"})
"""Key columns in descending order."""


def in_key_order(table: str, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of one cluster in order of the table's key (`table` without its layer), the latest incarnation first.

    Null comes first.
    """
    ordered = list(rows)
    # By the last column first: sorting is stable, and one column at a time needs no key of several.
    for column in reversed(table_schemas()[f"gold.{table}"].key[1:]):  # without the cluster
        turned = column in LATEST_FIRST
        has_null = None in map(itemgetter(column), ordered)
        by = partial(_nulls_first, column, turned) if has_null else itemgetter(column)
        ordered.sort(key=by, reverse=turned)
    return ordered


def is_by_group(table: str) -> bool:
    """Whether the rows of a group stand together, in order of the groups' ids."""
    return table_schemas()[f"gold.{table}"].key[1] == "group_id"


def _nulls_first(column: str, turned: bool, row: dict[str, Any]) -> tuple[bool, Any]:
    return (row[column] is None) is turned, row[column]
