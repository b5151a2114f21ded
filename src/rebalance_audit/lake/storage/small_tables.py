"""Tables of few bytes, read and changed by the list of files that Delta keeps with each commit's checksum.

For every version of a table Delta makes that list anew from the log, by three queries, and MERGE takes some ten. For
the tables of an increment that was most of its time. Where there is no such list, Delta does all of it in its own way.
"""

from collections.abc import Collection
from functools import partial
from typing import Final
from urllib.parse import unquote

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
    property_of,
    rows_of_files,
    sequence,
    small_table,
)
from rebalance_audit.lake.storage.data_files import data_files
from rebalance_audit.lake.storage.row_changes import (
    CHANGE,
    CHANGE_TYPE,
    DELETE,
    FILE,
    INSERT,
    UPDATE,
)
from rebalance_audit.lake.storage.table_patch import PatchableTable
from rebalance_audit.tables.schemas import TableSchema

SMALL_BYTES: Final = 32 << 20
"""A table of so many bytes is read in about the time in which Delta plans to read a part of it."""
CHANGE_FEED: Final = "delta.enableChangeDataFeed"
ROW: Final = "_row"
BEFORE: Final = "_before"
AFTER: Final = "_after"


def small_table_rows(
    spark: SparkSession, path: str, version: int | None = None, *, with_files: bool = False
) -> DataFrame | None:
    """The table at a path if it is small, and if `version` is the newest one; else None.

    Of few bytes all are read. Later commits are not seen. With a column FILE, if wanted: the name of each row's file.
    """
    classes = partial(java_class, spark)
    try:
        log, snapshot = newest_snapshot(spark, classes(DELTA_LOG), path)
        if snapshot.version() < 0 or version not in {None, snapshot.version()}:
            return None
        table = small_table(log, snapshot, SMALL_BYTES)
        if table is None:
            return None
        rows = rows_of_files(spark, classes, table, table.files)
    except Py4JError:
        # A damaged log, of which Spark's reader tells, or a Delta that has no such list.
        return None
    return _with_files(rows) if with_files else rows


def change_small_table(
    spark: SparkSession,
    path: str,
    changes: DataFrame,
    match: Column,
    version: int,
    files: Collection[str] = (),
) -> bool:
    """Do with the table at a path what MERGE would do; False, with nothing done, if it is not small.

    `changes` has the table's columns and CHANGE; its rows are few, and it is read several times. `match` tells which
    row of the table, `target`, a change, `source`, is about. An update of a row that the table does not have adds it.
    `files`, where they are known, have the rows to update and to delete, as FILE of `small_table_rows`: then `changes`
    says of exactly the rows which the table does not have that they are to be inserted. Raises one of CONFLICTS if
    `version` is not the newest one, or another commit comes first.
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
        has_feed = property_of(table.snapshot, CHANGE_FEED) == "true"
    except Py4JError:
        return False  # as in `small_table_rows`
    source = changes.alias("source")
    touched = table.named(files)
    # A run of another cluster may have laid its rows and these into other files meanwhile.
    is_known = bool(files) and len(touched) == len(files)
    if not is_known:
        named = _with_files(target).alias("target")
        found = named.join(source, match, "left_semi").select(FILE).distinct().collect()
        touched = table.named(row[FILE] for row in found)
    old = rows_of_files(spark, classes, table, sequence(classes, touched))
    pairs = _pairs(old, source, match, is_exact=is_known)
    rows = _changed(pairs, has_feed=has_feed)
    exchange_files(transaction, touched, rows.coalesce(1), classes)
    return True


def patchable_table(
    spark: SparkSession, schema: TableSchema, path: str, version: int, *, appends: bool = False
) -> PatchableTable | None:
    """The table at a path as one task changes it, if it is small, and if `version` is the newest one; else None.

    If a task only `appends` rows to it, it may be of any size. None also where tasks cannot write files themselves.
    """
    files = data_files(spark, schema, path)
    if files is None:
        return None
    names: list[str] = []
    try:
        log, snapshot = newest_snapshot(spark, java_class(spark, DELTA_LOG), path)
        if snapshot.version() != version:
            return None
        if not appends:
            table = small_table(log, snapshot, SMALL_BYTES)
            if table is None:
                return None
            names = [unquote(each) for each in table.paths]
        has_feed = property_of(snapshot, CHANGE_FEED) == "true"
    except Py4JError:
        return None  # as in `small_table_rows`
    if any("/" in name for name in names):
        return None  # a clone has files of another table
    return PatchableTable(
        files, tuple(names), tuple(schema.key), schema.open_while_null, has_feed, version
    )


def _with_files(rows: DataFrame) -> DataFrame:
    return rows.select("*", F.col("_metadata.file_name").alias(FILE))


def _pairs(old: DataFrame, source: DataFrame, match: Column, *, is_exact: bool) -> DataFrame:
    """Each row of the files, as BEFORE, beside what is to be done with it: CHANGE, and AFTER; null for what is not."""
    target = old.select("*", F.lit(True).alias(ROW)).alias("target")
    columns = {
        side: f"struct({', '.join(f'{side}.{name}' for name in old.columns)})"
        for side in ("target", "source")
    }
    before = F.expr(f"CASE WHEN target.{ROW} THEN {columns['target']} END AS {BEFORE}")
    after, change = F.expr(f"{columns['source']} AS {AFTER}"), F.col(f"source.{CHANGE}")

    def joined(changes: DataFrame, how: str) -> DataFrame:
        return target.join(changes, match, how).select(before, change, after)

    if not is_exact:
        return joined(source, "full")
    # Without a shuffle: what is to be inserted has no row to look for.
    inserted = source.where(change == INSERT).select(change, after)
    return joined(source.where(change != INSERT), "left").unionByName(
        inserted, allowMissingColumns=True
    )


def _changed(pairs: DataFrame, *, has_feed: bool) -> DataFrame:
    """The rows that take the place of those of the files, and rows of the change feed."""

    def row(side: str, kind: str | None = None) -> str:
        told = "CAST(NULL AS STRING)" if kind is None else f"'{kind}'"
        return f"struct({told} AS {CHANGE_TYPE}, {side} AS row)"

    kept = f"array({row(BEFORE)})"
    inserted = f"array({row(AFTER)}, {row(AFTER, 'insert')})"
    updated = (
        f"array({row(AFTER)}, {row(BEFORE, 'update_preimage')}, {row(AFTER, 'update_postimage')})"
    )
    deleted = f"array({row(BEFORE, 'delete')})"
    told = (
        f"CASE WHEN {BEFORE} IS NULL AND {CHANGE} = '{DELETE}' THEN filter({kept}, row -> false)"
        f" WHEN {BEFORE} IS NULL THEN {inserted}"
        f" WHEN {CHANGE} IS NULL OR {CHANGE} = '{INSERT}' THEN {kept}"
        f" WHEN {CHANGE} = '{UPDATE}' THEN {updated}"
        f" ELSE {deleted} END"
    )
    out = pairs.selectExpr(f"inline({told})").select("row.*", CHANGE_TYPE)
    return out if has_feed else out.where(f"{CHANGE_TYPE} IS NULL").drop(CHANGE_TYPE)
