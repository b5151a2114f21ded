"""Makes the tables of a lake that do not exist, and brings those of an earlier release up to date."""

import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rebalance_audit.errors import LakeNotWritable
from rebalance_audit.lake.session.side_by_side import side_by_side
from rebalance_audit.lake.session.temporary_settings import temporary_settings
from rebalance_audit.lake.storage.aborted_creates import remove_aborted_create
from rebalance_audit.lake.storage.delta_log import java_message
from rebalance_audit.lake.storage.lock import sole_table_maker
from rebalance_audit.lake.storage.sql_text import quoted_comment
from rebalance_audit.lake.storage.table_location import Location
from rebalance_audit.tables.schemas import TableSchema, table_schemas

MAKING: Final = {
    # By default Delta asks the table before its first version, which is none, for its files: a query for each table.
    "spark.databricks.delta.allFilesInCrc.enabled": "false",
}
MADE_MEANWHILE: Final = re.compile(
    r"DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION|DELTA_TABLE_ALREADY_EXISTS|DELTA_CONCURRENT_|_CHANGED"
)
"""Words of Delta and Spark where a table is there, or begins to be, that was not there a moment ago."""
APPEARS_SECONDS: Final = 10


def make_tables(spark: SparkSession, lake: str, location: Location, names: Iterable[str]) -> None:
    """Make the tables that do not exist, and add the columns that tables of an earlier release lack.

    `lake` is the path that the location stands for. Raises LakeNotWritable, also for a table that does not conform to
    `schemas/tables`.
    """
    _Maker(spark, lake, location).make(names)


class _Maker:
    def __init__(self, spark: SparkSession, lake: str, location: Location) -> None:
        self._spark = spark
        self._lake = lake
        self._location = location

    def make(self, names: Iterable[str]) -> None:
        schemas = [table_schemas()[name] for name in names]
        with _translated(self._lake):
            self._location.prepare(schema.layer for schema in schemas)
        is_there = side_by_side(self._adapt, schemas)
        missing = [schema for schema, found in zip(schemas, is_there, strict=True) if not found]
        if missing:
            settings = temporary_settings(self._spark, MAKING)
            with _translated(self._lake), sole_table_maker(self._lake), settings:
                side_by_side(self._make, missing)

    def _make(self, schema: TableSchema) -> None:
        """Make a table, whatever an earlier attempt left of it."""
        path = self._location.address(schema)
        with _translated(path):
            if not self._is_there(schema):
                remove_aborted_create(path)
                try:
                    self._location.create(schema)
                except PySparkException as error:
                    if not (MADE_MEANWHILE.search(str(error)) and self._appears(schema)):
                        raise

    def _appears(self, schema: TableSchema) -> bool:
        """Whether another process makes the table: where there are no locks, two may try at once."""
        for _ in range(APPEARS_SECONDS):
            if self._location.version(schema) is not None:
                return True
            time.sleep(1)
        return False

    def _adapt(self, schema: TableSchema) -> bool:
        """Add the columns that a table lacks; returns whether there is a table."""
        path = self._location.address(schema)
        with _translated(path):
            if not self._is_there(schema):
                return False
            self._add_columns(schema, path)
            return True

    def _is_there(self, schema: TableSchema) -> bool:
        # To ask for the version of what is not there takes Java's longest way, an exception.
        return self._location.has_log(schema) and self._location.version(schema) is not None

    def _add_columns(self, schema: TableSchema, path: str) -> None:
        fields = {field.name: field for field in self._location.load(schema).schema}
        for column in schema.columns:
            found = fields.get(column.name)
            if found is None:
                self._spark.sql(
                    f"ALTER TABLE {self._location.sql_name(schema)} ADD COLUMNS"
                    f" (`{column.name}` {column.type} COMMENT {quoted_comment(column.meaning)})"
                )
            elif found.dataType.simpleString() != column.type.replace(" ", ""):
                raise LakeNotWritable(
                    f"{path} is not a table of this program: its column {column.name} is"
                    f" {found.dataType.simpleString()}, not {column.type}."
                )


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Errors as LakeNotWritable."""
    try:
        yield
    except (OSError, PySparkException) as error:
        raise LakeNotWritable(f"{path} cannot be written: {_first_line(error)}.") from error
    except Py4JJavaError as error:
        raise LakeNotWritable(f"{path} cannot be written: {java_message(error)}.") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0].rstrip(".")
