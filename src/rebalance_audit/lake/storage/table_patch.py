"""A small table changed by one task, from Arrow's columns: what a MERGE does, without queries of its own.

The task gets rows to put into the table and keys to drop from it. It looks for their keys in the table's files,
compares what it finds, and writes new files in place of those with rows that differ; a row that is there already costs
no commit. The driver commits what the task tells, if nobody else has changed the table since it was described.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import repeat
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from rebalance_audit.lake.storage.data_files import DataFiles, FileInTask, TaskFile
from rebalance_audit.lake.storage.row_changes import CHANGE_TYPE
from rebalance_audit.lake.storage.table_files import CLUSTER, TableFiles, rows_of_file
from rebalance_audit.tables.arrow_types import arrow_type

GROUP: Final = "group_id"
ROW: Final = "row"
CHANGES_FOLDER: Final = "_change_data"
"""Delta's folder, in that of the table, of files of the change feed."""
WIDE_ROWS: Final = 4_096
"""So many rows with all their columns are held at once: a snapshot may have a megabyte."""
ROW_GROUP_BYTES: Final = 8 << 20

Merge: TypeAlias = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
"""Makes one row of each key of rows that have it; those that the table has come first."""


@dataclass(frozen=True, slots=True)
class PatchableTable:
    """A version of a table, as a task reads and changes it; it is sent there."""

    files: DataFiles
    names: tuple[str, ...]
    """Of all its files, in the table's folder."""
    key: tuple[str, ...]
    ends: str | None
    """The column that is null in rows which may still change, see `clustering`."""
    has_feed: bool
    version: int

    def of_cluster(self, cluster: str) -> TableFiles:
        """Its files, of which tasks read the rows of a cluster."""
        types = {name: kind for name, (kind, _) in self.files.columns.items()}
        return TableFiles(cluster, tuple(map(self.path, self.names)), types)

    def path(self, name: str) -> str:
        """Of a file in the table's folder."""
        return str(Path(self.files.folder) / name)


class PatchedTable(NamedTuple):
    """What a task told of a table that it changed; as JSON on the way."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    added: Sequence[TaskFile] = ()
    removed: Sequence[str] = ()
    """Names of files whose rows are among those of the new ones, as far as they stay."""
    changes: str | None = None
    """The line in Delta's log of a file with the change feed of this commit; None if the new files tell it all."""

    @property
    def rows(self) -> int:
        """Rows that differ from before."""
        return self.inserted + self.updated + self.deleted

    @property
    def written(self) -> list[str]:
        """All files that were written, by their paths in the table's folder."""
        names = [file.name for file in self.added]
        return names if self.changes is None else [*names, json.loads(self.changes)["cdc"]["path"]]

    @classmethod
    def from_told(cls, told: Sequence[Any]) -> "PatchedTable":
        """From what JSON has made of it."""
        inserted, updated, deleted, added, removed, changes = told
        return cls(
            inserted, updated, deleted, [TaskFile(*file) for file in added], removed, changes
        )


@dataclass(slots=True)
class TablePatch:
    """The change of one table, in a task."""

    table: PatchableTable
    constants: Mapping[str, Any]
    """Columns that are the same in all rows to put: the cluster at least, which the key has."""
    compares: bool = True
    """Otherwise the rows to put are known to differ from those that they replace."""
    merge: Merge | None = None
    """For rows that go on from those of the table; moments are in microseconds."""
    replaced: Collection[str] = ()
    """Groups of which the table is to have no rows but those that are put."""
    spared: tuple[str, Collection[str]] | None = None
    """A column, and its values in rows that replaced groups keep."""
    _put: list[pa.RecordBatch] = field(default_factory=list)
    _drop: set[tuple[Any, ...]] = field(default_factory=set)
    _files: list[FileInTask] = field(default_factory=list)

    def put(self, rows: pa.RecordBatch) -> None:
        """Rows to be added, or to take the place of those with their keys. They lack the constant columns."""
        if rows.num_rows:
            self._put.append(self._shaped(rows, [*self.table.files.columns]))

    def drop(self, keys: pa.RecordBatch) -> None:
        """Keys of rows to be removed, if they are there and no row with the key is put."""
        if keys.num_rows:
            self._drop.update(_keys(self._shaped(keys, self.table.key), self.table.key))

    def close(self) -> tuple[PatchedTable, list[pa.Table]]:
        """Write what differs; also gives the rows that changed, as they were and as they are. Raises OSError."""
        try:
            return self._close()
        except BaseException:
            for file in self._files:
                file.discard()
            raise

    def _close(self) -> tuple[PatchedTable, list[pa.Table]]:
        new = pa.Table.from_batches(self._put, schema=self.table.files.arrow_schema)
        numbers = self._numbers(new)
        found = [*self._find({*numbers, *self._drop})]
        known = self._rows_at(found) if self.compares else None
        if self.merge is not None:
            assert known is not None
            going_on = [at for at, place in enumerate(found) if not place.is_replaced]
            new = _merged(self.merge, pa.concat_tables([_taken(known, going_on), new]))
            numbers = self._numbers(new)
        updated = [at for at, place in enumerate(found) if place.key in numbers]
        deleted = [at for at, place in enumerate(found) if place.key not in numbers]
        if known is not None:
            pairs = [numbers[found[at].key] for at in updated]
            differ = _differ(_taken(known, updated), _taken(new, pairs))
            updated = [at for at, differs in zip(updated, differ, strict=True) if differs]
        there = {place.key for place in found}
        inserted = [number for key, number in numbers.items() if key not in there]
        gone = [found[at] for at in (*updated, *deleted)]
        after = _taken(new, [*(numbers[found[at].key] for at in updated), *inserted])
        told = PatchedTable(len(inserted), len(updated), len(deleted))
        if not gone:
            added = [*self._written_apart(after)]
            return told._replace(added=added), [after]
        names = sorted({place.name for place in gone})
        file = self._begin(self.table.files)
        for name in names:
            self._copy(name, {place.row for place in gone if place.name == name}, file)
        _add(file, after)
        told = told._replace(added=[*_closed(file)], removed=names)
        if known is None:
            return told, [after]
        before = _taken(known, [*updated, *deleted])
        if self.table.has_feed:
            told = told._replace(changes=self._written_changes(before, after, told))
        return told, [before, after]

    def _numbers(self, rows: pa.Table) -> dict[tuple[Any, ...], int]:
        return {key: number for number, key in enumerate(_keys(rows, self.table.key))}

    def _find(self, wanted: Collection[tuple[Any, ...]]) -> Iterator["_Place"]:
        """Where the table has rows with these keys, and rows of replaced groups."""
        key = self.table.key
        columns = zip(*wanted, strict=True) if wanted else [()] * len(key)
        sets = {
            name: pa.array(set(values), _plain_type(self._type(name)))
            for name, values in zip(key, columns, strict=True)
        }
        looked_at = self._types(dict.fromkeys([*key, *self._columns_of_replaced()]))
        for name in self.table.names:
            first = 0
            for batch in rows_of_file(self.table.path(name), looked_at):
                masks = (pc.is_in(_plain(batch[each]), values) for each, values in sets.items())
                is_replaced = self._is_replaced(batch)
                rows = pc.indices_nonzero(pc.or_(reduce(pc.and_, masks), is_replaced))
                places = map(
                    _Place,
                    repeat(name),
                    (first + row for row in rows.to_pylist()),
                    _keys(batch.take(rows), key),
                    is_replaced.take(rows).to_pylist(),
                )
                yield from (place for place in places if place.is_replaced or place.key in wanted)
                first += batch.num_rows

    def _columns_of_replaced(self) -> list[str]:
        if not self.replaced:
            return []
        return [GROUP, *([] if self.spared is None else [self.spared[0]])]

    def _is_replaced(self, rows: pa.RecordBatch) -> pa.Array:
        """Which rows are to go unless a row with their key is put."""
        if not self.replaced:
            return pa.repeat(pa.scalar(False), rows.num_rows)
        found = pc.and_(
            pc.is_in(rows[CLUSTER], pa.array([self.constants[CLUSTER]])),
            pc.is_in(rows[GROUP], pa.array(self.replaced, pa.string())),
        )
        if self.spared is None:
            return found
        column, values = self.spared
        return pc.and_not(found, pc.is_in(rows[column], pa.array(values, pa.string())))

    def _rows_at(self, places: Sequence["_Place"]) -> pa.Table:
        """All columns of the rows at these places, which are in the order of the files."""
        found = []
        for name in dict.fromkeys(place.name for place in places):
            rows = {place.row for place in places if place.name == name}
            found += [batch.filter(there) for batch, there in self._marked(name, rows)]
        return pa.Table.from_batches(found, schema=self.table.files.arrow_schema)

    def _copy(self, name: str, without: Collection[int], file: FileInTask) -> None:
        """Copy the other rows of a file."""
        for batch, there in self._marked(name, without):
            _add(file, batch.filter(pc.invert(there)))

    def _marked(
        self, name: str, rows: Collection[int]
    ) -> Iterator[tuple[pa.RecordBatch, pa.Array]]:
        """The rows of a file, and which of them have these numbers."""
        first = 0
        wanted = pa.array(rows, pa.int64())
        types = self._types(self.table.files.columns)
        for batch in rows_of_file(self.table.path(name), types, WIDE_ROWS):
            numbers = pa.array(range(first, first + batch.num_rows), pa.int64())
            yield batch, pc.is_in(numbers, wanted)
            first += batch.num_rows

    def _written_apart(self, rows: pa.Table) -> Iterator[TaskFile]:
        """Rows that may still change have a file of their own."""
        parts = [rows]
        if self.table.ends is not None:
            is_open = rows[self.table.ends].is_null()
            parts = [rows.filter(is_open), rows.filter(pc.invert(is_open))]
        for part in parts:
            file = self._begin(self.table.files)
            _add(file, part)
            yield from _closed(file)

    def _written_changes(self, before: pa.Table, after: pa.Table, told: PatchedTable) -> str:
        """The change feed: `before` has updated rows, then deleted ones, `after` the updated and the inserted ones."""
        files = self.table.files
        columns = {**files.columns, CHANGE_TYPE: ("string", True)}
        folder = Path(files.folder) / CHANGES_FOLDER
        folder.mkdir(exist_ok=True)
        file = self._begin(replace(files, folder=str(folder), columns=columns, stats=()))
        for rows, kinds in (
            (before, ["update_preimage"] * told.updated + ["delete"] * told.deleted),
            (after, ["update_postimage"] * told.updated + ["insert"] * told.inserted),
        ):
            _add(file, rows.append_column(CHANGE_TYPE, pa.array(kinds, pa.string())))
        (written,) = _closed(file)
        return written.as_changes(CHANGES_FOLDER)

    def _begin(self, files: DataFiles) -> FileInTask:
        self._files.append(files.begin({}, ROW_GROUP_BYTES))
        return self._files[-1]

    def _shaped(self, rows: pa.RecordBatch, names: Collection[str]) -> pa.RecordBatch:
        """The columns with these names, among them the constants."""
        kinds = {name: arrow_type(self._type(name)) for name in names}
        return pa.RecordBatch.from_arrays(
            [
                pa.repeat(pa.scalar(self.constants[name], kind), rows.num_rows)
                if name in self.constants
                else rows[name].cast(kind)
                for name, kind in kinds.items()
            ],
            schema=pa.schema([*kinds.items()]),
        )

    def _type(self, name: str) -> str:
        return self.table.files.columns[name][0]

    def _types(self, names: Collection[str]) -> dict[str, str]:
        return {name: self._type(name) for name in names}


@dataclass(frozen=True, slots=True)
class FewRows:
    """Makes the change of a table from a frame of its own; it is sent to the task."""

    table: PatchableTable
    constants: Mapping[str, Any]
    replaced: Collection[str]
    """See TablePatch."""
    most: int
    """More rows are too many for one task."""

    def change(self, rows: DataFrame) -> PatchedTable | None:
        """Let one task do it; None if there are too many rows.

        They have the key, apart from constants, and a struct `row`, null for one to be removed.
        """
        key = [name for name in self.table.key if name not in self.constants]
        made = rows.select(*key, ROW).coalesce(1).mapInArrow(self._make, "told string")
        for (told,) in made.collect():
            return None if told is None else PatchedTable.from_told(json.loads(told))
        return PatchedTable()  # nothing to read is nothing to change

    def _make(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        patch = TablePatch(self.table, self.constants, replaced=self.replaced)
        count = 0
        for batch in batches:
            count += batch.num_rows
            if count > self.most:
                yield _told(None)
                return
            is_there = batch[ROW].is_valid()
            patch.put(pa.RecordBatch.from_struct_array(batch[ROW].filter(is_there)))
            patch.drop(batch.filter(pc.invert(is_there)))
        yield _told(json.dumps(patch.close()[0]))


def _told(told: str | None) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([told], pa.string())], names=["told"])


class _Place(NamedTuple):
    """A row of a file."""

    name: str
    row: int
    key: tuple[Any, ...]
    is_replaced: bool


def _keys(rows: pa.RecordBatch | pa.Table, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    return zip(*(_plain(rows[name]).to_pylist() for name in names), strict=True)


def _plain(column: pa.Array) -> pa.Array:
    return column.cast(_plain_type(column.type))


def _plain_type(kind: pa.DataType | str) -> pa.DataType:
    """Moments as numbers: Python's own are slow, and have time zones."""
    kind = arrow_type(kind) if isinstance(kind, str) else kind
    return pa.int64() if pa.types.is_timestamp(kind) else kind


def _taken(rows: pa.Table, numbers: Sequence[int]) -> pa.Table:
    return rows.take(pa.array(numbers, pa.int64()))


def _merged(merge: Merge, rows: pa.Table) -> pa.Table:
    plain = pa.schema([(each.name, _plain_type(each.type)) for each in rows.schema])
    made = pa.Table.from_pylist([*merge(rows.cast(plain).to_pylist())], plain)
    return made.cast(rows.schema)


def _differ(left: pa.Table, right: pa.Table) -> list[bool]:
    """Which rows of two tables of as many rows and the same columns are not the same."""
    differ = pa.array([False] * left.num_rows, pa.bool_())
    for one, other in zip(left.columns, right.columns, strict=True):
        if pa.types.is_nested(one.type):
            pairs = zip(one, other, strict=True)
            column = pa.array((not a.equals(b) for a, b in pairs), pa.bool_())
        else:
            # Null where one of them is.
            unequal = pc.fill_null(pc.not_equal(one, other), False)
            column = pc.or_(unequal, pc.xor(one.is_null(), other.is_null()))
        differ = pc.or_(differ, column)
    return list(differ.to_pylist())


def _add(file: FileInTask, rows: pa.RecordBatch | pa.Table) -> None:
    for batch in rows.to_batches() if isinstance(rows, pa.Table) else [rows]:
        if batch.num_rows:
            file.add(batch)


def _closed(file: FileInTask) -> Iterator[TaskFile]:
    written = file.close()
    if written is not None:
        yield written
