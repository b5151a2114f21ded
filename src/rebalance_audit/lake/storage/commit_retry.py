"""Retries commits when another one came first: of a run of another cluster of the lake, or of an ingest."""

import random
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.errors import PySparkException

from rebalance_audit.lake.storage.table_writer import Outrun

ATTEMPTS: Final = 8
PAUSE_SECONDS: Final = 0.5
CONFLICT: Final = re.compile(r"DELTA_CONCURRENT_\w+|DELTA_(?:METADATA|PROTOCOL)_CHANGED")
"""Delta's error conditions in Spark where another commit came first."""


@contextmanager
def outrun_on_conflict() -> Iterator[None]:
    """Raise Outrun for an error of Spark's where another commit came first."""
    try:
        yield
    except PySparkException as error:
        if CONFLICT.search(str(error)) is None:
            raise
        raise Outrun(str(error)) from None


def with_retries(commit: Callable[[], None]) -> None:
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
