"""Tables of a lake without Spark: delta-rs finds the files, Arrow reads them.

Times come as epoch milliseconds, in `LakeRows` as datetimes.
"""

from collections.abc import Collection, Iterator
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from rebalance_audit.audit.rows import Row
from rebalance_audit.delta_folder import check_data, check_files, check_log, names_sidecars
from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.extras import require_extra
from rebalance_audit.location import is_catalog, local_path
from rebalance_audit.tables.arrow_types import arrow_schema, in_millis, padded
from rebalance_audit.tables.order import LATEST_FIRST
from rebalance_audit.tables.rows import Rows
from rebalance_audit.tables.schemas import TableSchema, table_schemas
from rebalance_audit.wire.segments.folder import ARCHIVE_SUFFIXES
from rebalance_audit.wire.topic_names import TopicNames, TopicNameSource, topic_id_of

RUNS: Final = "meta.runs"


def open_table(lake: str, name: str) -> ds.Dataset:
    """A table by its full name (`gold.epochs`), as it is now. Raises LakeNotReadable, MissingExtra without delta-rs."""
    require_extra("lake")
    from deltalake import DeltaTable  # noqa: PLC0415 - of an extra
    from deltalake.exceptions import DeltaError  # noqa: PLC0415

    schema = table_schemas()[name]
    if is_catalog(lake):
        raise LakeNotReadable(
            f"{lake} is a catalog, which only Spark can ask: give the folder or URL that its tables lie under."
        )
    path = f"{lake.rstrip('/')}/{schema.layer}/{schema.name}"
    folder = local_path(path)
    # delta-rs reads through a file system in Python. If Arrow's threads release its files while the interpreter ends,
    # the process is aborted: one in thirty of short ones (https://github.com/apache/arrow/issues/34314).
    local = None if folder is None else SubTreeFileSystem(str(folder), LocalFileSystem())
    if folder is not None:
        check_log(folder)
        if names_sidecars(folder):
            raise LakeNotReadable(
                f"{path} cannot be read without Spark: its log has a checkpoint of version 2, which may name any file."
            )
    try:
        table = DeltaTable(folder or path)
        found = table.to_pyarrow_dataset(filesystem=local)
        partitioned_by = table.metadata().partition_columns
    except (DeltaError, OSError) as error:
        if name != RUNS and table_exists(lake, RUNS) and not table_exists(lake, name):
            raise LakeNotReadable(
                f"{lake} has no table {name}: an earlier release wrote this lake. One `rebalance-audit run` over the "
                "same source and --lake adds what is missing, from the records that the lake has."
            ) from error
        if folder is not None and not table_exists(lake, RUNS):
            raise LakeNotReadable(no_lake(lake)) from error
        sentence = str(error).partition("\n")[0].rstrip(".")
        raise LakeNotReadable(f"{path} cannot be read as a Delta table: {sentence}.") from error
    if partitioned_by:
        raise LakeNotReadable(
            f"{path} is partitioned by {', '.join(partitioned_by)}; no table of this program is."
        )
    check_files(path, folder, found.files)
    if folder is not None:
        check_data(path, folder, found.files)
    # Without what delta-rs makes of the log's statistics: where a file has no minimum or maximum of a column, as Delta
    # leaves them out of long texts, its dataset skips the file whatever one looks for. Parquet's own statistics stay.
    dataset = ds.FileSystemDataset.from_paths(
        found.files, schema=found.schema, format=found.format, filesystem=found.filesystem
    )
    return _filterable(dataset)


def _filterable(dataset: ds.FileSystemDataset) -> ds.Dataset:
    """The same rows. Files whose text Arrow cannot filter are read now.

    MERGE and DELETE of delta-rs write such files, and OPTIMIZE rewrites them:
    https://github.com/apache/arrow/issues/49368.
    """
    fragments: dict[bool, list[ds.Fragment]] = {False: [], True: []}
    for fragment in dataset.get_fragments():
        fragments[_has_views(fragment)].append(fragment)
    if not fragments[True]:
        return dataset
    plain_files, files_with_views = (
        ds.FileSystemDataset(each, dataset.schema, dataset.format, dataset.filesystem)
        for each in fragments.values()
    )
    return ds.dataset([plain_files, ds.dataset(files_with_views.to_table())])


def _has_views(fragment: ds.Fragment) -> bool:
    return any(
        pa.types.is_string_view(field.type) or pa.types.is_binary_view(field.type)
        for field in fragment.physical_schema
    )


def no_lake(lake: str) -> str:
    """What a folder is that has no runs, in a sentence."""
    folder = local_path(lake)
    if folder is not None and not folder.exists():
        return f"{lake} does not exist: --lake is the folder that `rebalance-audit run` writes."
    if folder is not None and (
        folder.suffix in ARCHIVE_SUFFIXES or any(folder.glob("__consumer_offsets-*"))
    ):
        return f"{lake} holds segments and is no lake: leave --lake out."
    return f"{lake} is no lake: it has no table {RUNS}, which every `rebalance-audit run` writes."


def table_exists(lake: str, name: str) -> bool:
    """Whether a lake has a table, by its full name. Raises MissingExtra without delta-rs."""
    require_extra("lake")
    from deltalake import DeltaTable  # noqa: PLC0415 - of an extra

    schema = table_schemas()[name]
    path = f"{lake.rstrip('/')}/{schema.layer}/{schema.name}"
    return DeltaTable.is_deltatable(str(local_path(path) or path))


def read_rows(
    lake: str, name: str, *, cluster: str | None = None, group_ids: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Rows of a table, of one cluster and of some groups if these are given. Raises LakeNotReadable.

    For tables and groups that fit into memory: what a person asks to see. A column that came after the release that
    wrote the lake is None.
    """
    wanted = pc.scalar(value=True)
    if cluster is not None:
        wanted &= ds.field("cluster") == cluster
    if group_ids:
        wanted &= ds.field("group_id").isin(list(group_ids))
    table = open_table(lake, name)
    lacking = dict.fromkeys(set(table_schemas()[name].column_names) - set(table.schema.names))
    rows = in_millis(table.to_table(filter=wanted)).to_pylist()
    return [{**row, **lacking} for row in rows]


def unfinished_run(lake: str, cluster: str) -> str | None:
    """A sentence if the last run of a cluster has not finished, and as of when its tables agree; None otherwise.

    Raises LakeNotReadable.
    """
    columns = ["run_id", "run_number", "started_at", "ended_at", "outcome"]
    if not table_exists(lake, RUNS):
        return None
    table = open_table(lake, RUNS)
    if not {*columns} <= {*table.schema.names}:
        return None
    wanted = (ds.field("cluster") == cluster) & ds.field("run_number").is_valid()
    rows = sorted(
        table.to_table(columns, filter=wanted).to_pylist(), key=lambda row: row["run_number"]
    )
    if not rows or rows[-1]["outcome"] == "done":
        return None
    last, done = rows[-1], [row for row in rows if row["outcome"] == "done"]
    agree = "no run has finished yet"
    if done:
        agree = (
            f"all agree as of {_text_of(done[-1]['ended_at'])}, when run {done[-1]['run_id']} ended"
        )
    what = "failed" if last["outcome"] == "failed" else "has not finished"
    return (
        f"Run {last['run_id']} of cluster {cluster}, started {_text_of(last['started_at'])}, {what}: some tables may be"
        f" newer than others; {agree}."
    )


def _text_of(moment: datetime | None) -> str:
    return "an unknown time" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S} UTC"


def topic_names(lake: str, cluster: str) -> TopicNames:
    """What gold.topics has. Raises LakeNotReadable."""
    names = TopicNames()
    for row in read_rows(lake, "gold.topics", cluster=cluster):
        names.add(topic_id_of(row["topic_id"]), row["topic"], TopicNameSource(row["source"]))
    return names


def clusters(lake: str, name: str) -> list[str]:
    """Names of the clusters that a table has rows of, sorted. Raises LakeNotReadable."""
    column = open_table(lake, name).to_table(columns=["cluster"]).column("cluster")
    return sorted(pc.unique(column).to_pylist())


def require_cluster(lake: str, cluster: str) -> None:
    """Raises LakeNotReadable, with the clusters that there are, where no run was about this one."""
    there = clusters(lake, RUNS)
    if cluster not in there:
        raise LakeNotReadable(
            f"{lake} has no run of cluster {cluster}; it has {', '.join(there) or 'none'}."
        )


class LakeRows(Rows):
    """Rows of a Delta table that match an Arrow expression."""

    def __init__(self, lake: str, schema: TableSchema, wanted: ds.Expression) -> None:
        super().__init__(schema)
        self._lake = lake
        self._wanted = wanted

    @cached_property
    def _dataset(self) -> ds.Dataset:
        return open_table(self._lake, self.schema.full_name)

    @cached_property
    def _table(self) -> pa.Table:
        found = self._shaped(self._dataset.to_table(filter=self._wanted))
        keys = [
            (name, "descending" if name in LATEST_FIRST else "ascending", "at_start")
            for name in self.schema.key
        ]
        return found.take(pc.sort_indices(found, sort_keys=keys))

    def _shaped(self, found: pa.Table) -> pa.Table:
        """With the columns of the contract; one that came after the release that wrote the lake is null."""
        return padded(found, arrow_schema(self.schema))

    def __len__(self) -> int:
        if "_table" in self.__dict__:
            return len(self._table)
        return int(self._dataset.count_rows(filter=self._wanted))

    def __iter__(self) -> Iterator[Row]:
        for batch in self._table.to_batches():
            yield from batch.to_pylist(maps_as_pydicts="strict")

    def _row(self, number: int) -> Row:
        rows: list[Row] = self._table.slice(number, 1).to_pylist(maps_as_pydicts="strict")
        return rows[0]

    def _first(self, most: int) -> Iterator[Row]:
        """Without reading the whole table."""
        if "_table" in self.__dict__:
            yield from super()._first(most)
        else:
            yield from self._shaped(self._dataset.head(most, filter=self._wanted)).to_pylist(
                maps_as_pydicts="strict"
            )

    def _filtered(
        self, groups: frozenset[str], start_ms: int | None, end_ms: int | None
    ) -> "LakeRows":
        wanted = self._wanted
        if groups:
            wanted &= ds.field("group_id").isin(sorted(groups))
        for bound_ms, at_least in ((start_ms, True), (end_ms, False)):
            if bound_ms is not None:
                begins = ds.field(self.schema.begins_at)
                moment = pa.scalar(bound_ms * 1000, pa.timestamp("us", tz="UTC"))
                wanted &= begins >= moment if at_least else begins < moment
        return LakeRows(self._lake, self.schema, wanted)

    def _arrow(self) -> pa.Table:
        return self._table
