"""Tables of few bytes, read and changed by the list of files that Delta keeps with each commit's checksum.

For every version of a table Delta makes that list anew from the log, by three queries, and MERGE takes some ten. For
the tables of an increment that was most of its time. Where there is no such list, Delta does all of it in its own way.
"""

from functools import partial
from typing import Final

from delta.exceptions import ConcurrentWriteException
from py4j.protocol import Py4JError
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.session.java_classes import java_class
from rebalance_audit.lake.session.private_spark import (
    DELTA_LOG,
    begin_transaction,
    exchange_files,
    newest_snapshot,
    rows_of_files,
    sequence,
    small_table,
)
from rebalance_audit.lake.storage.row_changes import CHANGE, DELETE, INSERT, UPDATE

SMALL_BYTES: Final = 32 << 20
"""A table of so many bytes is read in about the time in which Delta plans to read a part of it."""
CHANGE_FEED: Final = "delta.enableChangeDataFeed"
CHANGE_TYPE: Final = "_change_type"
"""Delta's column by which rows of the change feed are told from the table's own, which have null in it."""
FILE: Final = "_file"
ROW: Final = "_row"


def small_table_rows(
    spark: SparkSession, path: str, version: int | None = None
) -> DataFrame | None:
    """The table at a path if it is small, and if `version` is the newest one; else None.

    Of few bytes all are read. Later commits are not seen.
    """
    classes = partial(java_class, spark)
    try:
        log, snapshot = newest_snapshot(spark, classes(DELTA_LOG), path)
        if snapshot.version() < 0 or version not in {None, snapshot.version()}:
            return None
        table = small_table(log, snapshot, SMALL_BYTES)
        return None if table is None else rows_of_files(spark, classes, table, table.files)
    except Py4JError:
        # A damaged log, of which Spark's reader tells, or a Delta that has no such list.
        return None


def change_small_table(
    spark: SparkSession, path: str, changes: DataFrame, match: Column, version: int
) -> bool:
    """Do with the table at a path what MERGE would do; False, with nothing done, if it is not small.

    `changes` has the table's columns and CHANGE; its rows are few, and it is read several times. `match` tells which
    row of the table, `target`, a change, `source`, is about. An update of a row that the table does not have adds it.
    Raises one of CONFLICTS if `version` is not the newest one, or another commit comes first.
    """
    classes = partial(java_class, spark)
    try:
        transaction = begin_transaction(spark, classes(DELTA_LOG), path)
        table = small_table(transaction.deltaLog(), transaction.snapshot(), SMALL_BYTES)
        if table is None:
            return False
        if transaction.readVersion() != version:
            raise ConcurrentWriteException(f"{path} is at version {transaction.readVersion()}")
        # As for MERGE, whatever others add meanwhile could be the same rows.
        transaction.readWholeTable()
        target = rows_of_files(spark, classes, table, table.files)
        has_feed = table.property(CHANGE_FEED) == "true"
    except Py4JError:
        return False  # as in `small_table_rows`
    named = target.select("*", F.col("_metadata.file_name").alias(FILE)).alias("target")
    source = changes.alias("source")
    found = named.join(source, match, "left_semi").select(FILE).distinct().collect()
    touched = table.named(row[FILE] for row in found)
    old = rows_of_files(spark, classes, table, sequence(classes, touched))
    rows = _changed(old, source, match, has_feed=has_feed)
    exchange_files(transaction, touched, rows.coalesce(1), classes)
    return True


def _changed(old: DataFrame, source: DataFrame, match: Column, *, has_feed: bool) -> DataFrame:
    """The rows of the files that take the place of those with the old rows, and rows of the change feed."""
    columns = old.columns
    target = old.select("*", F.lit(True).alias(ROW)).alias("target")
    change = F.col(f"source.{CHANGE}")
    before, after = (
        F.struct(*(F.col(f"{side}.{name}") for name in columns)) for side in ("target", "source")
    )

    def row(values: Column, kind: str | None) -> Column:
        return F.struct(F.lit(kind).cast("string").alias(CHANGE_TYPE), values.alias("row"))

    is_new = F.col(f"target.{ROW}").isNull()
    kept = F.array(row(before, None))
    inserted = F.array(row(after, None), row(after, "insert"))
    updated = F.array(
        row(after, None), row(before, "update_preimage"), row(after, "update_postimage")
    )
    deleted = F.array(row(before, "delete"))
    nothing = F.filter(kept, lambda _: F.lit(False))
    told = (
        F.when(is_new & (change == DELETE), nothing)
        .when(is_new, inserted)
        .when(change.isNull() | (change == INSERT), kept)
        .when(change == UPDATE, updated)
        .otherwise(deleted)
    )
    out = target.join(source, match, "full").select(F.inline(told)).select(CHANGE_TYPE, "row.*")
    if has_feed:
        return out.select(*columns, CHANGE_TYPE)
    return out.where(F.col(CHANGE_TYPE).isNull()).select(*columns)
