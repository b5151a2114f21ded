"""Writing tables so that a run can be repeated, or killed anywhere and repeated, and the rows are the same.

Each table is changed by one atomic commit, or by none where nothing differs: a run over an unchanged log leaves every
version as it is, and a change data feed tells only what has really changed. What is compared and merged is narrowed to
the range of the new rows' keys, so that Delta leaves out the files that cannot have them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.tables import Lake
from rebalance_audit.lake.turns import in_turn
from rebalance_audit.table_schemas import TableSchema, table_schemas

CHANGE: Final = "_change"
INSERT: Final = "insert"
UPDATE: Final = "update"
DELETE: Final = "delete"
HOURS: Final = "_hours"
RANGED: Final = frozenset({"string", "int", "bigint"})
"""Types of columns whose range is told: Delta keeps their minimum and maximum per file."""
LISTED_GROUPS: Final = 200
"""Up to so many groups are named one by one, which leaves out more files than their range."""

Narrow: TypeAlias = Callable[[str], Column]
"""A condition on the columns of a table, whose names get a prefix."""
Footprint: TypeAlias = Callable[[str], Column]
"""The hours of gold.group_hours that a row, a struct of that name, has a part in."""


@dataclass(frozen=True, slots=True)
class Written:
    """What one write did."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    hours: DataFrame | None = None
    """Group and hour of what differs, where that was asked for."""

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

    def append(self, name: str, rows: DataFrame) -> Written:
        """Add rows whose keys the table does not have."""
        schema = table_schemas()[name]
        return self._append(schema, self._shaped(schema, rows))

    def insert_new(self, name: str, rows: DataFrame) -> Written:
        """Add the rows whose key the table does not have; a row that is there stays as it is."""
        schema = table_schemas()[name]
        rows = self._shaped(schema, rows)
        if self.is_empty(name):
            return self._append(schema, rows)
        there = self.of_cluster(name).select(*schema.key)
        missing = rows.alias("new").join(
            there.alias("old"), _same_key(schema, "new", "old"), "left_anti"
        )
        return self._apply(schema, missing.withColumn(CHANGE, F.lit(INSERT)))

    def upsert(self, name: str, rows: DataFrame) -> Written:
        """Add rows, and update those whose key is there; nothing is removed. `rows` are looked through twice."""
        schema = table_schemas()[name]
        rows = self._shaped(schema, rows)
        if self.is_empty(name):
            return self._append(schema, rows)
        narrow = self._narrow(schema, rows)
        old = self.of_cluster(name).where(narrow(""))
        return self._apply(schema, _changes(schema, rows, old, "left"), narrow)

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
        return self._apply(schema, self._replaced(schema, rows, scope, groups))

    def rewrite(self, name: str, rows: DataFrame, count: int) -> Written:
        """Put `count` rows in the place of all rows of the cluster, without a look at those: for small tables."""
        schema = table_schemas()[name]
        quoted = self.cluster.replace("\\", "\\\\").replace("'", "\\'")
        writer = self._shaped(schema, rows).write.format("delta").mode("overwrite")
        writer = writer.option("replaceWhere", f"cluster = '{quoted}'")
        in_turn(lambda: self.lake.save(name, writer))
        return Written(inserted=count)

    def patch(
        self,
        name: str,
        new: DataFrame,
        gone: DataFrame,
        whole: DataFrame | None = None,
        groups: DataFrame | None = None,
        footprint: Footprint | None = None,
    ) -> Written:
        """Add and update rows, remove those whose key is in `gone`, and make all rows of `groups` those of `whole`.

        With a footprint the result has the hours of what differs.
        """
        schema = table_schemas()[name]
        new = self._shaped(schema, new)
        if self.is_empty(name) and footprint is None:
            return self._append(
                schema, new if whole is None else new.union(self._shaped(schema, whole))
            )
        columns = _key_and_group(schema)
        gone = gone.withColumn("cluster", F.lit(self.cluster))
        keys = new.select(*columns).union(gone.select(*columns))
        narrow = self._narrow(schema, keys)
        old = self.of_cluster(name).where(narrow(""))
        # What is there of these keys is little: it is picked first, without a shuffle of the table.
        picked = old.alias("old").join(
            keys.alias("new"), _same_key(schema, "new", "old"), "left_semi"
        )
        marked = self._shaped(schema, gone, all_columns=True)
        changes = _changes(schema, new, picked, "left", footprint).unionByName(
            _removed(schema, marked, picked, footprint)
        )
        if whole is not None:
            replaced = self._replaced(
                schema, self._shaped(schema, whole), F.lit(True), groups, footprint
            )
            return self._apply(schema, changes.unionByName(replaced))
        return self._apply(schema, changes, narrow)

    def is_empty(self, name: str) -> bool:
        """Whether nothing was ever written to the table."""
        return self.lake.version(name) == 0

    def of_cluster(self, name: str) -> DataFrame:
        """The rows that are there."""
        return self.lake.read(name).where(F.col("cluster") == self.cluster)

    def _replaced(
        self,
        schema: TableSchema,
        rows: DataFrame,
        scope: Column,
        groups: DataFrame | None,
        footprint: Footprint | None = None,
    ) -> DataFrame:
        old = self.of_cluster(schema.full_name).where(scope)
        if groups is not None:
            old = old.join(groups.select("group_id"), "group_id", "left_semi")
            old = old.select(*schema.column_names)
        return _changes(schema, rows, old, "full", footprint)

    def _shaped(
        self, schema: TableSchema, rows: DataFrame, *, all_columns: bool = False
    ) -> DataFrame:
        """The columns in the table's order, the cluster first; with `all_columns` null for those that rows lack."""
        named = rows.withColumn("cluster", F.lit(self.cluster))
        if all_columns:
            for column in schema.columns:
                if column.name not in named.columns:
                    named = named.withColumn(column.name, F.lit(None).cast(column.type))
        return named.select(*schema.column_names)

    def _narrow(self, schema: TableSchema, rows: DataFrame) -> Narrow:
        """What every row with one of these keys meets, by literals that files' statistics can be held against."""
        kinds = {column.name: column.type for column in schema.columns}
        nullable = {column.name for column in schema.columns if column.nullable} - {"group_id"}
        ranged = [
            name
            for name in _key_and_group(schema)
            if kinds[name] in RANGED and name not in nullable | {"cluster"}
        ]
        ends = [F.min(name).alias(f"min_{name}") for name in ranged]
        ends += [F.max(name).alias(f"max_{name}") for name in ranged]
        if "group_id" in ranged:
            ends.append(F.slice(F.collect_set("group_id"), 1, LISTED_GROUPS + 1).alias("groups"))
        found = rows.agg(*ends).first()
        assert found is not None

        def condition(prefix: str) -> Column:
            parts = [F.lit(True)]
            for name in ranged:
                low, high = found[f"min_{name}"], found[f"max_{name}"]
                if low is not None:
                    parts.append(F.col(f"{prefix}{name}").between(F.lit(low), F.lit(high)))
            if "group_id" in ranged and 0 < len(found["groups"]) <= LISTED_GROUPS:
                parts.append(F.col(f"{prefix}group_id").isin(found["groups"]))
            return reduce(and_, parts)

        return condition

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

    def _apply(
        self, schema: TableSchema, changes: DataFrame, narrow: Narrow | None = None
    ) -> Written:
        """Do with each row what its CHANGE says; no commit where there is none. All of them meet `narrow`."""
        # Cut off from what led to it: MERGE plans its source over and over.
        changes = changes.localCheckpoint()
        counts = {row[CHANGE]: row["count"] for row in changes.groupBy(CHANGE).count().collect()}
        hours = None
        if HOURS in changes.columns and counts:
            named = changes.select("group_id", F.explode(HOURS).alias("hour"))
            hours = named.distinct().localCheckpoint()
        written = Written(
            counts.get(INSERT, 0), counts.get(UPDATE, 0), counts.get(DELETE, 0), hours
        )
        if written.updated or written.deleted:
            self._merge(schema, changes.drop(HOURS), narrow or self._narrow(schema, changes))
        elif written.inserted:
            self._append(schema, changes.drop(CHANGE, HOURS))
        return written

    def _merge(self, schema: TableSchema, changes: DataFrame, narrow: Narrow) -> None:
        values: dict[str, str | Column] = {
            name: F.col(f"source.{name}") for name in schema.column_names
        }
        # The literals let Delta leave out files of other clusters and of other keys.
        of_cluster = F.col("target.cluster") == self.cluster
        match = of_cluster & narrow("target.") & _same_key(schema, "target", "source")
        change = F.col(f"source.{CHANGE}")

        def merge() -> None:
            (
                self.lake.delta_table(schema.full_name)
                .alias("target")
                .merge(changes.alias("source"), match)
                .whenMatchedDelete(change == DELETE)
                .whenMatchedUpdate(change == UPDATE, set=values)
                .whenNotMatchedInsert(change == INSERT, values=values)
                .execute()
            )

        in_turn(merge)


def _key_and_group(schema: TableSchema) -> tuple[str, ...]:
    """The key, and the group where a table has one: a finding has an id of its own, but is of a group too."""
    names = schema.column_names
    return tuple(dict.fromkeys((*schema.key, *(["group_id"] if "group_id" in names else []))))


def _changes(
    schema: TableSchema,
    new: DataFrame,
    old: DataFrame,
    how: str,
    footprint: Footprint | None = None,
) -> DataFrame:
    """What turns the old rows into the new ones; with `how` left, rows that are only among the old ones stay."""
    news = new.select(F.struct(*schema.column_names).alias("new"))
    olds = old.select(F.struct(*schema.column_names).alias("old"))
    change = (
        F.when(F.col("old").isNull(), INSERT)
        .when(F.col("new").isNull(), DELETE)
        .when(~F.col("new").eqNullSafe(F.col("old")), UPDATE)
    )
    found = news.join(olds, _same_key(schema, "new", "old"), how).select(
        change.alias(CHANGE),
        F.coalesce("new", "old").alias("row"),
        *([] if footprint is None else [_hours_of(footprint).alias(HOURS)]),
    )
    return found.where(F.col(CHANGE).isNotNull()).select(
        CHANGE, *([] if footprint is None else [HOURS]), "row.*"
    )


def _removed(
    schema: TableSchema, gone: DataFrame, old: DataFrame, footprint: Footprint | None
) -> DataFrame:
    """Deletions of the rows whose keys are given."""
    marked = gone.select(F.struct(*schema.column_names).alias("new"))
    olds = old.select(F.struct(*schema.column_names).alias("old"))
    hours = [] if footprint is None else [footprint("old").alias(HOURS)]
    found = marked.join(olds, _same_key(schema, "new", "old"))
    return found.select(F.lit(DELETE).alias(CHANGE), *hours, "old.*")


def _hours_of(footprint: Footprint) -> Column:
    none = F.array().cast("array<timestamp>")
    return F.array_union(F.coalesce(footprint("old"), none), F.coalesce(footprint("new"), none))


def _same_key(schema: TableSchema, left: str, right: str) -> Column:
    """Equality of the table's key, null-safe where a key column may be null."""
    nullable = {column.name for column in schema.columns if column.nullable}
    pairs = [(name, F.col(f"{left}.{name}"), F.col(f"{right}.{name}")) for name in schema.key]
    return reduce(
        and_, (one.eqNullSafe(two) if name in nullable else one == two for name, one, two in pairs)
    )
