"""What Spark must equal: the same answers from one process, and tables as plain rows."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias

from pyspark.sql import DataFrame

from rebalance_audit.local.audit import audit_segments
from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import open_log_folder
from rebalance_audit.wire.topic_names import TopicNames
from tests.support.log_entries import records_of

Rows: TypeAlias = list[dict[str, Any]]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def names_of(segments: Path) -> TopicNames:
    """Every topic name in a log."""
    names = read_topic_names(open_log_folder(segments))
    for record, position in records_of(segments):
        names.add_record(record.key, record.value, position.record_timestamp_ms)
    return names


def gold_of(segments: Path) -> dict[str, Rows]:
    """Rows of the audited gold tables, in order of the key, without the cluster."""
    tables = audit_segments(segments).tables
    return {name: in_order(f"gold.{name}", rows) for name, rows in tables.items()}


def rows_of(frame: DataFrame) -> Rows:
    """Rows of a frame without the cluster, times as epoch milliseconds."""
    return [plain(row) for row in frame.drop("cluster").toArrow().to_pylist()]


def in_order(table: str, rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Rows with every column of a table but the cluster, in order of its key."""
    schema = table_schemas()[table]
    columns = [name for name in schema.column_names if name != "cluster"]
    full = [{name: row.get(name) for name in columns} for row in rows]
    key = [name for name in schema.key if name != "cluster"]
    return sorted(full, key=lambda row: [(row[name] is not None, row[name]) for name in key])


def plain(value: Any) -> Any:
    """A value as the core has it."""
    match value:
        case datetime():
            return (value - EPOCH) // timedelta(milliseconds=1)
        case dict():
            return {name: plain(inner) for name, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
        case _:
            return value
