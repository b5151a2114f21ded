"""Changes tables with Spark: wherever Spark has a file system or a catalog, and from any number of machines."""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.delta_folder import LOG
from rebalance_audit.lake.session.spark_session import temporary_settings
from rebalance_audit.lake.storage.data_files import DataFolder, folder_in
from rebalance_audit.lake.storage.stage import GONE, GivenRows, Stage
from rebalance_audit.lake.storage.table_log import USER_METADATA, TableCommit, TableLog, appends_of
from rebalance_audit.lake.storage.table_place import (
    TablePlace,
    WriterKind,
    definition,
    same_key,
    text_literal,
)
from rebalance_audit.lake.storage.table_writer import (
    Outrun,
    TableChange,
    Written,
    outrun_on_conflict,
    require_declared,
)
from rebalance_audit.location import is_catalog, local_path
from rebalance_audit.tables.rules import sql_literal
from rebalance_audit.tables.schemas import TableSchema

CHANGE: Final = "_change"
INSERT: Final = "insert"
UPDATE: Final = "update"
DELETE: Final = "delete"
WAS_OPEN: Final = "_was_open"
"""Whether the row in the table may still change, see `is_open`."""


def is_open(schema: TableSchema, prefix: str = "") -> str:
    """Whether a row may still change, in SQL; never in a table whose schema does not say what ends a row."""
    if schema.open_while_null is None:
        return "false"
    return f"{prefix}{schema.open_while_null} IS NULL"


def changes_between(schema: TableSchema, changes: DataFrame, old: DataFrame) -> DataFrame:
    """The table's columns with CHANGE and WAS_OPEN, for those of the changes that make a difference.

    `changes` are as `TableWriter.merge` takes them, `old` has the table's rows with their keys.
    """
    new = changes.select(*schema.key, GONE, _struct(schema.column_names).alias("row"))
    olds = old.select(*schema.key, _struct(schema.column_names).alias("row"))
    change = F.expr(
        f"CASE WHEN old.row IS NULL AND new.{GONE} THEN NULL"
        f" WHEN old.row IS NULL THEN '{INSERT}'"
        f" WHEN new.{GONE} THEN '{DELETE}'"
        f" WHEN NOT (new.row <=> old.row) THEN '{UPDATE}' END"
    )
    found = (
        new.alias("new")
        .join(olds.alias("old"), F.expr(same_key(schema, "new", "old")), "left")
        .select(
            change.alias(CHANGE),
            F.expr(f"CASE WHEN new.{GONE} THEN old.row ELSE new.row END AS row"),
            F.expr(f"coalesce({is_open(schema, 'old.row.')}, true)").alias(WAS_OPEN),
        )
    )
    return found.where(F.col(CHANGE).isNotNull()).select(CHANGE, WAS_OPEN, "row.*")


def gone_keys(schema: TableSchema, old: DataFrame, new: DataFrame) -> DataFrame:
    """The keys of old rows without a row among the new ones."""
    missing = old.alias("old").join(
        new.select(*schema.key).alias("new"), F.expr(same_key(schema, "old", "new")), "left_anti"
    )
    return missing.select(*schema.key)


def _struct(names: Iterable[str]) -> Column:
    """One expression: pyspark would call Java several times for each column."""
    return F.expr(f"struct({', '.join(names)})")


RANGED: Final = frozenset({"int", "bigint"})
"""Types of key columns whose range is known: Delta keeps their minimum and maximum per file. Ids are spread evenly."""
LISTED_GROUPS: Final = 200
"""Up to this many groups are listed one by one; more are given by their range, which leaves out fewer files."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The keys of some rows of one table."""

    numbers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Key column -> lowest and highest number."""
    groups: Sequence[str] = ()
    """The groups, if there are few."""
    group_ends: tuple[str, str] | None = None
    """First and last group id, if there are many."""

    def condition(self, prefix: str = "") -> str:
        """What every row with one of the keys meets, as SQL with literals; the prefix is put before column names."""
        parts = [
            f"{prefix}{name} BETWEEN {low} AND {high}" for name, (low, high) in self.numbers.items()
        ]
        if self.groups:
            parts.append(f"{prefix}group_id IN ({', '.join(map(text_literal, self.groups))})")
        if self.group_ends is not None:
            first, last = map(text_literal, self.group_ends)
            parts.append(f"{prefix}group_id BETWEEN {first} AND {last}")
        return " AND ".join(parts) or "true"


def range_of_keys(schema: TableSchema, rows: DataFrame) -> KeyRange:
    """The range of the rows of a frame that has the key's columns. Reads the frame once."""
    types = {column.name: column.type for column in schema.columns if not column.nullable}
    names = [name for name in schema.key if types.get(name) in RANGED]
    ends = [
        end(name).alias(f"{word}_{name}")
        for name in names
        for word, end in (("low", F.min), ("high", F.max))
    ]
    group_id = F.col("group_id") if "group_id" in schema.key else F.lit(None)
    few = F.slice(F.collect_set(group_id), 1, LISTED_GROUPS + 1).alias("groups")
    found = rows.agg(*ends, few, F.min(group_id).alias("first"), F.max(group_id).alias("last"))
    row = found.first()
    assert row is not None
    numbers = {
        name: (row[f"low_{name}"], row[f"high_{name}"])
        for name in names
        if row[f"low_{name}"] is not None
    }
    if len(row["groups"]) > LISTED_GROUPS:
        return KeyRange(numbers, group_ends=(row["first"], row["last"]))
    return KeyRange(numbers, row["groups"])


FEW_CHANGES: Final = 20_000
"""Up to this many rows are broadcast: some MB in every task."""
OF_FILES: Final = r"\.(parquet|crc|bin)$"
"""VACUUM's dry run answers with the table's own folder if it has found nothing."""
_VIEWS: Final = count()
"""Numbers of the temporary views that stand for the rows of a MERGE."""


@dataclass
class SparkWriter:
    """See `table_writer.TableWriter`."""

    _spark: SparkSession
    _place: TablePlace
    _log_of: Callable[[TableSchema], TableLog]
    _stage: Callable[[], Stage]
    """That of the run."""
    kind: WriterKind = "spark"

    def create(self, schema: TableSchema) -> None:
        """By SQL."""
        remove_aborted_create(self._place.address(schema))
        self._spark.sql(definition(self._place.sql_name(schema), schema, self.kind))

    def add_columns(self, schema: TableSchema, names: Sequence[str]) -> None:
        """By SQL."""
        columns = ", ".join(
            f"`{column.name}` {column.type} COMMENT {sql_literal(column.meaning)}"
            for column in schema.columns
            if column.name in names
        )
        self._spark.sql(f"ALTER TABLE {self._place.sql_name(schema)} ADD COLUMNS ({columns})")

    def data_folder(self, schema: TableSchema, run_id: str) -> DataFolder:  # noqa: ARG002 - of the stage's run
        """In the stage: Spark alone may reach the table's storage, or may know how it is laid out."""
        return folder_in(self._stage(), schema.full_name)

    def append(self, schema: TableSchema, rows: GivenRows, commit: TableChange) -> Written:
        """As a transaction of the cluster: Delta leaves out, or refuses, a second one with the same number."""
        require_declared(schema, "append")
        if not rows.count():
            return Written()
        transaction = {
            "txnAppId": appends_of(commit.cluster),
            "txnVersion": str(commit.based_on + 1),
        }
        self._write(schema, rows, commit, "append", transaction)
        made = self._made(schema, commit)
        added = made.rows_added
        # Metrics can be switched off, or be lost with a worker.
        return Written(inserted=rows.count() if added is None else added)

    def merge(self, schema: TableSchema, changes: GivenRows, commit: TableChange) -> Written:
        """By MERGE, after a comparison: MERGE commits and rewrites files even if nothing differs."""
        require_declared(schema, "merge")
        self._require_version(schema, commit)
        given = changes.frame
        key_range = range_of_keys(schema, given)
        old = self._rows(schema, commit, key_range)
        # MERGE reads its source twice, and refuses a cached one.
        staged = self._stage().put(changes_between(schema, given, old))
        frame = staged.frame
        found = frame.groupBy(CHANGE).agg(
            F.count(F.lit(1)).alias("rows"), F.bool_and(WAS_OPEN).alias(WAS_OPEN)
        )
        counted = {row[CHANGE]: row for row in found.collect()}
        counts = {change: row["rows"] for change, row in counted.items()}
        written = Written(counts.get(INSERT, 0), counts.get(UPDATE, 0), counts.get(DELETE, 0))
        if not written.rows:
            return written
        all_open = all(row[WAS_OPEN] for change, row in counted.items() if change != INSERT)
        among = is_open(schema, "target.") if all_open else None
        source = frame.drop(WAS_OPEN)
        if written.rows <= FEW_CHANGES:
            # Spark cannot know how few there are, and would shuffle both sides of the join.
            source = F.broadcast(source)
        # MERGE takes it from the session alone, where a run has the same.
        of_run = temporary_settings(self._spark, {USER_METADATA: commit.run_id})
        with outrun_on_conflict(), of_run:
            self._merge(schema, source, commit, key_range, among)
        return written

    def replace(
        self, schema: TableSchema, rows: GivenRows, value: str | None, commit: TableChange
    ) -> Written:
        """By an overwrite, for a value with `replaceWhere`."""
        scope = {}
        if value is not None:
            require_declared(schema, "replace")
            scope = {"replaceWhere": f"{schema.replaced_by} = {text_literal(value)}"}
        self._write(schema, rows, commit, "overwrite", scope)
        return Written(inserted=rows.count())

    def set_property(self, schema: TableSchema, name: str, value: str) -> None:
        """By SQL."""
        self._spark.sql(
            f"ALTER TABLE {self._place.sql_name(schema)} SET TBLPROPERTIES ('{name}' = '{value}')"
        )

    def delete_before(self, schema: TableSchema, before: datetime) -> None:
        """By DELETE."""
        name = self._place.sql_name(schema)
        self._spark.sql(
            f"DELETE FROM {name} WHERE {schema.aged_by} < timestamp_millis({round(before.timestamp() * 1000)})"  # noqa: S608 - a quoted name
        )

    def compact(self, schema: TableSchema) -> tuple[int, int]:
        """By OPTIMIZE, with ZORDER BY where the schema says by what and the table is not clustered already."""
        name = self._place.sql_name(schema)
        clustered_by = (
            self._spark.sql(f"DESCRIBE DETAIL {name}").select("clusteringColumns").first()
        )
        is_clustered = clustered_by is not None and bool(clustered_by[0])
        order = () if is_clustered else schema.clustered_by
        by = f" ZORDER BY ({', '.join(order)})" if order else ""
        metrics = self._spark.sql(f"OPTIMIZE {name}{by}").select("metrics.*").first()
        assert metrics is not None
        return metrics["numFilesAdded"], metrics["numFilesRemoved"]

    def vacuum(self, schema: TableSchema, hours: int, *, dry_run: bool) -> int:
        """By VACUUM."""
        name = self._place.sql_name(schema)
        found = self._spark.sql(f"VACUUM {name} RETAIN {hours} HOURS DRY RUN")
        count = found.where(F.col("path").rlike(OF_FILES)).count()
        if count and not dry_run:
            self._spark.sql(f"VACUUM {name} RETAIN {hours} HOURS")
        return count

    def _write(
        self,
        schema: TableSchema,
        rows: GivenRows,
        commit: TableChange,
        mode: str,
        options: Mapping[str, str],
    ) -> None:
        self._require_version(schema, commit)
        writer = rows.frame.select(*schema.column_names).write.format("delta").mode(mode)
        writer = writer.options(**options).option("userMetadata", commit.run_id)
        with outrun_on_conflict():
            self._place.save(schema, writer)

    def _merge(
        self,
        schema: TableSchema,
        changes: DataFrame,
        commit: TableChange,
        key_range: KeyRange,
        among: str | None,
    ) -> None:
        """`among` is a condition on the target that every row to be updated or deleted meets."""
        # The literals let Delta skip files of other clusters and of other keys.
        match = [
            f"target.cluster = {text_literal(commit.cluster)}",
            same_key(schema, "target", "source"),
            key_range.condition("target."),
            *([] if among is None else [among]),
        ]
        names = schema.column_names
        view = f"rebalance_audit_changes_{next(_VIEWS)}"
        changes.createOrReplaceTempView(view)
        try:
            self._spark.sql(
                f"MERGE INTO {self._place.sql_name(schema)} AS target USING {view} AS source"  # noqa: S608 - quoted names
                f" ON {' AND '.join(f'({part})' for part in match)}"
                f" WHEN MATCHED AND source.{CHANGE} = '{DELETE}' THEN DELETE"
                f" WHEN MATCHED AND source.{CHANGE} = '{UPDATE}'"
                f" THEN UPDATE SET {', '.join(f'target.`{name}` = source.`{name}`' for name in names)}"
                f" WHEN NOT MATCHED AND source.{CHANGE} = '{INSERT}'"
                f" THEN INSERT ({', '.join(f'`{name}`' for name in names)})"
                f" VALUES ({', '.join(f'source.`{name}`' for name in names)})"
            )
        finally:
            self._spark.catalog.dropTempView(view)

    def _rows(self, schema: TableSchema, commit: TableChange, key_range: KeyRange) -> DataFrame:
        """The cluster's rows in the range of the keys, as of the version that a commit builds on."""
        name = self._place.sql_name(schema)
        table = self._spark.sql(f"SELECT * FROM {name} VERSION AS OF {commit.based_on}")  # noqa: S608 - a quoted name
        ours = table.where(F.col("cluster") == commit.cluster)
        return ours.where(key_range.condition()).select(*schema.column_names)

    def _require_version(self, schema: TableSchema, commit: TableChange) -> None:
        """Raises Outrun if the table has a later version than the one that a commit builds on."""
        if (version := self._log_of(schema).version()) != commit.based_on:
            raise Outrun(f"{self._place.address(schema)} is at version {version}")

    def _made(self, schema: TableSchema, commit: TableChange) -> TableCommit:
        """The commit that an append has made. Raises Outrun if Delta has left it out."""
        log = self._log_of(schema)
        commits = log.commits(commit.based_on + 1, log.version() or 0)
        made = [found for found in commits if found.user_metadata == commit.run_id]
        if made:
            return made[-1]
        raise Outrun(f"{self._place.address(schema)} has no commit of {commit.run_id}")


STAGED: Final = "_staged_commits"


def remove_aborted_create(table: str) -> None:
    """Remove the log's folder of a table without a version, if it has only files that were still being written.

    A process that died, or a full disk, left them. Delta takes any folder that is not empty for a table: then
    `CREATE TABLE IF NOT EXISTS` does nothing, and every read finds no table. Object stores have no empty folders, and a
    file there is complete or does not exist.

    To be called under `lock.sole_table_maker`. Raises OSError.
    """
    path = None if is_catalog(table) else local_path(table)
    if path is None or not (path / LOG).is_dir():
        return
    if all(_is_uncommitted(found) for found in (path / LOG).iterdir()):
        shutil.rmtree(path / LOG)


def _is_uncommitted(found: Path) -> bool:
    """Whether it is a file that Delta would have renamed, or its folder for commits of catalogs, still empty."""
    return found.name.startswith(".") or (found.name == STAGED and not any(found.iterdir()))
