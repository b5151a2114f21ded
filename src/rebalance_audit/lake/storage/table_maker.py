"""Makes the tables of a lake that do not exist, and brings those of an earlier release up to date."""

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from deltalake.exceptions import DeltaError
from pyspark.errors import PySparkException

from rebalance_audit.errors import LakeNotWritable
from rebalance_audit.lake.session.splits import parallel_map
from rebalance_audit.lake.storage.lock import sole_table_maker
from rebalance_audit.lake.storage.table_log import TableLog, first_line
from rebalance_audit.lake.storage.table_place import TablePlace
from rebalance_audit.lake.storage.table_writer import TableWriter
from rebalance_audit.tables.schemas import TableSchema, table_schemas

MADE_MEANWHILE: Final = re.compile(
    r"DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION|DELTA_TABLE_ALREADY_EXISTS|DELTA_CONCURRENT_|_CHANGED"
    r"|already exists"
)
"""Conditions of Delta and Spark when another process has just created the table."""
APPEARS_SECONDS: Final = 10


@dataclass(frozen=True)
class TableMaker:
    """Makes tables of one lake."""

    _lake: str
    """Its path or name."""
    _place: TablePlace
    _writer: TableWriter
    _log_of: Callable[[str], TableLog]
    """The log of a table by its full name."""

    def make(self, names: Iterable[str]) -> None:
        """Make the tables that do not exist, and add the columns that tables of an earlier release lack.

        Raises LakeNotWritable, also for a table that does not conform to `schemas/tables`.
        """
        schemas = [table_schemas()[name] for name in names]
        with translated(self._lake):
            self._place.prepare(schema.layer for schema in schemas)
        exists = parallel_map(self._adapt, schemas)
        missing = [schema for schema, found in zip(schemas, exists, strict=True) if not found]
        if missing:
            with translated(self._lake), sole_table_maker(self._lake):
                parallel_map(self._make, missing)

    def _make(self, schema: TableSchema) -> None:
        """Create a table, whatever an earlier attempt left of it."""
        with translated(self._place.address(schema)):
            if self._log_of(schema.full_name).version() is None:
                try:
                    self._writer.create(schema)
                except (PySparkException, DeltaError) as error:
                    if not (MADE_MEANWHILE.search(str(error)) and self._appears(schema)):
                        raise

    def _appears(self, schema: TableSchema) -> bool:
        """Whether another process makes the table: where there are no locks, two may try at once."""
        for _ in range(APPEARS_SECONDS):
            if self._log_of(schema.full_name).version() is not None:
                return True
            time.sleep(1)
        return False

    def _adapt(self, schema: TableSchema) -> bool:
        """Add the columns that a table lacks; returns whether there is a table."""
        path = self._place.address(schema)
        with translated(path):
            if self._log_of(schema.full_name).version() is None:
                return False
            self._add_columns(schema, path)
            return True

    def _add_columns(self, schema: TableSchema, path: str) -> None:
        present = self._log_of(schema.full_name).columns()
        missing = []
        for column in schema.columns:
            found = present.get(column.name)
            if found is None:
                missing.append(column.name)
            elif found != column.type.replace(" ", ""):
                raise LakeNotWritable(
                    f"{path} is not a rebalance-audit table: its column {column.name} is"
                    f" {found}, not {column.type}."
                )
        if missing:
            self._writer.add_columns(schema, missing)


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Errors of storage as LakeNotWritable."""
    try:
        yield
    except (OSError, PySparkException, DeltaError) as error:
        raise LakeNotWritable(f"{path} cannot be written: {first_line(error)}.") from error
