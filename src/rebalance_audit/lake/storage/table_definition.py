"""What makes a table, from `schemas/tables`: a statement, or the first commit of its log."""

import json
import time
from typing import Final, NamedTuple
from uuid import uuid4

from pyspark.sql.types import StructType

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
CLUSTERING: Final = "delta.clustering"
"""Delta's domain for the columns of CLUSTER BY."""


def _properties(schema: TableSchema) -> dict[str, str]:
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
    return properties


def definition(name: str, schema: TableSchema) -> str:
    """The statement that makes a table."""
    columns = ", ".join(
        f"`{column.name}` {column.type}{'' if column.nullable else ' NOT NULL'}"
        f" COMMENT {quoted_comment(column.meaning)}"
        for column in schema.columns
    )
    set_to = ", ".join(f"'{key}' = '{value}'" for key, value in _properties(schema).items())
    clustering = f" CLUSTER BY ({', '.join(schema.clustered_by)})" if schema.clustered_by else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING delta{clustering}"
        f" COMMENT {quoted_comment(schema.description)} TBLPROPERTIES ({set_to})"
    )


class FirstCommit(NamedTuple):
    """Lines of Delta's log that make the same table."""

    metadata: str
    clustering: str | None
    """None for a table that is not clustered."""


def first_commit(schema: TableSchema) -> FirstCommit:
    """What Delta does not know by itself of the first version of a table."""
    ddl = ", ".join(f"`{each.name}` {each.type}" for each in schema.columns)
    columns = StructType.fromDDL(ddl)
    assert isinstance(columns, StructType)
    fields = [
        {
            **field.jsonValue(),
            "nullable": column.nullable,
            "metadata": {"comment": column.meaning},
        }
        for column, field in zip(schema.columns, columns.fields, strict=True)
    ]
    configuration = _properties(schema)
    clustering = None
    if schema.clustered_by:
        configuration["delta.feature.clustering"] = "supported"
        by = [[name] for name in schema.clustered_by]
        told = json.dumps({"clusteringColumns": by, "domainName": CLUSTERING})
        clustering = _line("domainMetadata", domain=CLUSTERING, configuration=told, removed=False)
    metadata = _line(
        "metaData",
        id=str(uuid4()),
        description=schema.description,
        format={"provider": "parquet", "options": {}},
        schemaString=json.dumps({"type": "struct", "fields": fields}),
        partitionColumns=[],
        configuration=configuration,
        createdTime=time.time_ns() // 1_000_000,
    )
    return FirstCommit(metadata, clustering)


def _line(action: str, **fields: object) -> str:
    return json.dumps({action: fields}, ensure_ascii=False)
