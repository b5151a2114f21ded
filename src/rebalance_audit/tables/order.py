"""The order of a gold table's rows: by its key, so that the same rows print the same from any source.

The current incarnation of a group comes before its earlier ones.
"""

from collections.abc import Iterable
from typing import Any, Final

from rebalance_audit.tables.schemas import table_schemas

LATEST_FIRST: Final = frozenset({"incarnation"})
"""Key columns in descending order."""


def in_key_order(table: str, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of one cluster in order of the table's key (`table` without its layer), the latest incarnation first.

    Null comes first.
    """
    key = table_schemas()[f"gold.{table}"].key[1:]  # without the cluster

    def of_row(row: dict[str, Any]) -> list[tuple[bool, Any]]:
        return [
            (row[column] is not None, -row[column] if column in LATEST_FIRST else row[column])
            for column in key
        ]

    return sorted(rows, key=of_row)
