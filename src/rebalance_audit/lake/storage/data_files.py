"""Data files of a table, written by the tasks that make the rows: as Arrow batches, which become no rows of the JVM.

Of a file that Spark writes, most of the time goes into taking each row apart and handing its cells to Parquet's writer
one by one. Where all tasks see the table's folder on this machine, they write Parquet from Arrow's columns themselves,
in a sixth of the time, and only the commit is Delta's. A task that fails leaves at most a file that no commit names,
which VACUUM removes.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from rebalance_audit.lake.session.java_classes import HADOOP_PATH, java_class
from rebalance_audit.lake.session.kept_rows import is_one_process
from rebalance_audit.lake.session.private_spark import DELTA_LOG, hadoop_conf, newest_snapshot
from rebalance_audit.tables.arrow_types import arrow_type, ddl_of_columns, schema_of_columns
from rebalance_audit.tables.schemas import TableSchema

CODECS: Final[Mapping[str, str]] = {
    "zstd": "zstd",
    "snappy": "snappy",
    "gzip": "gzip",
    "none": "none",
    "uncompressed": "none",
}
"""Spark's names of codecs -> Arrow's; tables with another one are written by Spark."""
CODEC: Final = "spark.sql.parquet.compression.codec"
FILE_ROWS: Final = "spark.sql.files.maxRecordsPerFile"
"""Whoever limits files has Spark write them."""
WRITER_FEATURES: Final = frozenset(
    {"appendOnly", "invariants", "changeDataFeed", "clustering", "domainMetadata"}
)
"""What Delta may ask of who writes a file of ours; with a feature that somebody has added, Spark writes."""
CONDITIONS: Final = ("delta.constraints.", "delta.invariants", "delta.generationExpression")
"""Settings by which somebody asks more of rows than their types: Spark checks that."""
STATS_COLUMNS: Final = "delta.dataSkippingStatsColumns"
STATS_COUNT: Final = "delta.dataSkippingNumIndexedCols"
STATS_DEFAULT: Final = 32
"""So many columns have statistics by default: -1 are all of them."""
ORDERED: Final = frozenset({"string", "int", "bigint", "timestamp"})
"""Types of columns whose least and greatest values Delta keeps; of the others it counts the nulls."""
ROW_GROUP_BYTES: Final = 64 << 20
"""Of Arrow's columns, which a task holds until it writes them as one group of rows."""
PAGE_ROWS: Final = 20_000
"""As many as Parquet's writer in Java puts into a page, so that readers pass over as much."""
STATS_PREFIX: Final = 32
"""`DataSkippingReader`: of a text this many characters are kept as its minimum and maximum."""
LAST_CHARACTER: Final = "\U0010ffff"
"""No text sorts after it, by code points as by the bytes of UTF-8."""
FILE_COLUMNS: Final = {"line": "string", "rows": "bigint", "size_bytes": "bigint"}
"""What a task tells of a file: the line of Delta's log, see TaskFile."""
_TOLD: Final = {**FILE_COLUMNS, "noted": "string"}
FILE_DDL: Final = ddl_of_columns(_TOLD)
"""The same of its only file, and whatever the task was asked to note beside the rows, as JSON.

A task without rows has no file, and `line` is null.
"""


class TaskFile(NamedTuple):
    """What a task told of the file that it wrote, see FILE_DDL."""

    line: str
    rows: int
    size_bytes: int

    @property
    def name(self) -> str:
        """In the folder."""
        return str(json.loads(self.line)["add"]["path"])

    def as_changes(self, folder: str) -> str:
        """The line of Delta's log that makes it a file of the change feed, in a folder of that of the table."""
        told = {
            "path": f"{folder}/{self.name}",
            "partitionValues": {},
            "size": self.size_bytes,
            "dataChange": False,
        }
        return _json({"cdc": told})


@dataclass(frozen=True, slots=True)
class DataFiles:
    """How tasks write files of one table; it is sent to them."""

    folder: str
    columns: Mapping[str, tuple[str, bool]]
    """Name -> type as DDL, and whether it may be null."""
    stats: tuple[str, ...]
    """The columns of which the log has statistics for each file."""
    codec: str

    @property
    def arrow_schema(self) -> pa.Schema:
        """Of the rows on their way."""
        return schema_of_columns({name: kind for name, (kind, _) in self.columns.items()})

    def write(
        self,
        batches: Iterable[pa.RecordBatch],
        constants: Mapping[str, Any],
        noted: Callable[[], object] = lambda: None,
    ) -> Iterator[pa.RecordBatch]:
        """Write the rows of a task into one file, and tell of it in one row of FILE_DDL.

        `constants` are columns that are the same in all rows, the others are in the batches. `noted` is called at the
        end. Raises OSError.
        """
        written = self._one_file(batches, constants)
        told = {"line": None, "rows": 0, "size_bytes": 0} if written is None else written._asdict()
        yield pa.RecordBatch.from_pylist(
            [{**told, "noted": json.dumps(noted())}],
            schema=schema_of_columns(_TOLD),
        )

    def written(self, rows: pa.Table) -> TaskFile:
        """Write rows that the driver knows, at least one, into one file. Raises OSError."""
        told = self._one_file(rows.to_batches(), {})
        assert told is not None
        return told

    def _one_file(
        self, batches: Iterable[pa.RecordBatch], constants: Mapping[str, Any]
    ) -> TaskFile | None:
        file = self.begin(constants)
        try:
            for batch in batches:
                if batch.num_rows:
                    file.add(batch)
            return file.close()
        except BaseException:
            file.discard()
            raise

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files that no commit names, by their paths in the folder."""
        for path in paths:
            (Path(self.folder) / path).unlink(missing_ok=True)

    def begin(
        self, constants: Mapping[str, Any], row_group_bytes: int = ROW_GROUP_BYTES
    ) -> "FileInTask":
        """A file to which a task adds batches; `constants` as above."""
        return FileInTask(self, constants, row_group_bytes)


class FileInTask:
    """One file, made when its first row comes."""

    def __init__(
        self, table: DataFiles, constants: Mapping[str, Any], row_group_bytes: int
    ) -> None:
        """Nothing is written yet; see `DataFiles.begin`."""
        self._path = Path(table.folder) / f"part-00000-{uuid4()}-c000.{table.codec}.parquet"
        self._schema = pa.schema(
            [
                pa.field(name, arrow_type(kind), nullable)
                for name, (kind, nullable) in table.columns.items()
            ]
        )
        self._constants = {
            name: pa.scalar(value, self._schema.field(name).type)
            for name, value in constants.items()
        }
        self._codec = table.codec
        self._writer: pq.ParquetWriter | None = None
        self._held: list[pa.RecordBatch] = []
        self._held_bytes = 0
        self._row_group_bytes = row_group_bytes
        self._rows = 0
        self._extremes: dict[str, list[Any]] = {
            name: [] for name in table.stats if table.columns[name][0] in ORDERED
        }
        self._nulls = dict.fromkeys(table.stats, 0)

    def add(self, batch: pa.RecordBatch) -> None:
        """Rows, at least one."""
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        if self._held_bytes >= self._row_group_bytes:
            self._write()

    def close(self) -> TaskFile | None:
        """No row follows; None if there was none, and so no file. Raises OSError."""
        if self._held:
            self._write()
        if self._writer is None:
            return None
        self._writer.close()
        return self._told()

    def _write(self) -> None:
        """One row group of what is held."""
        rows = pa.Table.from_batches(self._held)
        self._held, self._held_bytes = [], 0
        count = rows.num_rows
        columns = [
            pa.repeat(self._constants[field.name], count)
            if field.name in self._constants
            else rows[field.name]
            for field in self._schema
        ]
        whole = pa.Table.from_arrays(columns, schema=self._schema)
        self._writer = self._writer or self._opened()
        self._writer.write_table(whole, row_group_size=count)
        self._rows += count
        for name in self._nulls:
            self._nulls[name] += whole[name].null_count
        for name, found in self._extremes.items():
            if whole[name].null_count < count:
                found.extend(pc.min_max(whole[name]).as_py().values())

    def _opened(self) -> pq.ParquetWriter:
        return pq.ParquetWriter(
            self._path,
            self._schema,
            compression=self._codec,
            use_dictionary=[field.name for field in self._schema if _repeats(field)],
            write_page_index=True,
            max_rows_per_page=PAGE_ROWS,
            store_schema=False,
        )

    def discard(self) -> None:
        """Leave nothing."""
        with suppress(Exception):  # the first error is the one to tell
            if self._writer is not None:
                self._writer.close()
        self._path.unlink(missing_ok=True)

    def _told(self) -> TaskFile:
        status = self._path.stat()
        stats = {
            "numRecords": self._rows,
            "minValues": self._least_or_greatest(min),
            "maxValues": self._least_or_greatest(max),
            "nullCount": self._nulls,
        }
        add = {
            "path": self._path.name,
            "partitionValues": {},
            "size": status.st_size,
            "modificationTime": status.st_mtime_ns // 1_000_000,
            "dataChange": True,
            "stats": _json(stats),
        }
        return TaskFile(_json({"add": add}), self._rows, status.st_size)

    def _least_or_greatest(self, which: Callable[[list[Any]], Any]) -> dict[str, Any]:
        bound = least_of_text if which is min else greatest_of_text
        found = {name: which(values) for name, values in self._extremes.items() if values}
        return {
            name: bound(value) if isinstance(value, str) else _in_log(value)
            for name, value in found.items()
        }


def least_of_text(value: str) -> str:
    """What the log has as the minimum of texts of which this is the first: its beginning."""
    return value[:STATS_PREFIX]


def greatest_of_text(value: str) -> str:
    """What the log has as the maximum of texts of which this is the last: its beginning, and what sorts after the rest.

    Never nothing: of a file that has a minimum and no maximum some readers find no rows.
    """
    if len(value) <= STATS_PREFIX:
        return value
    # Behind as many of the last character as the cut meets nothing sorts later: what is before them does.
    beginning = value[: STATS_PREFIX + 1].rstrip(LAST_CHARACTER)
    return f"{beginning[:-1]}{LAST_CHARACTER}" if beginning else value


def data_files(spark: SparkSession, schema: TableSchema, path: str) -> DataFiles | None:
    """How tasks write files of the table at a path; None where Spark has to: see the module, and WRITER_FEATURES."""
    codec = CODECS.get(spark.conf.get(CODEC) or "")
    is_limited = int(spark.conf.get(FILE_ROWS, "0") or 0) > 0
    if codec is None or is_limited or not is_one_process(spark):
        return None
    folder = java_class(spark, HADOOP_PATH)(path)
    try:
        system = folder.getFileSystem(hadoop_conf(spark))
        if system.getScheme() != "file":
            return None
        place = str(system.makeQualified(folder).toUri().getPath())
    except Py4JError:
        return None  # Spark's writer tells
    found = described(spark, path)
    if found is None or not _is_ours_to_write(found):
        return None
    columns = {column.name: (column.type, column.nullable) for column in schema.columns}
    return DataFiles(place, columns, _with_stats(found.metadata["configuration"], columns), codec)


class Described(NamedTuple):
    """What the newest version of a table says of itself: Delta's actions `protocol` and `metaData`."""

    version: int
    protocol: Mapping[str, Any]
    metadata: Mapping[str, Any]

    @property
    def is_plain(self) -> bool:
        """Whether its files have its rows, as they are and in its own columns.

        From reader version 2 on files may name columns otherwise, and from 3 on rows of files may be deleted.
        """
        return self.protocol["minReaderVersion"] <= 1 and not self.metadata["partitionColumns"]


def described(spark: SparkSession, path: str) -> Described | None:
    """The table at a path; None for a damaged log, of which Spark tells, and in another release of Delta."""
    try:
        _, snapshot = newest_snapshot(spark, java_class(spark, DELTA_LOG), path)
        return Described(
            snapshot.version(),
            json.loads(snapshot.protocol().json())["protocol"],
            json.loads(snapshot.metadata().json())["metaData"],
        )
    except Py4JError:
        return None


def _with_stats(settings: Mapping[str, str], columns: Iterable[str]) -> tuple[str, ...]:
    """Of which columns the log has statistics: those that are named, or else the first of them."""
    named = settings.get(STATS_COLUMNS)
    if named is not None:
        return tuple(named.split(","))
    count = int(settings.get(STATS_COUNT, STATS_DEFAULT))
    return tuple(columns) if count < 0 else tuple(islice(columns, count))


def _is_ours_to_write(table: Described) -> bool:
    if not (
        table.is_plain and WRITER_FEATURES.issuperset(table.protocol.get("writerFeatures", ()))
    ):
        return False
    # Tables of older protocols have these without a feature's name.
    told = json.dumps([table.metadata["configuration"], table.metadata["schemaString"]])
    return not any(name in told for name in CONDITIONS)


def _repeats(field: pa.Field) -> bool:
    """Whether values come again and again; of those that do not, a dictionary is made for nothing."""
    return field.name == "key" or field.type in {pa.string(), pa.int32()}


def _in_log(value: Any) -> Any:
    """A value as Delta's statistics have it: times in milliseconds."""
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03d}Z"
    return value


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
