"""Rows that a step leaves for later ones, without the queries that they came from: Spark would plan those again.

On one machine they are blocks of the only process. On a cluster they are files in the lake: blocks would go with their
executor, and nothing could compute them again.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.lake.session.java_classes import HADOOP_PATH, java_class
from rebalance_audit.lake.session.private_spark import hadoop_conf

FOLDER: Final = "meta/.rows"
"""In a lake: a folder for each run, by its id, which is gone when the run has ended."""


def kept(rows: DataFrame, *, at_once: bool = False) -> DataFrame:
    """The same rows, computed when they are first read, on a cluster or `at_once` now."""
    spark = rows.sparkSession
    if is_one_process(spark) or spark.sparkContext.getCheckpointDir() is None:
        return rows.localCheckpoint(eager=at_once)
    # Later it would be computed once for whoever reads it and once for the files.
    return rows.checkpoint()


@contextmanager
def keeping_rows(spark: SparkSession, lake: str | None, run_id: str) -> Iterator[None]:
    """Have rows kept in the lake's folder during the block.

    None for a lake without one: then Spark's setting `spark.checkpoint.dir` says where, and without it rows are lost
    with their executor.
    """
    if lake is None or is_one_process(spark):
        yield
        return
    folder = f"{lake}/{FOLDER}/{run_id}"
    spark.sparkContext.setCheckpointDir(folder)
    try:
        yield
    finally:
        path, system = _path(spark, folder)
        with suppress(
            Py4JJavaError
        ):  # whatever ended the run may prevent this too; `remove_kept_rows` comes later
            system.delete(path, True)


def remove_kept_rows(spark: SparkSession, lake: str, before: datetime) -> None:
    """Remove what runs have left that began before a moment (UTC), and were killed."""
    path, system = _path(spark, f"{lake}/{FOLDER}")
    if not system.exists(path):
        return
    for status in system.listStatus(path):
        if status.getPath().getName() < f"{before:%Y%m%dT%H%M%SZ}":
            system.delete(status.getPath(), True)


def _path(spark: SparkSession, folder: str) -> tuple[Any, Any]:
    """The folder and its file system, both of Hadoop."""
    path = java_class(spark, HADOOP_PATH)(folder)
    return path, path.getFileSystem(hadoop_conf(spark))


def is_one_process(spark: SparkSession) -> bool:
    """Whether driver and executor are one process, whose Python workers are on the same machine."""
    master = spark.sparkContext.master or ""
    return master == "local" or master.startswith("local[")
