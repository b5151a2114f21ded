"""Writing tables so that a run can be repeated, or killed anywhere and repeated, and the rows are the same.

Each table is changed by one atomic commit, or by none where nothing differs: a run over an unchanged log leaves every
version as it is, and a change data feed tells only what has really changed.
"""

from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.tables import Lake
from rebalance_audit.table_schemas import TableSchema, table_schemas

CHANGE: Final = "_change"
INSERT: Final = "insert"
UPDATE: Final = "update"
DELETE: Final = "delete"


@dataclass(frozen=True, slots=True)
class Written:
    """What one write did."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def rows(self) -> int:
        """Rows that differ from before."""
        return self.inserted + self.updated + self.deleted


class Sink:
    """Writes the rows of one cluster."""

    def __init__(self, lake: Lake, cluster: str, run_id: str) -> None:
        """`run_id` goes into the commits' `userMetadata`, so that lineage tools see which run wrote what."""
        self.lake = lake
        self.cluster = cluster
        self._run_id = run_id

    def insert_new(self, name: str, rows: DataFrame) -> Written:
        """Add the rows whose key the table does not have; a row that is there stays as it is."""
        schema = table_schemas()[name]
        rows = self._shaped(schema, rows)
        if self.is_empty(name):
            return self._append(schema, rows)
        there = self._of_cluster(name).select(*schema.key)
        missing = rows.alias("new").join(
            there.alias("old"), _same_key(schema, "new", "old"), "left_anti"
        )
        return self._apply(schema, missing.withColumn(CHANGE, F.lit(INSERT)))

    def upsert(self, name: str, rows: DataFrame) -> Written:
        """Add rows, and update those whose key is there; nothing is removed."""
        schema = table_schemas()[name]
        rows = self._shaped(schema, rows)
        if self.is_empty(name):
            return self._append(schema, rows)
        return self._apply(schema, _changes(schema, rows, self._of_cluster(name), "left"))

    def replace(
        self, name: str, rows: DataFrame, scope: Column, groups: DataFrame | None = None
    ) -> Written:
        """Make the rows of the cluster within a scope these; others of the scope are removed.

        `scope` is a condition on the table's columns that every given row meets, `F.lit(True)` for all of the cluster.
        With `groups`, a frame with a column `group_id`, the scope is only these groups.
        """
        schema = table_schemas()[name]
        rows = self._shaped(schema, rows)
        if self.is_empty(name):
            return self._append(schema, rows)
        old = self._of_cluster(name).where(scope)
        if groups is not None:
            old = old.join(groups, "group_id", "left_semi").select(*schema.column_names)
        return self._apply(schema, _changes(schema, rows, old, "full"))

    def is_empty(self, name: str) -> bool:
        """Whether nothing was ever written to the table."""
        return self.lake.version(name) == 0

    def _shaped(self, schema: TableSchema, rows: DataFrame) -> DataFrame:
        """The columns in the table's order, the cluster first."""
        named = rows.withColumn("cluster", F.lit(self.cluster))
        return named.select(*schema.column_names)

    def _of_cluster(self, name: str) -> DataFrame:
        return self.lake.read(name).where(F.col("cluster") == self.cluster)

    def _append(self, schema: TableSchema, rows: DataFrame) -> Written:
        """Add rows whose keys the table does not have.

        Appends that know nothing of each other do not conflict. So this one is a transaction of an application, the
        cluster, numbered by the table's version: of two runs that have seen the same version one fails. Where nothing
        was ever written that is left to bronze, the first table of a run: it costs Delta a look at the whole log.
        """
        name = schema.full_name
        writer = rows.write.format("delta").mode("append").option("userMetadata", self._run_id)
        version = self.lake.version(name) or 0
        if version or schema.layer == "bronze":
            writer = writer.option("txnAppId", f"rebalance-audit/{self.cluster}")
            writer = writer.option("txnVersion", version + 1)
        self.lake.save(name, writer)
        return Written(inserted=self.lake.rows_appended(name, self._run_id))

    def _apply(self, schema: TableSchema, changes: DataFrame) -> Written:
        """Do with each row what its CHANGE says; no commit where there is none."""
        changes = changes.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            counts = {
                row[CHANGE]: row["count"] for row in changes.groupBy(CHANGE).count().collect()
            }
            written = Written(counts.get(INSERT, 0), counts.get(UPDATE, 0), counts.get(DELETE, 0))
            if written.updated or written.deleted:
                self._merge(schema, changes)
            elif written.inserted:
                self._append(schema, changes.drop(CHANGE))
            return written
        finally:
            changes.unpersist()

    def _merge(self, schema: TableSchema, changes: DataFrame) -> None:
        table = self.lake.delta_table(schema.full_name)
        values: dict[str, str | Column] = {
            name: F.col(f"source.{name}") for name in schema.column_names
        }
        # The literal lets Delta leave out files of other clusters.
        match = (F.col("target.cluster") == self.cluster) & _same_key(schema, "target", "source")
        change = F.col(f"source.{CHANGE}")
        (
            table.alias("target")
            .merge(changes.alias("source"), match)
            .whenMatchedDelete(change == DELETE)
            .whenMatchedUpdate(change == UPDATE, set=values)
            .whenNotMatchedInsert(change == INSERT, values=values)
            .execute()
        )


def _changes(schema: TableSchema, new: DataFrame, old: DataFrame, how: str) -> DataFrame:
    """What turns the old rows into the new ones; with `how` left, rows that are only among the old ones stay."""
    news = new.select(F.struct(*schema.column_names).alias("new"))
    olds = old.select(F.struct(*schema.column_names).alias("old"))
    change = (
        F.when(F.col("old").isNull(), INSERT)
        .when(F.col("new").isNull(), DELETE)
        .when(~F.col("new").eqNullSafe(F.col("old")), UPDATE)
    )
    return (
        news.join(olds, _same_key(schema, "new", "old"), how)
        .select(change.alias(CHANGE), F.coalesce("new", "old").alias("row"))
        .where(F.col(CHANGE).isNotNull())
        .select(CHANGE, "row.*")
    )


def _same_key(schema: TableSchema, left: str, right: str) -> Column:
    """Equality of the table's key, null-safe where a key column may be null."""
    nullable = {column.name for column in schema.columns if column.nullable}
    pairs = [(name, F.col(f"{left}.{name}"), F.col(f"{right}.{name}")) for name in schema.key]
    return reduce(
        and_, (one.eqNullSafe(two) if name in nullable else one == two for name, one, two in pairs)
    )
