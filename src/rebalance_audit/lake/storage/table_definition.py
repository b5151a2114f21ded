"""The statement that makes a table, from `schemas/tables`."""

from typing import Final

from rebalance_audit.lake.storage.small_tables import CHANGE_FEED
from rebalance_audit.lake.storage.sql_text import quoted_comment
from rebalance_audit.tables.schemas import TableSchema

FILTERED_BY: Final = (
    "cluster",
    "partition",
    "offset",
    "timestamp",
    "group_id",
    "topic",
    "transaction_state",
)
"""Columns of bronze and silver by which queries filter."""


def definition(name: str, schema: TableSchema) -> str:
    """The statement that makes a table."""
    # Readers without Spark, and many engines, cannot read deletion vectors.
    properties = {"delta.enableDeletionVectors": "false"}
    if schema.layer in {"bronze", "gold"}:
        # A dashboard that was refreshed an hour ago asks what has changed since, and so does an increment over bronze;
        # for appends the feed costs nothing, since the rows can be read from the data files.
        properties[CHANGE_FEED] = "true"
    if schema.layer in {"bronze", "silver"}:
        # Minimum and maximum per file only of the columns that queries filter by: for all columns they would take a
        # third of the write's time.
        names = [name for name in FILTERED_BY if name in schema.column_names]
        properties["delta.dataSkippingStatsColumns"] = ",".join(names)
    if schema.append_only:
        properties["delta.appendOnly"] = "true"
    columns = ", ".join(
        f"`{column.name}` {column.type}{'' if column.nullable else ' NOT NULL'}"
        f" COMMENT {quoted_comment(column.meaning)}"
        for column in schema.columns
    )
    set_to = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    clustering = f" CLUSTER BY ({', '.join(schema.clustered_by)})" if schema.clustered_by else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING delta{clustering}"
        f" COMMENT {quoted_comment(schema.description)} TBLPROPERTIES ({set_to})"
    )
