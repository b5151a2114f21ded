"""Errors that a source or a disk has caused, in one sentence.

Spark reports a full disk in the stack trace of the query that met it.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Final

import pyarrow as pa
from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from rebalance_audit.delta_folder import unreadable_file
from rebalance_audit.errors import (
    LakeError,
    LakeNotReadable,
    LakeNotWritable,
    SparkEnded,
    superseded,
)
from rebalance_audit.lake.session.spark_session import worker_end
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.storage.stage import rows_gone
from rebalance_audit.lake.storage.table_log import RUN_ID
from rebalance_audit.lake.storage.table_writer import CONFLICT, Outrun
from rebalance_audit.location import is_catalog, local_path
from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.wire.segments.folder import SourceNotReadable

DISK_ERRORS: Final = re.compile(
    r"No space left on device|Disk quota exceeded|Read-only file system|File too large|Input/output error"
)
"""The operating system's words, in exceptions of Java and of Python."""
UNREADABLE_FILE: Final = re.compile(
    r"FAILED_READ_FILE\S* Encountered error while reading file (\S+\.parquet)"
)
"""Spark's words for a data file that is gone or damaged."""
STAGED_ROWS_GONE: Final = re.compile(
    r"(?:FILE_NOT_EXIST\S* Encountered error while reading file |(?:FileNotFound|NoSuchFile)Exception: (?:File )?"
    r"|Path does not exist: |open local file '|had written to )"
    rf"((?:\w+:)?/[^\n'\"]*?/{RUN_ID.pattern}/\d{{4}}(?:/table=\w+)?)\b"
)
"""Where a run staged rows that are gone: a folder with the run's id has a numbered one."""
PARQUET_FILE: Final = re.compile(r"((?:file://)?/[^\s'\"]+\.parquet)")
"""A data file in an error of Arrow or of delta-rs."""
SCRATCH: Final = "spark.local.dir"


class ErrorTranslation:
    """Translates what ends a run, from a source into a lake, into one sentence for the user."""

    def __init__(self, spark: SparkSession, lake: str, source: Source | None) -> None:
        self._lake = lake
        self._source = source
        # Asked now: a process that has ended does not answer.
        self._scratch = spark.conf.get(SCRATCH, None) or tempfile.gettempdir()

    def explain(self, error: Exception) -> LakeError | SourceNotReadable | SparkEnded | None:
        """A sentence about what the user can repair; None for other errors, and for those that have one already."""
        if isinstance(error, LakeError | SourceNotReadable | SparkEnded):
            return None
        trace = str(error)
        found = DISK_ERRORS.search(trace)
        if found is not None:
            return LakeNotWritable(
                f"{found[0]}: in the lake {self._lake}{_free(self._lake)}, or in Spark's folder for intermediate data"
                f" ({SCRATCH}: {self._scratch}{_free(self._scratch)}). The next run finishes the work."
            )
        if isinstance(error, Outrun) or CONFLICT.search(trace):
            return superseded(self._lake)
        staged = STAGED_ROWS_GONE.search(trace)
        if staged is not None:
            return rows_gone(staged[1])
        unreadable = self.unreadable_file(error)
        if unreadable is not None:
            return LakeNotReadable(unreadable_file(*unreadable))
        ended = worker_end(error)
        if ended is not None:
            return ended
        return None if self._source is None else self._source.explain(error)

    def unreadable_file(self, error: Exception) -> tuple[str, str] | None:
        """Table and file if what an error means is a file of the lake that could not be read."""
        is_ours = isinstance(error, DeltaError | OSError | pa.ArrowException)
        found = (PARQUET_FILE if is_ours else UNREADABLE_FILE).search(str(error))
        if found is None:
            return None
        parts = found[1].split("/")
        for name, schema in table_schemas().items():
            if any(pair == (schema.layer, schema.name) for pair in pairwise(parts)):
                return name, found[1]
        return None

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise the sentence instead of an error that has one."""
        try:
            yield
        except Exception as error:
            known = self.explain(error)
            if known is None:
                raise
            raise known from error


def _free(location: str) -> str:
    path = None if is_catalog(location) else local_path(location)
    if path is None or not path.is_dir():
        return ""
    return f" with {shutil.disk_usage(path).free / (1 << 20):,.0f} MB free"
