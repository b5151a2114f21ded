"""What a Delta table's log says about its newest commits, without a Spark job.

File names and the action `commitInfo` are part of the Delta protocol; DESCRIBE HISTORY says the same, but costs a job
each time. Hadoop's file systems reach the log wherever the lake is.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

COMMIT_NAME: Final = re.compile(r"(\d{20})\.json")


def latest_version(spark: SparkSession, path: str) -> int:
    """Newest version of the table at a path. Raises OSError if there is no table, or if it cannot be listed."""
    version = version_or_none(spark, path)
    if version is None:
        raise OSError(f"there is no Delta table at {path}")
    return version


def version_or_none(spark: SparkSession, path: str) -> int | None:
    """Newest version of the table at a path, None if there is none. Raises OSError for a failing file system."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Hadoop's file systems have no other door
    log = jvm.org.apache.hadoop.fs.Path(f"{path}/_delta_log")
    try:
        system = log.getFileSystem(_hadoop_conf(spark))
        if not system.exists(log):
            return None
        names = [status.getPath().getName() for status in system.listStatus(log)]
    except Py4JJavaError as error:
        raise OSError(java_message(error)) from None
    versions = [int(match[1]) for name in names if (match := COMMIT_NAME.fullmatch(name))]
    return max(versions, default=None)


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
    return TableCommit(version, info.get("operation"), info.get("userMetadata"))


def table_id(spark: SparkSession, path: str) -> str:
    """The id that the table at a path got when it was made: another table at the same path has another one."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - DeltaTable.detail() says the same, after two jobs
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, path)  # noqa: SLF001 - as above
    return str(log.unsafeVolatileSnapshot().metadata().id())


def _commit_info(spark: SparkSession, path: str, version: int) -> dict[str, Any]:
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - as above
    file = jvm.org.apache.hadoop.fs.Path(f"{path}/_delta_log/{version:020d}.json")
    try:
        stream = file.getFileSystem(_hadoop_conf(spark)).open(file)
        try:
            text = jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
        finally:
            stream.close()
    except Py4JJavaError as error:
        raise OSError(java_message(error)) from None
    infos = (json.loads(line).get("commitInfo") for line in text.splitlines())
    return next(filter(None, infos), {})


def _hadoop_conf(spark: SparkSession) -> Any:
    return spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - as above


def java_message(error: Py4JJavaError) -> str:
    """Class and message of the Java exception, in one line."""
    thrown = error.java_exception
    return f"{thrown.getClass().getSimpleName()}: {thrown.getMessage()}".partition("\n")[0]
