"""What the log of a Delta table says: versions, who made them, the table's id and properties, and what others changed.

Of a lake on a local disk, and of one that delta-rs writes, `deltalake` reads it. Elsewhere Spark does: DESCRIBE HISTORY
and DESCRIBE DETAIL, a job each.

Every commit of this program names its run in `userMetadata`. What other programs commit may change rows on which a run
builds: a RESTORE, a DELETE, an append. Some of their commits change none: OPTIMIZE, VACUUM, properties.
"""

import json
import re
import uuid
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql.types import StructType

from rebalance_audit.delta_folder import check_log
from rebalance_audit.lake.session.spark_session import temporary_settings
from rebalance_audit.location import local_path

RUN_ID: Final = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
OWN_COMMIT: Final = re.compile(rf"{RUN_ID.pattern}(/\d+)?")
"""`userMetadata` of this program's commits; an ingest counts its commits after a slash."""
USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"


def appends_of(cluster: str) -> str:
    """Transaction id of a cluster's appends to a table: Delta refuses the second of two with one number."""
    return f"rebalance-audit/{cluster}"


def new_run_id(started_at: datetime) -> str:
    """An id that no other run has; ids of runs that started in different seconds sort by time. `started_at` is UTC."""
    return f"{started_at:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"


def commit_metadata(spark: SparkSession, run_id: str) -> AbstractContextManager[None]:
    """Put the id into `userMetadata` of every commit inside the block, also those that make tables or add columns."""
    return temporary_settings(spark, {USER_METADATA: run_id})


CREATION: Final = "CREATE TABLE"
"""Delta's name for a commit that makes a table without rows; a clone has rows from its first commit on."""
ROWS_ADDED: Final = ("numOutputRows", "num_added_rows")
"""How the metrics of a commit name the rows that it added: Spark and delta-rs."""
OF_COMMIT: Final = (
    "version",
    "operation",
    "userMetadata",
    "unix_millis(timestamp)",
    "operationMetrics",
)
"""What TableCommit takes of a table's history in Spark, in its order."""


class TableCommit(NamedTuple):
    """What a commit says of itself."""

    version: int
    operation: str | None
    """Delta's name for what was done, `MERGE`, `RESTORE`, …; None if the commit does not say."""
    user_metadata: str | None
    at_ms: int
    """When it was made, epoch milliseconds."""
    metrics: Mapping[str, Any] | None = None

    @property
    def rows_added(self) -> int | None:
        """How many rows an append added; None if the commit does not say."""
        metrics = self.metrics or {}
        found = next((metrics[name] for name in ROWS_ADDED if name in metrics), None)
        return None if found is None else int(found)


class TableMark(NamedTuple):
    """A table at one moment."""

    table_id: str
    """Of the table, not of its path: a table that is recreated has another one."""
    version: int
    made_by: str | None = None
    """`userMetadata` of that version's commit, for ours the run; None if unknown.

    A table that lost commits reaches the same version again with the next ones.
    """


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The log of one table at a path, read with `deltalake` by each call. All raise OSError if it cannot be read."""

    _path: str
    _options: Mapping[str, str]
    """Of delta-rs for the path's storage."""

    def version(self) -> int | None:
        """Newest version; None if there is no table."""
        try:
            return self._table().version()
        except _NotThere:
            return None

    def commits(self, first: int, last: int) -> list[TableCommit]:
        """The commits from one version to another, oldest first, except those that the log no longer has."""
        table = self._table()
        history = table.history(max(0, table.version() - first + 1))
        return sorted(
            TableCommit(
                entry["version"],
                entry.get("operation"),
                entry.get("userMetadata"),
                entry.get("timestamp", 0),
                entry.get("operationMetrics"),
            )
            for entry in history
            if first <= entry["version"] <= last
        )

    def mark(self) -> TableMark | None:
        """The table as it is now; None if there is no table."""
        try:
            table = self._table()
        except _NotThere:
            return None
        version, newest = table.version(), table.history(1)
        made_by = next(
            (each.get("userMetadata") for each in newest if each["version"] == version), None
        )
        return TableMark(str(table.metadata().id), version, made_by)

    def properties(self) -> Mapping[str, str]:
        """What TBLPROPERTIES have set."""
        return dict(self._table().metadata().configuration)

    def columns(self) -> Mapping[str, str]:
        """Name -> type as DDL, without blanks."""
        parsed = StructType.fromJson(json.loads(self._table().schema().to_json()))
        return {field.name: field.dataType.simpleString() for field in parsed}

    def size(self) -> tuple[int, int]:
        """How many files the newest version has, and how many bytes they are."""
        sizes = pa.table(self._table().get_add_actions())["size_bytes"].to_pylist()
        return len(sizes), sum(sizes)

    def _table(self) -> DeltaTable:
        """Raises _NotThere if there is no table, LakeNotReadable if its log is not whole."""
        folder = local_path(self._path)
        if folder is not None:
            check_log(folder)
        try:
            return DeltaTable(self._path, storage_options=dict(self._options))
        except TableNotFoundError as error:
            raise _NotThere(first_line(error)) from None
        except DeltaError as error:
            raise OSError(first_line(error)) from None


@dataclass(frozen=True, slots=True)
class LogByName:
    """As LogFiles, of a table that SQL names, read with Spark."""

    _spark: SparkSession
    _name: str
    """As SQL takes it: `catalog`.`schema`.`table`, or delta.`path`."""

    def version(self) -> int | None:
        """By the newest row of the table's history."""
        newest = self._newest("version")
        return None if newest is None else int(newest[0])

    def commits(self, first: int, last: int) -> list[TableCommit]:
        """By the table's history."""
        try:
            history = self._spark.sql(f"DESCRIBE HISTORY {self._name}")
            found = history.where(history["version"].between(first, last)).orderBy("version")
            return [TableCommit(*row) for row in found.selectExpr(*OF_COMMIT).collect()]
        except PySparkException as error:
            raise OSError(first_line(error)) from None

    def mark(self) -> TableMark | None:
        """By the newest row of the table's history, and its details."""
        newest = self._newest("version", "userMetadata")
        return None if newest is None else TableMark(str(self._detail("id")[0]), *newest)

    def properties(self) -> Mapping[str, str]:
        """By the table's details."""
        return dict(self._detail("properties")[0])

    def columns(self) -> Mapping[str, str]:
        """As Spark reads it."""
        try:
            schema = self._spark.read.table(self._name).schema
        except PySparkException as error:
            raise OSError(first_line(error)) from None
        return {field.name: field.dataType.simpleString() for field in schema}

    def size(self) -> tuple[int, int]:
        """By the table's details."""
        files, size_bytes = self._detail("numFiles", "sizeInBytes")
        return files, size_bytes

    def _newest(self, *columns: str) -> Row | None:
        """None if there is no table."""
        try:
            history = self._spark.sql(f"DESCRIBE HISTORY {self._name} LIMIT 1")
            newest = history.select(*columns).first()
        except Exception as error:  # noqa: BLE001 - of a missing file system pyspark has no error of its own
            if any(word in str(error) for word in NO_TABLE):
                return None
            raise OSError(first_line(error)) from None
        assert newest is not None
        return newest

    def _detail(self, *columns: str) -> Row:
        try:
            found = self._spark.sql(f"DESCRIBE DETAIL {self._name}").select(*columns).first()
        except PySparkException as error:
            raise OSError(first_line(error)) from None
        assert found is not None
        return found


TableLog: TypeAlias = LogFiles | LogByName
OF_JAVA: Final = re.compile(r"^An error occurred while calling \S+\n: ")
NO_TABLE: Final = (
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_PATH_DOES_NOT_EXIST",
    "TABLE_OR_VIEW_NOT_FOUND",
    "SCHEMA_NOT_FOUND",
)
"""Conditions of Spark and Delta where there is no table."""


class _NotThere(OSError):  # noqa: N818 - it says what is the matter
    """There is no table."""


def first_line(error: Exception) -> str:
    """The first line of an error's text, without the full stop and without what pyspark puts before Java's words."""
    return OF_JAVA.sub("", str(error).strip()).partition("\n")[0].rstrip(".")


KEEPS_ROWS: Final = frozenset(
    {
        "ADD COLUMN",
        "ADD COLUMNS",
        "ADD CONSTRAINT",
        "CHANGE COLUMN",
        "CLUSTER BY",
        "COMPUTE STATS",
        "DROP CONSTRAINT",
        "OPTIMIZE",
        "REORG",
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
        "UPGRADE PROTOCOL",
        "VACUUM END",
        "VACUUM START",
    }
)
"""Delta's names of operations (`DeltaOperations`) after which a table has the rows that it had."""

APPENDS: Final = frozenset({"STREAMING UPDATE", "WRITE"})
"""Of a table with `delta.appendOnly`: whatever adds rows there adds them to those that the table has."""


def change_by_others(commits: Iterable[TableCommit], *, append_only: bool) -> str | None:
    """What the first commit of another program that may have changed rows did; None if there is none.

    New rows of an append-only table are no such change: runs and ingests look for them anyway.
    """
    harmless = KEEPS_ROWS | APPENDS if append_only else KEEPS_ROWS
    for commit in commits:
        if OWN_COMMIT.fullmatch(commit.user_metadata or ""):
            continue
        if commit.operation not in harmless:
            return f"was changed by another program (version {commit.version}: {commit.operation})"
    return None
