"""A lake made from rows in one process: what readers of a lake need, without the minute that Spark takes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from rebalance_audit.lake.storage.table_place import LAYOUT, LAYOUT_NUMBER, WRITER
from rebalance_audit.tables.arrow_types import column_of
from rebalance_audit.tables.schemas import table_schemas


def arrow_table(name: str, rows: Sequence[Mapping[str, Any]], cluster: str | None) -> pa.Table:
    """Rows of a table by its full name, with every column of the contract; times are epoch milliseconds.

    Without a cluster, that of each row stays.
    """
    columns = table_schemas()[name].columns
    shaped = [row if cluster is None else {**row, "cluster": cluster} for row in rows]
    return pa.table(
        {
            column.name: column_of(column.type, [row.get(column.name) for row in shaped])
            for column in columns
        }
    )


def write_as_made(folder: str, table: pa.Table) -> None:
    """A table with the properties without which its lake is one of an earlier release, and is not written.

    It has no constraints, and the columns that it is given.
    """
    write_deltalake(folder, table)
    made = {WRITER: "delta-rs", LAYOUT: str(LAYOUT_NUMBER)}
    DeltaTable(folder).alter.set_table_properties(made, raise_if_not_exists=False)


def empty_gold() -> dict[str, list[dict[str, Any]]]:
    """Every gold table by name without layer, without rows."""
    return {schema.name: [] for schema in table_schemas().values() if schema.layer == "gold"}


def write_lake(
    lake: Path,
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    cluster: str,
    runs: Sequence[Mapping[str, Any]] = ({"run_id": "1", "command": "run", "outcome": "done"},),
) -> None:
    """Delta tables of the gold rows that are given, by name without layer, and of runs of the cluster.

    Rows of other clusters stay.
    """
    for name, rows in tables.items():
        table = arrow_table(f"gold.{name}", rows, cluster)
        write_deltalake(str(lake / "gold" / name), table, mode="append")
    table = arrow_table("meta.runs", runs, cluster)
    write_deltalake(str(lake / "meta" / "runs"), table, mode="append")
