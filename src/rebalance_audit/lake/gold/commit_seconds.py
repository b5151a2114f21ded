"""Offset commits counted by second: what the columns of gold.group_hours about commits are made of.

A second has a row for each task, or batch, that has seen commits of it: whoever goes on from them adds these up.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.gold.commit_stretches import SECONDS, seconds_with
from rebalance_audit.lake.gold.wanted_hours import hour_of
from rebalance_audit.lake.storage.table_files import TableFiles
from rebalance_audit.tables.arrow_types import ddl_of_columns, schema_of_columns

READ: Final = ("group_id", "timestamp", "tombstone")
MADE: Final = ("group_id", "hour", "second", "commits", "first_at", "last_at")
"""The columns, of SECONDS."""
LOOKED_AT_FIRST: Final = 0.1
"""This share of the rows that are allowed may come from however few commits."""
_TYPES: Final = {name: SECONDS[name] for name in MADE}


def seconds_of(commits: DataFrame) -> DataFrame:
    """The seconds of rows of silver.offset_commits, with the columns MADE."""
    at = F.col("timestamp")
    # Whatever became of their transaction; tombstones are no commits.
    return (
        commits.where("not tombstone and timestamp is not null")
        .groupBy("group_id", hour_of(at).alias("hour"), F.date_trunc("second", at).alias("second"))
        .agg(
            F.count(F.lit(1)).alias("commits"),
            F.min("timestamp").alias("first_at"),
            F.max("timestamp").alias("last_at"),
        )
    )


def seconds_of_files(spark: SparkSession, files: TableFiles) -> DataFrame:
    """The same of files of silver.offset_commits, which the tasks read themselves."""
    return files.made_of(spark, READ, counted_by_second, ddl_of_columns(_TYPES))


def seconds_in(files: TableFiles | None) -> pa.Table:
    """The same with all columns of SECONDS, read here; of None no rows."""
    batches = () if files is None else files.rows(READ)
    return seconds_with(pa.Table.from_batches([part]) for part in counted_by_second(batches))


def few_seconds_in(files: TableFiles | None, rows_max: int, commits: int) -> pa.Table | None:
    """The same of files with so many commits; None as soon as it is likely that there are more rows."""
    held, rows, seen = [], 0, 0
    for part in counted_by_second(() if files is None else files.rows(READ)):
        held.append(pa.Table.from_batches([part]))
        rows += len(part)
        seen += pc.sum(part["commits"]).as_py() or 0
        if rows > rows_max * min(1, max(LOOKED_AT_FIRST, seen / max(1, commits))):
            return None
    return seconds_with(held)


def counted_by_second(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same of batches with the columns READ."""
    for batch in batches:
        there = pc.and_(pc.invert(batch["tombstone"]), batch["timestamp"].is_valid())
        at = batch["timestamp"].filter(there)
        seconds = pa.table(
            {
                "group_id": batch["group_id"].filter(there),
                "second": pc.floor_temporal(at, unit="second"),
                "at": at,
            }
        )
        counted = seconds.group_by(["group_id", "second"]).aggregate(
            [([], "count_all"), ("at", "min"), ("at", "max")]
        )
        columns = {
            "group_id": counted["group_id"],
            "hour": pc.floor_temporal(counted["second"], unit="hour"),
            "second": counted["second"],
            "commits": counted["count_all"],
            "first_at": counted["at_min"],
            "last_at": counted["at_max"],
        }
        yield from pa.table(columns).cast(schema_of_columns(_TYPES)).to_batches()
