"""Changes tables at paths with delta-rs, through the public interface of `deltalake`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pa_fs
from deltalake import (
    CommitProperties,
    DeltaTable,
    Field,
    Schema,
    Transaction,
    WriterProperties,
    write_deltalake,
)
from deltalake.fs import DeltaStorageHandler
from pyspark.sql import SparkSession

from rebalance_audit.lake.storage.data_files import DataFiles, DataFolder
from rebalance_audit.lake.storage.stage import GONE, GivenRows
from rebalance_audit.lake.storage.table_log import USER_METADATA, appends_of
from rebalance_audit.lake.storage.table_place import (
    Folder,
    WriterKind,
    arrow_fields,
    plain_fields,
    properties,
    same_key,
)
from rebalance_audit.lake.storage.table_writer import (
    Outrun,
    TableChange,
    Written,
    outrun_on_conflict,
    require_declared,
)
from rebalance_audit.location import local_path
from rebalance_audit.tables.schemas import TableSchema
from rebalance_audit.tables.views import quoted

COUNTS: Final = (
    "num_target_rows_inserted",
    "num_target_rows_updated",
    "num_target_rows_deleted",
)
"""How the answer of a MERGE names the fields of Written."""
FILES: Final = WriterProperties(compression="ZSTD")
ROWS_IN_MEMORY: Final = 1_000_000
"""Up to this many changed rows are held in memory, so that MERGE skips files by the range of their keys."""


@dataclass
class DeltaRsWriter:
    """See `table_writer.TableWriter`."""

    _spark: SparkSession
    _folder: Folder
    _options: dict[str, str]
    """Of delta-rs for the folder's storage."""
    kind: WriterKind = "delta-rs"

    def create(self, schema: TableSchema) -> None:
        """By the table's first commit."""
        DeltaTable.create(
            self._folder.native_path(schema),
            arrow_fields(schema),
            mode="ignore",
            description=schema.description,
            configuration=properties(schema, self.kind),
            storage_options=self._options,
            commit_properties=self._made_by(),
            raise_if_key_not_exists=False,
        )

    def add_columns(self, schema: TableSchema, names: Sequence[str]) -> None:
        """By ALTER TABLE."""
        fields = Schema.from_arrow(arrow_fields(schema)).fields
        missing = [
            Field(field.name, field.type, nullable=True, metadata=field.metadata)
            for field in fields
            if field.name in names
        ]
        self._table(schema).alter.add_columns(missing, commit_properties=self._made_by())

    def data_folder(self, schema: TableSchema, run_id: str) -> DataFolder:
        """Below the table's folder."""
        handler = DeltaStorageHandler(self._folder.native_path(schema), self._options)
        root = pa_fs.PyFileSystem(handler)
        return DataFolder(schema.full_name, self._folder.address(schema), run_id, root)

    def append(self, schema: TableSchema, rows: GivenRows, commit: TableChange) -> Written:
        """By reference to data files; what is staged is written batch by batch."""
        require_declared(schema, "append")
        count = rows.count()
        if not count:
            return Written()
        if isinstance(rows, DataFiles):
            table = self._table_at(schema, commit)
            with outrun_on_conflict():
                table.create_write_transaction(
                    rows.additions(),
                    "append",
                    arrow_fields(schema),
                    commit_properties=_properties(commit),
                )
        else:
            self._write(schema, rows, commit, mode="append")
        return Written(inserted=count)

    def merge(self, schema: TableSchema, changes: GivenRows, commit: TableChange) -> Written:
        """By MERGE."""
        require_declared(schema, "merge")
        count = changes.count()
        if not count:
            return Written()
        table = self._table_at(schema, commit)
        is_small = count <= ROWS_IN_MEMORY
        source = _without_absent_keys(table, schema, changes)
        names = schema.column_names
        values = {f"`{name}`": f"source.`{name}`" for name in names}
        differs = " OR ".join(
            f"(target.`{name}` IS DISTINCT FROM source.`{name}`)"
            for name in names
            if name not in schema.key
        )
        same = same_key(schema, "target", "source", "IS NOT DISTINCT FROM")
        with outrun_on_conflict():
            found = (
                table.merge(
                    source.read_all() if is_small else source,
                    f"target.cluster = {quoted(commit.cluster)} AND {same}",
                    source_alias="source",
                    target_alias="target",
                    writer_properties=FILES,
                    # Streaming would ignore the range of the keys and read every file.
                    streamed_exec=not is_small,
                    commit_properties=_properties(commit),
                )
                .when_matched_delete(f"source.`{GONE}`")
                .when_matched_update(values, f"NOT source.`{GONE}` AND ({differs or 'false'})")
                .when_not_matched_insert(values, f"NOT source.`{GONE}`")
                .execute()
            )
        return Written(*(int(found.get(name) or 0) for name in COUNTS))

    def replace(
        self, schema: TableSchema, rows: GivenRows, value: str | None, commit: TableChange
    ) -> Written:
        """By an overwrite, for a value with a predicate."""
        predicate = None
        if value is not None:
            require_declared(schema, "replace")
            predicate = f"{schema.replaced_by} = {quoted(value)}"
        self._write(schema, rows, commit, mode="overwrite", predicate=predicate)
        return Written(inserted=rows.count())

    def set_property(self, schema: TableSchema, name: str, value: str) -> None:
        """By ALTER TABLE."""
        self._table(schema).alter.set_table_properties(
            {name: value}, raise_if_not_exists=False, commit_properties=self._made_by()
        )

    def delete_before(self, schema: TableSchema, before: datetime) -> None:
        """By DELETE."""
        # A literal of any other type is not comparable with the column, also where DataFusion would cast it.
        limit = f"arrow_cast('{before.isoformat()}', 'Timestamp(Microsecond, Some(\"UTC\"))')"
        self._table(schema).delete(
            f"{schema.aged_by} < {limit}",
            writer_properties=FILES,
            commit_properties=self._made_by(),
        )

    def compact(self, schema: TableSchema) -> tuple[int, int]:
        """By OPTIMIZE, with ZORDER BY where the schema says by what."""
        optimize = self._table(schema).optimize
        found = (
            optimize.z_order(
                schema.clustered_by, writer_properties=FILES, commit_properties=self._made_by()
            )
            if schema.clustered_by
            else optimize.compact(writer_properties=FILES, commit_properties=self._made_by())
        )
        return found["numFilesAdded"], found["numFilesRemoved"]

    def vacuum(self, schema: TableSchema, hours: int, *, dry_run: bool) -> int:
        """By VACUUM, also of files that no commit names. With no files to remove it would still commit."""
        table = self._table(schema)
        found = table.vacuum(hours, dry_run=True, enforce_retention_duration=False, full=True)
        folder = local_path(table.table_uri)
        if folder is not None:
            # It also names those that an earlier one has removed.
            found = [path for path in found if (folder / unquote(path)).exists()]
        if found and not dry_run:
            table.vacuum(
                hours,
                dry_run=False,
                enforce_retention_duration=False,
                full=True,
                commit_properties=self._made_by(),
            )
        return len(found)

    def _write(
        self, schema: TableSchema, rows: GivenRows, commit: TableChange, **options: Any
    ) -> None:
        table = self._table_at(schema, commit)
        with outrun_on_conflict():
            write_deltalake(
                table,
                _shaped(schema, rows),
                writer_properties=FILES,
                commit_properties=_properties(commit),
                **options,
            )

    def _table(self, schema: TableSchema) -> DeltaTable:
        return DeltaTable(self._folder.native_path(schema), storage_options=self._options)

    def _table_at(self, schema: TableSchema, commit: TableChange) -> DeltaTable:
        """The table at the version that a commit builds on. Raises Outrun if there is a later one."""
        table = self._table(schema)
        if table.version() != commit.based_on:
            raise Outrun(f"{self._folder.native_path(schema)} is at version {table.version()}")
        return table

    def _made_by(self) -> CommitProperties:
        """Properties of commits that build on no version: the session's run."""
        run_id = self._spark.conf.get(USER_METADATA, None)
        return CommitProperties(custom_metadata={"userMetadata": run_id} if run_id else None)


def _properties(commit: TableChange) -> CommitProperties:
    return CommitProperties(
        custom_metadata={"userMetadata": commit.run_id},
        # A commit that came first may hold the same rows: the caller must compare.
        max_commit_retries=0,
        app_transactions=[Transaction(appends_of(commit.cluster), commit.based_on + 1)],
    )


def _without_absent_keys(
    table: DeltaTable, schema: TableSchema, changes: GivenRows
) -> pa.RecordBatchReader:
    """The changes, without keys to remove that the table lacks: MERGE would insert a row of nulls for each."""
    rows = changes.batches()
    gone = [batch.filter(batch[GONE]).select([*schema.key]) for batch in changes.batches()]
    keys = _comparable(
        schema,
        pa.Table.from_batches(gone, pa.schema([rows.schema.field(name) for name in schema.key])),
    )
    if not keys.num_rows:
        return rows
    present = keys.slice(0, 0)
    for batch in _dataset(table).to_batches(columns=[*schema.key]):
        here = _comparable(schema, pa.Table.from_batches([batch]))
        found = here.join(keys, keys.column_names, join_type="left semi")
        present = pa.concat_tables([present, found])

    def known() -> Iterator[pa.RecordBatch]:
        for batch in rows:
            yield batch.filter(pc.invert(batch[GONE]))
            to_go = pa.Table.from_batches([batch.filter(batch[GONE])])
            places = pa.table({"place": pa.array(range(to_go.num_rows), pa.int64())})
            for name, column in zip(keys.column_names, _comparable(schema, to_go), strict=True):
                places = places.append_column(name, column)
            found = places.join(present, keys.column_names, join_type="left semi")
            yield from to_go.take(found["place"]).to_batches()

    return pa.RecordBatchReader.from_batches(rows.schema, known())


def _comparable(schema: TableSchema, rows: pa.Table) -> pa.Table:
    """The columns of the key in a form in which nulls join with nulls."""
    columns: dict[str, Any] = {}
    for field in plain_fields(schema):
        if field.name not in schema.key:
            continue
        column = rows[field.name].cast(field.type)
        if field.nullable:
            columns[f"{field.name} is null"] = column.is_null()
            nothing = "" if pa.types.is_string(field.type) else 0
            column = pc.fill_null(column, pa.scalar(nothing).cast(field.type))
        columns[field.name] = column
    return pa.table(columns)


def _dataset(table: DeltaTable) -> ds.Dataset:
    """All files, whatever their statistics."""
    folder = local_path(table.table_uri)
    # Not through files in Python, see `readers.tables`.
    files = (
        None if folder is None else pa_fs.SubTreeFileSystem(str(folder), pa_fs.LocalFileSystem())
    )
    return table.to_pyarrow_dataset(filesystem=files)


def _shaped(schema: TableSchema, rows: GivenRows) -> pa.RecordBatchReader:
    wanted = plain_fields(schema)
    batches = (
        pa.RecordBatch.from_arrays([batch[name] for name in wanted.names], schema=wanted)
        for batch in rows.batches()
    )
    return pa.RecordBatchReader.from_batches(wanted, batches)
