"""Writes tables so that a run can be repeated, or killed at any point and repeated, with the same rows.

Each table is changed by one atomic commit, or by none if nothing differs: a run over an unchanged log leaves every
version as it is, and a change data feed shows only what has really changed. Comparing and merging is limited to the
range of the new rows' keys, so that Delta skips the files that cannot have them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import gave_way
from rebalance_audit.lake.session.kept_rows import kept
from rebalance_audit.lake.storage.clustering import apart, goes_on
from rebalance_audit.lake.storage.commit_retry import with_retries
from rebalance_audit.lake.storage.data_files import DataFiles, TaskFile
from rebalance_audit.lake.storage.key_range import KeyRange, range_of_keys
from rebalance_audit.lake.storage.row_changes import (
    CHANGE,
    DELETE,
    FILE,
    HOURS,
    INSERT,
    UPDATE,
    WENT_ON,
    Footprint,
    changes_between,
    keyed,
    patch_rows,
    same_key,
)
from rebalance_audit.lake.storage.run_ids import appends_of
from rebalance_audit.lake.storage.table_files import TableFiles
from rebalance_audit.lake.storage.table_patch import FewRows, PatchableTable, PatchedTable
from rebalance_audit.lake.storage.tables import AppendedFiles, Lake
from rebalance_audit.location import local_path
from rebalance_audit.tables.schemas import TableName, TableSchema, table_schemas

FEW_CHANGES: Final = 20_000
"""Up to this many rows are broadcast: some MB in every task."""


@dataclass(frozen=True, slots=True)
class Written:
    """What one write did."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    hours: DataFrame | None = None
    """Group and hour of the rows that changed, if a footprint was given."""

    @property
    def rows(self) -> int:
        """Rows that differ from before."""
        return self.inserted + self.updated + self.deleted


class Sink:
    """Writes rows of one cluster."""

    def __init__(self, lake: Lake, cluster: str, run_id: str) -> None:
        """`run_id` goes into the commits' `userMetadata`: lineage tools see which run wrote what."""
        self.lake = lake
        self.cluster = cluster
        self._run_id = run_id
        self._based_on: dict[str, int] = {}
        """Table -> the version that the rows to write know: that of the last look at it, or of our last commit."""

    def begin(self, names: Iterable[str]) -> None:
        """Rows to append to these tables are made for what they have now: see `_append`."""
        self._based_on = {name: self._version(name) for name in names}

    def append(self, name: str, rows: DataFrame) -> Written:
        """Add rows whose keys the table does not have."""
        schema = table_schemas()[name]
        return self._append(schema, self._shaped(schema, rows))

    def append_files(
        self, name: str, told: Callable[[DataFiles], DataFrame]
    ) -> AppendedFiles | None:
        """As `append`, of rows that tasks write themselves; `told` makes what they tell, see `data_files`.

        None, and the table is as it was, where Spark has to write the rows, or if others have changed the table.
        """
        files = self.lake.data_files(name)
        if files is None or self._make_way(name):
            return None
        version = self._based_on[name]
        done = self.lake.append_files(name, told(files), self._run_id, version=version)
        if not done.is_in:
            return None
        self._based_on[name] = self._version(name)
        return done

    def files_named(self, name: str, names: Iterable[str]) -> TableFiles:
        """Files that tasks have written into the folder of a table, all of the cluster, for tasks that read them."""
        types = {column.name: column.type for column in table_schemas()[name].columns}
        folder = local_path(self.lake.table_path(name))
        assert folder is not None  # tasks write to no other storage
        return TableFiles(self.cluster, tuple(f"{folder}/{each}" for each in names), types)

    def append_written(self, name: str, files: Sequence[TaskFile]) -> Written:
        """Add files, at least one, that tasks have written: of rows whose keys the table does not have."""
        is_in = False
        while not is_in:
            self._make_way(name)  # runs of other clusters have rows of other keys
            version = self._based_on[name]
            is_in = self.lake.append_written(name, files, self._run_id, version=version)
        self._based_on[name] = self._version(name)
        return Written(inserted=sum(file.rows for file in files))

    def patchable(self, name: str, *, appends: bool = False) -> PatchableTable | None:
        """The table as it is now, for a task that changes it, or `appends` to it; None where Spark has to.

        See `table_patch`.
        """
        self._make_way(name)
        return self.lake.patchable(name, self._based_on[name], appends=appends)

    def commit_patch(
        self, name: str, table: PatchableTable, patched: PatchedTable
    ) -> Written | None:
        """Commit what a task has changed; None, and the table is as it was, if others have changed it meanwhile."""
        written = Written(patched.inserted, patched.updated, patched.deleted)
        if not patched.rows:
            return written
        if not self.lake.commit_patch(name, patched, self._run_id, table.version):
            table.files.remove(patched.written)
            return None
        self._based_on[name] = self._version(name)
        return written

    def insert_new(self, name: str, rows: DataFrame) -> Written:
        """Add the rows whose keys the table does not have; its own rows stay as they are."""
        schema = table_schemas()[name]
        rows = self._shaped(schema, rows)
        self._make_way(name)
        if self.is_empty(name):
            return self._append(schema, rows)
        return self._insert_missing(schema, rows, self.of_cluster(name))

    def _version(self, name: str) -> int:
        return self.lake.version(name) or 0

    def _insert_missing(self, schema: TableSchema, rows: DataFrame, among: DataFrame) -> Written:
        there = among.select(*schema.key)
        missing = rows.alias("new").join(
            there.alias("old"), same_key(schema, "new", "old"), "left_anti"
        )
        inserted = {
            CHANGE: F.lit(INSERT),
            WENT_ON: F.lit(False),
            FILE: F.lit(None).cast("string"),
        }
        return self._apply(schema, missing.withColumns(inserted))

    def upsert(self, name: str, rows: DataFrame) -> Written:
        """Add rows, and update those whose keys the table has; nothing is removed. `rows` are read twice."""
        schema = table_schemas()[name]
        rows = self._shaped(schema, rows)
        self._make_way(name)
        if self.is_empty(name):
            return self._append(schema, rows)
        old, key_range = self._in_files(schema, rows)
        return self._apply(
            schema, changes_between(schema, keyed(schema, rows), old, "left"), key_range
        )

    def put(self, name: str, rows: DataFrame, count: int, key_range: KeyRange) -> Written:
        """Add `count` rows, or replace those that have their keys, without comparing the two.

        For rows that always differ from those in the table. All their keys are in `key_range`.
        """
        schema = table_schemas()[name]
        rows = self._shaped(schema, rows)
        if self.is_empty(name):
            return self._append(schema, rows)
        change = F.lit(UPDATE).alias(CHANGE)
        self._merge(schema, kept(rows.select(change, "*"), at_once=True), key_range=key_range)
        return Written(updated=count)

    def replace(
        self, name: str, rows: DataFrame, scope: Column, groups: DataFrame | None = None
    ) -> Written:
        """Make these rows the cluster's rows within a scope; others within the scope are removed.

        `scope` is a condition on the table's columns that every given row meets, `F.lit(True)` for all of the cluster.
        `groups`, a frame with a column `group_id`, limits the scope to these groups.
        """
        schema = table_schemas()[name]
        rows = self._shaped(schema, rows)
        self._make_way(name)
        if self.is_empty(name):
            return self._append(schema, rows)
        return self._apply(schema, self._replaced(schema, rows, scope, groups))

    def rewrite(self, name: str, rows: Sequence[Mapping[str, Any]]) -> Written:
        """Replace all rows of the cluster by these, keyed by column, without comparing the two: for small tables."""
        ours = [{**row, "cluster": self.cluster} for row in rows]
        return self._overwritten(name, ours, len(rows))

    def rewrite_from(self, name: str, rows: DataFrame, count: int) -> Written:
        """The same of `count` rows that Spark has."""
        return self._overwritten(name, self._shaped(table_schemas()[name], rows), count)

    def _overwritten(
        self, name: str, rows: DataFrame | Sequence[Mapping[str, Any]], count: int
    ) -> Written:
        self.lake.overwrite(name, rows, "cluster", self.cluster, partial(self._make_way, name))
        self._based_on[name] = self._version(name)
        return Written(inserted=count)

    def patch(
        self,
        name: str,
        handed: DataFrame,
        rebuilt: DataFrame | None = None,
        groups: DataFrame | None = None,
        *,
        scope: Column | None = None,
        keys: DataFrame | None = None,
        footprint: Footprint | None = None,
        key_range: KeyRange | None = None,
    ) -> Written:
        """Add and update rows, remove some, and replace all rows of `groups` (within `scope`) by those of `rebuilt`.

        `handed` has the key (and the group) and a struct `row`, null for a row to remove, see `patch_rows`. `keys` are
        its keys alone and `key_range` their range, if these are known beforehand. With a footprint the result has the
        hours of the rows that changed.
        """
        schema = table_schemas()[name]
        handed = handed.withColumn("cluster", F.lit(self.cluster))
        self._make_way(name)
        if self.is_empty(name) and footprint is None:
            new = self._shaped(schema, handed.where("row is not null").select("row.*"))
            return self._append(
                schema, new if rebuilt is None else new.union(self._shaped(schema, rebuilt))
            )
        keys = handed if keys is None else keys.withColumn("cluster", F.lit(self.cluster))
        old, key_range = self._in_files(schema, keys, key_range, are_few=True)
        fields = (f"row.{column.name}" for column in schema.columns[1:])
        row = F.expr(f"CASE WHEN row IS NOT NULL THEN struct(cluster, {', '.join(fields)}) END")
        changes = changes_between(
            schema, handed.select(*schema.key, row.alias("row")), old, "left", footprint
        )
        if rebuilt is None:
            return self._apply(schema, changes, key_range)
        replaced = self._replaced(
            schema,
            self._shaped(schema, rebuilt),
            F.lit(True) if scope is None else scope,
            groups,
            footprint,
        )
        return self._apply(schema, changes.unionByName(replaced))

    def patch_few(
        self, name: str, handed: DataFrame, replaced: Collection[str] = ()
    ) -> Written | None:
        """As `patch` in one query; None, and the table is as it was, if it or the rows are not small enough.

        The table is to have no rows of the groups in `replaced` but those that are handed.
        """
        table = self.patchable(name)
        if table is None:
            return None
        few = FewRows(table, {"cluster": self.cluster}, replaced, FEW_CHANGES)
        done = few.change(handed)
        return None if done is None else self.commit_patch(name, table, done)

    def replace_few(self, name: str, rows: DataFrame, scope: Column) -> Written | None:
        """As `replace` in one query; None as for `patch_few`."""
        return self.patch_few(name, patch_rows(name, rows, self.of_cluster(name).where(scope)))

    def is_empty(self, name: str) -> bool:
        """Whether nothing was ever written to the table."""
        return not self._based_on.get(name) and self.lake.is_unwritten(name)

    def of_cluster(self, name: str) -> DataFrame:
        """The cluster's rows in a table. Raises LakeNotReadable."""
        return self.lake.read(name).where(F.col("cluster") == self.cluster)

    def _replaced(
        self,
        schema: TableSchema,
        rows: DataFrame,
        scope: Column,
        groups: DataFrame | None,
        footprint: Footprint | None = None,
    ) -> DataFrame:
        old = self._in_files(schema, rows, KeyRange())[0].where(scope)
        if groups is not None:
            old = old.join(groups.select("group_id"), "group_id", "left_semi")
            old = old.select(*schema.column_names, FILE)
        return changes_between(schema, keyed(schema, rows), old, "full", footprint)

    def _in_files(
        self,
        schema: TableSchema,
        keys: DataFrame,
        key_range: KeyRange | None = None,
        *,
        are_few: bool = False,
    ) -> tuple[DataFrame, KeyRange | None]:
        """The cluster's rows in the range of the keys, with FILE, null if the table is not small; and the range.

        Of a small table all rows, if the range is not known; of another those with the keys, if these `are_few`.
        """
        small = self.lake.read_small(schema.full_name)
        if small is not None:
            rows = small.where(F.col("cluster") == self.cluster)
            return rows if key_range is None else rows.where(key_range.condition()), key_range
        if key_range is None:
            key_range = range_of_keys(schema, keys)
        rows = self.of_cluster(schema.full_name).where(key_range.condition())
        if are_few:
            # They are picked first, without a shuffle of the table.
            rows = rows.alias("old").join(
                keys.alias("new"), same_key(schema, "new", "old"), "left_semi"
            )
        return rows.withColumn(FILE, F.lit(None).cast("string")), key_range

    def _shaped(self, schema: TableSchema, rows: DataFrame) -> DataFrame:
        """The rows with the columns in the table's order, the cluster first."""
        return rows.withColumn("cluster", F.lit(self.cluster)).select(*schema.column_names)

    def _append(self, schema: TableSchema, rows: DataFrame) -> Written:
        """Add rows whose keys the table does not have.

        That is known of the version for which they were made. If there is a newer one, of a run of another cluster or
        of an ingest, the table is asked again.
        """
        name = schema.full_name
        if self._make_way(name):
            rows = kept(rows)
            there = self.of_cluster(name).where(range_of_keys(schema, rows).condition())
            return self._insert_missing(schema, rows, there)
        version, application = self._based_on[name], appends_of(self.cluster)
        if not self.lake.append(name, apart(schema, rows), version, self._run_id, application):
            return self._append(schema, rows)
        self._based_on[name] = self._version(name)
        if self._based_on[name] == version:
            return Written()  # no rows are no commit
        return Written(inserted=self.lake.rows_appended(name, self._run_id))

    def _apply(
        self, schema: TableSchema, changes: DataFrame, key_range: KeyRange | None = None
    ) -> Written:
        """Do with each row what its CHANGE says; no commit if there are none. All their keys are in `key_range`."""
        # Without its lineage: MERGE plans its source again and again. The count below computes it.
        changes = kept(changes)
        found = changes.groupBy(CHANGE).agg(
            F.count(F.lit(1)).alias("rows"),
            F.bool_and(WENT_ON).alias(WENT_ON),
            F.collect_set(FILE).alias(FILE),
        )
        counted = {row[CHANGE]: row for row in found.collect()}
        counts = {change: row["rows"] for change, row in counted.items()}
        hours = None
        if HOURS in changes.columns and counts:
            hours = changes.select("group_id", F.explode(HOURS).alias("hour"))
        written = Written(
            counts.get(INSERT, 0), counts.get(UPDATE, 0), counts.get(DELETE, 0), hours
        )
        if written.updated or written.deleted:
            all_went_on = all(row[WENT_ON] for change, row in counted.items() if change != INSERT)
            changes = changes.drop(HOURS, WENT_ON, FILE)
            if written.rows <= FEW_CHANGES:
                # Spark does not know how few there are, and would shuffle both sides of the join.
                changes = F.broadcast(changes)
            self._merge(
                schema,
                changes,
                {file for row in counted.values() for file in row[FILE]},
                key_range,
                goes_on(schema, "target.") if all_went_on else None,
            )
        elif written.inserted:
            self._append(schema, changes.drop(CHANGE, HOURS, WENT_ON, FILE))
        return written

    def _merge(
        self,
        schema: TableSchema,
        changes: DataFrame,
        files: Collection[str] = (),
        key_range: KeyRange | None = None,
        among: Column | None = None,
    ) -> None:
        """`among` is a condition on the target that every row to be updated or deleted meets; `files` have them."""
        # The literals let Delta skip files of other clusters and of other keys.
        of_cluster = F.col("target.cluster") == self.cluster
        match = of_cluster & same_key(schema, "target", "source")
        if among is not None:
            match &= among
        change = F.col(f"source.{CHANGE}")

        name = schema.full_name

        def merge() -> None:
            self._make_way(name)
            if self.lake.change_small(name, changes, match, self._based_on[name], files):
                return
            limits = key_range or range_of_keys(schema, changes)
            values: dict[str, str | Column] = {
                name: F.col(f"source.{name}") for name in schema.column_names
            }
            (
                self.lake.delta_table(name)
                .alias("target")
                .merge(changes.alias("source"), match & limits.condition("target."))
                .whenMatchedDelete(change == DELETE)
                .whenMatchedUpdate(change == UPDATE, set=values)
                # An update of a row that the table does not have adds it.
                .whenNotMatchedInsert(change != DELETE, values=values)
                .execute()
            )

        with_retries(merge)
        self._based_on[name] = self._version(name)

    def _make_way(self, name: str) -> bool:
        """Look at the table again; whether others, as ingests and runs of other clusters, have changed it meanwhile.

        Raises LakeBusy if another run of the same cluster has changed it since this one has looked at it. Where there
        are no locks two may be at work; what this one would write may no longer be right.
        """
        now = self._version(name)
        since = self._based_on.setdefault(name, now)
        if now != since and (others := self.lake.runs_since(name, since) - {self._run_id}):
            runs = self.of_cluster(TableName.RUNS).where("run_number is not null")  # no ingests
            if not runs.where(F.col("run_id").isin(sorted(others))).isEmpty():
                raise gave_way(self.lake.path)
        self._based_on[name] = now
        return now != since
