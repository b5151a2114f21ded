"""The contract of the writers that change a lake's tables. There are two; a lake keeps the one that it was made with.

Rows of records, commits and progress, which are many, leave the workers as Parquet files (`data_files`), those of
groups through Spark (`stage`); then a writer applies them, one commit for each table. delta-rs has the files to be
added in the table's own folder, and its commit names them; Spark copies them from the stage.

- `delta_rs_writer`, for tables at paths: the default on a local disk;
- `spark_writer`, for catalogs, object stores and clusters, and wherever it is chosen.

How a table is written (`append`, `merge` by key, `replace`) is declared in its schema, and anything else is refused.
Every change names the version of the table on which it builds. If the table has a later one, the writer raises Outrun
and changes nothing. Repeating a change is harmless: rows are merged by key, and appends are
transactions of the cluster, numbered by that version.
"""

import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, Protocol

from deltalake.exceptions import CommitFailedError, DeltaError
from pyspark.errors import PySparkException

from rebalance_audit.errors import LakeNotWritable
from rebalance_audit.lake.storage.data_files import DataFolder
from rebalance_audit.lake.storage.stage import GivenRows
from rebalance_audit.lake.storage.table_log import first_line
from rebalance_audit.lake.storage.table_place import WriterKind
from rebalance_audit.tables.schemas import TableSchema, Way


def require_declared(schema: TableSchema, way: Way) -> None:
    """Raises ValueError if the schema does not say that the table is written in this way: a bug of the caller."""
    if way not in schema.written:
        ways = ", ".join(schema.written)
        raise ValueError(f"{schema.full_name} is written by {ways}, not by {way}")


class Outrun(Exception):  # noqa: N818 - it says what happened
    """Another commit came first, so the rows may be out of date."""


class TableChange(NamedTuple):
    """What a commit is made for."""

    run_id: str
    """Goes into the commit's `userMetadata`."""
    cluster: str
    based_on: int
    """The version of the table for which the rows were made."""


@dataclass(frozen=True, slots=True)
class Written:
    """What one change did."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def rows(self) -> int:
        """Rows that differ from before."""
        return self.inserted + self.updated + self.deleted


class TableWriter(Protocol):
    """Changes tables. All methods raise OSError, and PySparkException or DeltaError for what they cannot do."""

    kind: WriterKind

    def create(self, schema: TableSchema) -> None:
        """Make the table, unless it is there."""

    def add_columns(self, schema: TableSchema, names: Sequence[str]) -> None:
        """Add columns that the table of an earlier release lacks."""

    def data_folder(self, schema: TableSchema, run_id: str) -> DataFolder:
        """Where the workers of a run write data files for `append`."""

    def append(self, schema: TableSchema, rows: GivenRows, commit: TableChange) -> Written:
        """Add rows whose keys the table does not have; no commit without rows. Raises Outrun."""

    def merge(self, schema: TableSchema, changes: GivenRows, commit: TableChange) -> Written:
        """Add rows, update those whose keys the table has and whose other columns differ, remove those that are GONE.

        `changes` have the table's columns, each key once, all of the commit's cluster, and GONE. No commit if nothing
        differs. Raises Outrun.
        """

    def replace(
        self, schema: TableSchema, rows: GivenRows, value: str | None, commit: TableChange
    ) -> Written:
        """Put these rows in the place of others, without a comparison. Raises Outrun.

        These have the value in the schema's column `replaced_by`; None for all that the table has.
        """

    def set_property(self, schema: TableSchema, name: str, value: str) -> None:
        """Set a property of the table."""

    def delete_before(self, schema: TableSchema, before: datetime) -> None:
        """Remove the rows that are older than a moment (UTC) by what the schema says of their age."""

    def compact(self, schema: TableSchema) -> tuple[int, int]:
        """Make fewer, larger files, with rows of the same clusters and groups together; files added and removed."""

    def vacuum(self, schema: TableSchema, hours: int, *, dry_run: bool) -> int:
        """Remove files that no version has used for so many hours; returns how many there were."""


ATTEMPTS: Final = 8
PAUSE_SECONDS: Final = 0.5
CONFLICT: Final = re.compile(r"DELTA_CONCURRENT_\w+|DELTA_(?:METADATA|PROTOCOL)_CHANGED")
"""Delta's error conditions in Spark where another commit came first."""


@contextmanager
def outrun_on_conflict() -> Iterator[None]:
    """Raise Outrun for an error of delta-rs or Spark where another commit came first."""
    try:
        yield
    except CommitFailedError as error:
        raise Outrun(str(error)) from None
    except PySparkException as error:
        if CONFLICT.search(str(error)) is None:
            raise
        raise Outrun(str(error)) from None


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Errors of storage as LakeNotWritable."""
    try:
        yield
    except (OSError, PySparkException, DeltaError) as error:
        raise LakeNotWritable(f"{path} cannot be written: {first_line(error)}.") from error


def with_retries(commit: Callable[[], object]) -> None:
    """Make a commit that reads and writes only rows of its own; try again if another program committed first.

    Raises Outrun if others come first every time.
    """
    for attempt in range(1, ATTEMPTS):
        try:
            commit()
        except Outrun:
            time.sleep(attempt * PAUSE_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - only to desynchronise two runs
        else:
            return
    commit()
