"""Writes tables so that a run can be repeated, or killed at any point and repeated, with the same rows.

Each table is changed by one atomic commit, or by none if nothing differs: a run over an unchanged log leaves every
version as it is, and a change data feed shows only what has really changed.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import superseded
from rebalance_audit.lake.storage.data_files import DataFolder, folder_in
from rebalance_audit.lake.storage.local_rows import arrow_rows
from rebalance_audit.lake.storage.spark_writer import gone_keys
from rebalance_audit.lake.storage.stage import GONE, GivenRows, InMemoryRows
from rebalance_audit.lake.storage.table_place import same_key
from rebalance_audit.lake.storage.table_writer import TableChange, Written, translated, with_retries
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.arrow_types import arrow_table
from rebalance_audit.tables.schemas import TableName, TableSchema, table_schemas


class Sink:
    """Writes rows of one cluster."""

    def __init__(self, lake: Lake, cluster: str, run_id: str, *, is_log: bool = False) -> None:
        """`run_id` goes into the commits' `userMetadata`: lineage tools see which run wrote what.

        `is_log`: the rows say what this process did, so what others commit meanwhile does not concern them. They need
        no stage, and errors are raised as LakeNotWritable.
        """
        self._is_log = is_log
        self.lake = lake
        self.cluster = cluster
        self._run_id = run_id
        self._based_on: dict[str, int] = {}
        """Table -> the version that the rows to write know: that of the last look at it, or of our last commit."""

    def begin(self, names: Iterable[str]) -> None:
        """Rows are appended to these tables as they are now: see `append`."""
        self._based_on = {name: self._version(name) for name in names}

    def data_folder(self, name: str, *, to_append: bool = True) -> DataFolder:
        """Where workers write rows of a table: `to_append`, or to be merged."""
        if not to_append:
            return folder_in(self.lake.stage, name)
        return self.lake.writer.data_folder(table_schemas()[name], self._run_id)

    def append(self, name: str, rows: DataFrame | GivenRows) -> Written:
        """Add rows whose keys the table does not have.

        That holds for the version for which they were made. If there is a newer one, of a run of another cluster or of
        an ingest, the rows are compared with it.
        """
        schema = table_schemas()[name]

        def append(staged: GivenRows) -> Written:
            if self._check_concurrent_writes(name):
                staged = self._staged(schema, self._missing(schema, staged.frame))
            return self.lake.writer.append(schema, staged, self._commit(name))

        return self._applied(name, lambda: self._staged(schema, rows), append)

    def append_by(self, name: str, make: Callable[[], tuple[GivenRows, TableChange]]) -> None:
        """Add rows whose keys are new. `make` checks that, again if another program has committed first."""
        with_retries(lambda: self.lake.writer.append(table_schemas()[name], *make()))

    def append_rows(self, name: str, rows_at: Callable[[int], Sequence[Mapping[str, Any]]]) -> None:
        """The same of rows that the driver knows; `rows_at` makes them for a version of the table."""

        def make() -> tuple[GivenRows, TableChange]:
            version = self._version(name)
            rows = self.of_driver(name, rows_at(version))
            return rows, TableChange(self._run_id, self.cluster, version)

        with translated(self.lake.table_path(name)):
            self.append_by(name, make)

    def insert_new(self, name: str, rows: DataFrame) -> Written:
        """Add the rows whose keys the table does not have; its own rows stay as they are."""
        schema = table_schemas()[name]
        self._check_concurrent_writes(name)
        if self.is_empty(name):
            return self.append(name, rows)
        return self.append(name, self._missing(schema, self._shaped(schema, rows)))

    def merge(
        self, name: str, rows: DataFrame | GivenRows, gone: DataFrame | None = None
    ) -> Written:
        """Add rows, update those whose keys the table has, and remove those with keys that only `gone` has.

        Staged rows may have GONE already.
        """
        schema = table_schemas()[name]

        def changes() -> GivenRows:
            return rows if not isinstance(rows, DataFrame) else self._changes(schema, rows, gone)

        def merge(staged: GivenRows) -> Written:
            self._check_concurrent_writes(name)
            return self.lake.writer.merge(schema, staged, self._commit(name))

        return self._applied(name, changes, merge)

    def replace(
        self, name: str, rows: DataFrame, scope: Column, groups: DataFrame | None = None
    ) -> Written:
        """Make these rows the cluster's rows within a scope; others within the scope are removed.

        `scope` is a condition on the table's columns that every given row meets, `F.lit(True)` for all of the cluster.
        `groups`, a frame with a column `group_id`, limits the scope to these groups.
        """
        schema = table_schemas()[name]
        self._check_concurrent_writes(name)
        if self.is_empty(name):
            return self.append(name, rows)
        with self.lake.stage.passing():
            rows = self.lake.stage.keep(self._shaped(schema, rows))
            return self.merge(name, rows, self.keys_within(name, scope, groups))

    def keys_within(self, name: str, scope: Column, groups: DataFrame | None = None) -> DataFrame:
        """The keys of the cluster's rows within a scope, see `replace`."""
        old = self.for_cluster(name).where(scope)
        if groups is not None:
            old = old.join(groups.select("group_id").distinct(), "group_id", "left_semi")
        return old.select(*table_schemas()[name].key)

    def rewrite(self, name: str, rows: Sequence[Mapping[str, Any]] | DataFrame) -> Written:
        """Replace all rows of the cluster (of the run, where the schema says so), for small tables."""
        schema = table_schemas()[name]
        value = {"cluster": self.cluster, "run_id": self._run_id}[schema.replaced_by]

        def given() -> GivenRows:
            if isinstance(rows, DataFrame):
                return self._staged(schema, rows)
            return self.of_driver(name, rows)

        def replace(staged: GivenRows) -> Written:
            self._check_concurrent_writes(name)
            return self.lake.writer.replace(schema, staged, value, self._commit(name))

        return self._applied(name, given, replace)

    def in_memory_rows(
        self, name: str, rows: Sequence[Mapping[str, Any]], gone: Sequence[Mapping[str, Any]] = ()
    ) -> InMemoryRows:
        """Rows that the driver knows, keyed by column, for `merge`; `gone` are keys to remove.

        Their moments are epoch milliseconds.
        """
        schema = table_schemas()[name]
        table = arrow_table(schema, [*rows, *gone], self.cluster)
        is_gone = pa.array([False] * len(rows) + [True] * len(gone), pa.bool_())
        columns = {**schema.column_types, GONE: "boolean"}
        return InMemoryRows(self.lake.spark, columns, table.append_column(GONE, is_gone))

    def of_driver(self, name: str, rows: Sequence[Mapping[str, Any]]) -> InMemoryRows:
        """Rows that the driver knows, keyed by column, as a writer takes them."""
        ours = arrow_rows(name, [{**row, "cluster": self.cluster} for row in rows])
        return InMemoryRows(self.lake.spark, table_schemas()[name].column_types, ours)

    def is_empty(self, name: str) -> bool:
        """Whether nothing was ever written to the table."""
        return not self._based_on.get(name) and self.lake.is_unwritten(name)

    def for_cluster(self, name: str) -> DataFrame:
        """The cluster's rows in a table. Raises LakeNotReadable."""
        return self.lake.read(name).where(F.col("cluster") == self.cluster)

    def _applied(
        self, name: str, given: Callable[[], GivenRows], change: Callable[[GivenRows], Written]
    ) -> Written:
        """Make a change of rows; what is staged for it goes with it."""
        done: list[Written] = []
        around = (
            translated(self.lake.table_path(name)) if self._is_log else self.lake.stage.passing()
        )
        with around:
            staged = given()
            with_retries(lambda: done.append(change(staged)))
        if not self._is_log:
            self._based_on[name] = self._version(name)
        return done[-1]

    def _changes(self, schema: TableSchema, rows: DataFrame, gone: DataFrame | None) -> GivenRows:
        shaped = self._shaped(schema, rows)
        changes = shaped.withColumn(GONE, F.lit(False))
        if gone is not None:
            keys = gone.withColumn("cluster", F.lit(self.cluster))
            removed = gone_keys(schema, keys, shaped).withColumn(GONE, F.lit(True))
            changes = changes.unionByName(removed, allowMissingColumns=True)
        return self.lake.stage.put(changes, {**schema.column_types, GONE: "boolean"})

    def _staged(self, schema: TableSchema, rows: DataFrame | GivenRows) -> GivenRows:
        if not isinstance(rows, DataFrame):
            return rows
        return self.lake.stage.put(self._shaped(schema, rows), schema.column_types)

    def _missing(self, schema: TableSchema, rows: DataFrame) -> DataFrame:
        present = self.for_cluster(schema.full_name).select(*schema.key)
        return rows.alias("new").join(
            present.alias("old"), F.expr(same_key(schema, "new", "old")), "left_anti"
        )

    def _shaped(self, schema: TableSchema, rows: DataFrame) -> DataFrame:
        """The rows with the columns in the table's order, the cluster first."""
        return rows.withColumn("cluster", F.lit(self.cluster)).select(*schema.column_names)

    def _commit(self, name: str) -> TableChange:
        return TableChange(self._run_id, self.cluster, self._based_on[name])

    def _version(self, name: str) -> int:
        return self.lake.version(name) or 0

    def _check_concurrent_writes(self, name: str) -> bool:
        """Look at the table again; whether others, as ingests and runs of other clusters, have changed it meanwhile.

        Raises LakeBusy if another run of the same cluster has changed it since: without locks two may run at once, and
        what this one would write may be out of date.
        """
        now = self._version(name)
        since = self._based_on.setdefault(name, now)
        if (
            now != since
            and not self._is_log
            and (others := self.lake.runs_since(name, since) - {self._run_id})
        ):
            runs = self.for_cluster(TableName.RUNS).where("run_number is not null")  # no ingests
            if not runs.where(F.col("run_id").isin(sorted(others))).isEmpty():
                raise superseded(self.lake.path)
        self._based_on[name] = now
        return now != since
