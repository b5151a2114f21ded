"""Files with the rows that have come into an append-only table: by the lines of its log, without a query."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyspark.sql import SparkSession

from rebalance_audit.delta_folder import check_files
from rebalance_audit.lake.storage.delta_log import actions
from rebalance_audit.lake.storage.table_files import CLUSTER, TableFiles, readable_types
from rebalance_audit.location import local_path
from rebalance_audit.tables.schemas import TableSchema


def added_files(
    spark: SparkSession, schema: TableSchema, path: str, after: int, upto: int, cluster: str
) -> TableFiles | None:
    """The files of rows that came into the table at a path after one version, up to its newest one.

    None where tasks cannot read them (see `table_files`), where rows were removed meanwhile, and if a file is gone.
    Raises LakeNotReadable for a log that names files outside of the table.
    """
    types, folder = readable_types(spark, schema, path, upto), local_path(path)
    if types is None or folder is None:
        return None
    names = []
    try:
        for version in range(after + 1, upto + 1):
            for action in map(json.loads, actions(spark, path, version)):
                change = action.get("add") or action.get("remove")
                # OPTIMIZE lays rows into other files.
                if change is None or not change["dataChange"]:
                    continue
                if "remove" in action:
                    return None
                if _may_have(change, cluster):
                    names.append(unquote(change["path"]))
    except OSError:
        return None  # the log has forgotten the commit
    check_files(path, folder, names)
    paths = [str(folder / name) for name in names]
    if any(not Path(each).exists() for each in paths):
        return None
    return TableFiles(cluster, tuple(paths), types)


def _may_have(added: Mapping[str, Any], cluster: str) -> bool:
    """Whether a file may have rows of a cluster, by its statistics."""
    told = json.loads(added.get("stats") or "{}")
    least, most = (told.get(end, {}).get(CLUSTER) for end in ("minValues", "maxValues"))
    return least is None or most is None or least <= cluster <= most
