"""What a Delta table's log says about its newest commits, without a Spark job.

File names and the action `commitInfo` are part of the Delta protocol; DESCRIBE HISTORY says the same, but costs a job
each time. Hadoop's file systems reach the log wherever the lake is.
"""

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.delta_folder import check_files
from rebalance_audit.lake.session.java_classes import HADOOP_PATH, IO_UTILS, java_class
from rebalance_audit.lake.session.private_spark import (
    DELTA_LOG,
    add_files,
    begin_transaction,
    commit_exchange,
    commit_files,
    create_table,
    exchange_files,
    hadoop_conf,
    logged_action,
    number_of_transaction,
    small_table,
    table_metadata,
)
from rebalance_audit.lake.storage.data_files import STATS_PREFIX, TaskFile
from rebalance_audit.lake.storage.run_ids import OWN_COMMIT
from rebalance_audit.lake.storage.small_tables import SMALL_BYTES
from rebalance_audit.lake.storage.table_definition import first_commit
from rebalance_audit.lake.storage.table_patch import PatchedTable
from rebalance_audit.location import local_path
from rebalance_audit.tables.schemas import TableSchema

COMMIT_NAME: Final = re.compile(r"/_delta_log/(\d{20})\.json(?=[,}])")
NOT_FOUND: Final = "FileNotFoundException:"
FILE_UTIL: Final = "org.apache.hadoop.fs.FileUtil"
ARRAYS: Final = "org.apache.commons.lang3.ArrayUtils"
WRITES: Final = frozenset({"UPDATE", "WRITE"})
"""Delta's names of the operations that append or overwrite rows, here and in `replace_newest_rows`."""


def latest_version(spark: SparkSession, path: str) -> int:
    """Newest version of the table at a path. Raises OSError if there is no table, or if it cannot be listed."""
    version = version_or_none(spark, path)
    if version is None:
        raise OSError(f"there is no Delta table at {path}")
    return version


def has_log(spark: SparkSession, path: str) -> bool:
    """Whether there is a folder for the log of a table at a path. Raises OSError for a failing file system."""
    log = java_class(spark, HADOOP_PATH)(f"{path}/_delta_log")
    try:
        return bool(log.getFileSystem(hadoop_conf(spark)).exists(log))
    except Py4JJavaError as error:
        raise OSError(java_message(error)) from None


def version_or_none(spark: SparkSession, path: str) -> int | None:
    """Newest version of the table at a path, None if there is none. Raises OSError for a failing file system."""
    log = java_class(spark, HADOOP_PATH)(f"{path}/_delta_log")
    try:
        listed = log.getFileSystem(hadoop_conf(spark)).listStatus(log)
        files = java_class(spark, FILE_UTIL).stat2Paths(listed)
    except Py4JJavaError as error:
        message = java_message(error)
        if message.startswith(NOT_FOUND):
            return None
        raise OSError(message) from None
    # All names in one call: each costs as much as the listing.
    names = java_class(spark, ARRAYS).toString(files)
    return max(map(int, COMMIT_NAME.findall(names)), default=None)


class AppendCommit(NamedTuple):
    """A commit that added rows."""

    version: int
    rows: int | None
    """None if the commit does not say: metrics can be switched off, or be lost with a worker."""

    @classmethod
    def of(cls, version: int, metrics: Mapping[str, str] | None) -> "AppendCommit":
        """From the metrics of the commit."""
        rows = (metrics or {}).get("numOutputRows")
        return cls(version, None if rows is None else int(rows))


class TableCommit(NamedTuple):
    """What a commit says of itself."""

    version: int
    operation: str | None
    """Delta's name for what was done, `MERGE`, `RESTORE`, …; None if the commit does not say."""
    user_metadata: str | None
    at_ms: int
    """When it was made, epoch milliseconds."""


def newest_commit(spark: SparkSession, path: str) -> TableCommit | None:
    """The newest commit of the table at a path; None if there is no table. Raises OSError."""
    version = version_or_none(spark, path)
    return None if version is None else commit(spark, path, version)


def append_commit(spark: SparkSession, path: str, run_id: str) -> AppendCommit:
    """The newest commit of a run to the table at a path. Raises OSError."""
    for version in range(latest_version(spark, path), -1, -1):
        info = _commit_info(spark, path, version)
        if info.get("userMetadata") == run_id:
            return AppendCommit.of(version, info.get("operationMetrics"))
    raise OSError(f"no commit of {path} is one of run {run_id}")


def commit(spark: SparkSession, path: str, version: int) -> TableCommit:
    """One commit of the table at a path. Raises OSError, also if the log no longer has it."""
    info = _commit_info(spark, path, version)
    return TableCommit(
        version, info.get("operation"), info.get("userMetadata"), info.get("timestamp", 0)
    )


def actions(spark: SparkSession, path: str, version: int) -> list[str]:
    """The lines of one commit of the table at a path. Raises OSError, also if the log no longer has it."""
    file = java_class(spark, HADOOP_PATH)(f"{path}/_delta_log/{version:020d}.json")
    try:
        stream = file.getFileSystem(hadoop_conf(spark)).open(file)
        try:
            text = java_class(spark, IO_UTILS).toString(stream, "UTF-8")
        finally:
            stream.close()
    except Py4JJavaError as error:
        raise OSError(java_message(error)) from None
    return [line for line in text.split("\n") if line]


def check_files_of_commits(spark: SparkSession, path: str, versions: Iterable[int]) -> None:
    """Raises LakeNotReadable if commits name files, also of the change feed, that lie outside of the table at a path.

    Delta's own reader would open them. Commits that the log has forgotten name none.
    """
    for version in versions:
        with suppress(OSError):
            found = map(json.loads, actions(spark, path, version))
            changes = (action.get("add") or action.get("cdc") for action in found)
            names = [unquote(change["path"]) for change in changes if change is not None]
            check_files(path, local_path(path), names)


def is_unwritten(spark: SparkSession, path: str) -> bool:
    """Whether the table at a path was created and nothing else; a clone has rows from its first commit on."""
    return version_or_none(spark, path) == 0 and is_creation(commit(spark, path, 0).operation)


def is_creation(operation: str | None) -> bool:
    """Whether a commit made a table without rows, by Delta's name for what was done."""
    return operation == "CREATE TABLE"


def table_id(spark: SparkSession, path: str) -> str:
    """The id that the table at a path got when it was made: another table at the same path has another one."""
    return str(table_metadata(spark, java_class(spark, DELTA_LOG), path).id())


def properties(spark: SparkSession, path: str) -> dict[str, str]:
    """The properties of the table at a path."""
    found: dict[str, str] = json.loads(
        table_metadata(spark, java_class(spark, DELTA_LOG), path).json()
    )["metaData"]["configuration"]
    return found


def create(spark: SparkSession, path: str, schema: TableSchema) -> bool:
    """Make the table at a path, unless it is there; False, and nothing is done, if its folder has anything else.

    Raises one of CONFLICTS if another program makes it meanwhile.
    """
    folder = java_class(spark, HADOOP_PATH)(path)
    system = folder.getFileSystem(hadoop_conf(spark))
    if system.exists(folder) and system.listStatus(folder):
        return False
    classes = partial(java_class, spark)
    transaction = begin_transaction(spark, classes(DELTA_LOG), path)
    if transaction.readVersion() < 0:
        first = first_commit(schema)
        more = [] if first.clustering is None else [first.clustering]
        create_table(transaction, first.metadata, more, schema.clustered_by, classes)
    return True


def replace_newest_rows(
    spark: SparkSession, path: str, column: str, value: str, rows: DataFrame | TaskFile
) -> bool:
    """Replace what the newest commit of the table at a path added, if its rows all have a value in a column.

    Only if this program made that commit, by an append or an overwrite; returns whether it did. At most two queries,
    none for a file that is there already, which look at no other file: `replaceWhere` takes ten. Raises OSError, and
    one of CONFLICTS if another commit comes first.
    """
    transaction = begin_transaction(spark, java_class(spark, DELTA_LOG), path)
    lines = actions(spark, path, transaction.readVersion())
    info = _info(lines)
    if not OWN_COMMIT.fullmatch(info.get("userMetadata") or "") or info["operation"] not in WRITES:
        return False
    added = {line: add for line in lines if (add := json.loads(line).get("add"))}
    if not added or not all(_has_only(add, column, value) for add in added.values()):
        return False
    classes = partial(java_class, spark)
    removed = [logged_action(classes, line) for line in added]
    if isinstance(rows, TaskFile):
        commit_exchange(transaction, [rows.line], removed, classes)
    else:
        exchange_files(transaction, removed, rows, classes)
    return True


def append_rows(
    spark: SparkSession, path: str, rows: DataFrame, version: int, user_metadata: str
) -> bool:
    """Append rows to the table at a path, if a version is its newest one; returns whether it was.

    They are made for that version: as far as Delta knows this commit has read all of the table, so it fails if another
    one with new rows comes first. Delta lets an ordinary append pass beside any other, and beside any MERGE. Raises one
    of CONFLICTS.
    """
    classes = partial(java_class, spark)
    transaction = begin_transaction(spark, classes(DELTA_LOG), path)
    if transaction.readVersion() != version:
        return False
    transaction.readWholeTable()
    add_files(transaction, rows, user_metadata, classes)
    return True


def append_files(
    spark: SparkSession,
    path: str,
    files: Sequence[TaskFile],
    user_metadata: str | None,
    *,
    version: int | None = None,
    numbered: tuple[str, int] | None = None,
) -> bool:
    """Append files that are in the folder of the table at a path, see `data_files`; at least one.

    Without `user_metadata` the commit gets what the session has set.

    With a `version` as `append_rows`. With `numbered`, an application and the number of its transaction, Delta refuses
    a second one with this number: False, and nothing is done, if there is one already. Raises one of CONFLICTS,
    also for a transaction with this number that comes first.
    """
    classes = partial(java_class, spark)
    transaction = begin_transaction(spark, classes(DELTA_LOG), path)
    actions = [file.line for file in files]
    if version is not None:
        if transaction.readVersion() != version:
            return False
        transaction.readWholeTable()
    if numbered is not None:
        application, number = numbered
        if number_of_transaction(transaction, application) >= number:
            return False
        told = {"appId": application, "version": number, "lastUpdated": time.time_ns() // 1_000_000}
        actions.insert(0, json.dumps({"txn": told}))
    metrics = {
        "numFiles": len(files),
        "numOutputRows": sum(file.rows for file in files),
        "numOutputBytes": sum(file.size_bytes for file in files),
    }
    commit_files(transaction, actions, user_metadata, metrics, spark, classes)
    return True


def commit_patch(
    spark: SparkSession, path: str, patched: PatchedTable, user_metadata: str, version: int
) -> bool:
    """Commit what a task has changed in a version of the table at a path; at least one row.

    False, and nothing is done, if that is not the newest one, or if its files are no longer listed.

    Raises one of CONFLICTS.
    """
    if not patched.removed:
        return append_files(spark, path, patched.added, user_metadata, version=version)
    classes = partial(java_class, spark)
    transaction = begin_transaction(spark, classes(DELTA_LOG), path)
    if transaction.readVersion() != version:
        return False
    transaction.readWholeTable()
    table = small_table(transaction.deltaLog(), transaction.snapshot(), SMALL_BYTES)
    if table is None:
        return False
    lines = [file.line for file in patched.added]
    if patched.changes is not None:
        lines.append(patched.changes)
    commit_exchange(transaction, lines, table.named(patched.removed), classes)
    return True


def _has_only(add: Mapping[str, Any], column: str, value: str) -> bool:
    """Whether a file's statistics say that all rows have the value; they hold the beginning of a long one only."""
    stats = json.loads(add.get("stats") or "{}")
    ends = {stats.get(end, {}).get(column) for end in ("minValues", "maxValues")}
    return ends == {value} and len(value) < STATS_PREFIX


def _commit_info(spark: SparkSession, path: str, version: int) -> dict[str, Any]:
    return _info(actions(spark, path, version))


def _info(lines: Iterable[str]) -> dict[str, Any]:
    infos = (json.loads(line).get("commitInfo") for line in lines)
    return next(filter(None, infos), {})


def java_message(error: Py4JJavaError) -> str:
    """Class and message of the Java exception, in one line."""
    thrown = error.java_exception
    return f"{thrown.getClass().getSimpleName()}: {thrown.getMessage()}".partition("\n")[0]
