"""Data files of silver.offset_commits, written and committed without Spark."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from rebalance_audit.lake.storage.data_files import DataFile, DataFiles, DataFolder
from rebalance_audit.lake.storage.table_place import arrow_fields, properties
from rebalance_audit.tables.arrow_types import arrow_schema
from rebalance_audit.tables.schemas import table_schemas
from tests.support.long_ids import CLUSTER

COMMITS = "silver.offset_commits"
SCHEMA = table_schemas()[COMMITS]
AT = datetime(2026, 11, 28, 12, 0, 0, 1_999, UTC)


def rows_of(*groups: str, **columns: Any) -> pa.RecordBatch:
    """Commits of groups, a topic of the same name each."""
    rows = [
        {
            "cluster": CLUSTER,
            "partition": 0,
            "offset": offset,
            "timestamp": AT,
            "group_id": group,
            "topic": group,
            "topic_partition": 0,
            "tombstone": False,
            "transaction_state": "none",
            **columns,
        }
        for offset, group in enumerate(groups)
    ]
    return pa.RecordBatch.from_pylist(rows, arrow_schema(SCHEMA))


def empty_table(lake: Path) -> DataFolder:
    """The table in a lake, without rows."""
    path = lake / "silver" / "offset_commits"
    DeltaTable.create(
        str(path),
        arrow_fields(SCHEMA),
        configuration=properties(SCHEMA, "delta-rs"),
        raise_if_key_not_exists=False,
    )
    files = SubTreeFileSystem(str(path), LocalFileSystem())
    (path / "run").mkdir()
    return DataFolder(COMMITS, str(path), "run", files)


def written(folder: DataFolder, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """What describes the file of a task."""
    file = DataFile(folder)
    for batch in batches:
        file.write(batch)
    return [row for rows in file.described() for row in rows.to_pylist()]


def committed(folder: DataFolder, *files: dict[str, Any], spark: Any = None) -> DeltaTable:
    """The table after a commit that names the files."""
    data = DataFiles(spark, folder, files)
    DeltaTable(folder.root).create_write_transaction(
        data.additions(), "append", arrow_fields(SCHEMA)
    )
    return DeltaTable(folder.root)
