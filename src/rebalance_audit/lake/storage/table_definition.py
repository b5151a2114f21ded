"""What makes a table, from `schemas/tables`: a statement for Spark, or Arrow's schema for delta-rs; and texts in SQL.

An expression in one text is one call to Java; as pyspark's columns it is a call or more for each of its parts.
"""

import re
from typing import Any, Final

import pyarrow as pa

from rebalance_audit.tables.arrow_types import arrow_type
from rebalance_audit.tables.schemas import TableSchema

CHANGE_FEED: Final = "delta.enableChangeDataFeed"
APPEND_ONLY: Final = "delta.appendOnly"
WRITER: Final = "rebalanceAudit.writer"
"""The kind of writer that made the table, and that alone changes it."""
LAYOUT: Final = "rebalanceAudit.layout"
"""The number of the layout that the tables of the lake have; 1 where only WRITER is set."""
LAYOUT_NUMBER: Final = 1
"""Rises where an earlier release would misread what this one writes, as with a table on which runs build."""
OLDEST_LAYOUT: Final = 1
"""Lakes before it were clustered, had no writer of their own, and no state of the tables in meta.progress."""
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


def properties(schema: TableSchema, writer: str) -> dict[str, str]:
    """The properties that a table is made with."""
    found = {
        WRITER: writer,
        LAYOUT: str(LAYOUT_NUMBER),
        # Readers without Spark, and many engines, cannot read deletion vectors.
        "delta.enableDeletionVectors": "false",
        # A run commits to some twenty tables, and a checkpoint of a log takes a second: by default Spark makes one at
        # every tenth commit. Other readers read up to fifty small files.
        "delta.checkpointInterval": "50",
    }
    if schema.layer in {"bronze", "gold"}:
        # A dashboard that was refreshed an hour ago asks what has changed since, and so does an increment over bronze;
        # for appends the feed costs nothing, since the rows can be read from the data files.
        found[CHANGE_FEED] = "true"
    if names := columns_with_bounds(schema):
        found["delta.dataSkippingStatsColumns"] = ",".join(names)
    if schema.append_only:
        found[APPEND_ONLY] = "true"
    return found


def columns_with_bounds(schema: TableSchema) -> list[str]:
    """The columns whose least and greatest value Delta's log has for each file; empty for Delta's own choice.

    Of bronze and silver only those that queries filter by: for all columns they would take a third of the write's time.
    """
    if schema.layer not in {"bronze", "silver"}:
        return []
    return [name for name in FILTERED_BY if name in schema.column_names]


def definition(name: str, schema: TableSchema, writer: str) -> str:
    """The statement that makes a table."""
    columns = ", ".join(
        f"`{column.name}` {column.type}{'' if column.nullable else ' NOT NULL'}"
        f" COMMENT {quoted_comment(column.meaning)}"
        for column in schema.columns
    )
    set_to = ", ".join(f"'{key}' = '{value}'" for key, value in properties(schema, writer).items())
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING delta"
        f" COMMENT {quoted_comment(schema.description)} TBLPROPERTIES ({set_to})"
    )


def arrow_fields(schema: TableSchema) -> pa.Schema:
    """The columns as delta-rs takes them: with comments, and what must not be null."""
    return pa.schema(
        [
            pa.field(
                column.name,
                arrow_type(column.type),
                column.nullable,
                {"comment": column.meaning},
            )
            for column in schema.columns
        ]
    )


def plain_fields(schema: TableSchema) -> pa.Schema:
    """The columns without comments: other metadata would make it another schema."""
    fields: list[Any] = [field.remove_metadata() for field in arrow_fields(schema)]
    return pa.schema(fields)


PLAIN: Final = re.compile(r"[\w.:/@ -]*", re.ASCII)


def text_literal(text: str) -> str:
    """An expression of Spark's for a text. Nothing of it can be taken for a quote, an escape or a variable."""
    if PLAIN.fullmatch(text):
        return f"'{text}'"
    return f"CAST(X'{text.encode().hex()}' AS STRING)"


def standard_literal(text: str) -> str:
    """A literal of standard SQL, as delta-rs reads it: a quote is written twice, and nothing is an escape."""
    return "'" + text.replace("'", "''") + "'"


def quoted_comment(text: str) -> str:
    """A text where a statement of Spark's takes a literal alone, as for a comment."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
