"""Retries commits when another one came first: of a run of another cluster of the lake, or of an ingest."""

import random
import time
from collections.abc import Callable
from typing import Final

from delta import exceptions

from rebalance_audit.lake.storage.table_writer import Outrun

ATTEMPTS: Final = 8
PAUSE_SECONDS: Final = 0.5
CONFLICTS: Final = (
    exceptions.ConcurrentAppendException,
    exceptions.ConcurrentDeleteDeleteException,
    exceptions.ConcurrentDeleteReadException,
    exceptions.ConcurrentTransactionException,
    exceptions.ConcurrentWriteException,
    exceptions.DeltaConcurrentModificationException,
    exceptions.MetadataChangedException,
    exceptions.ProtocolChangedException,
)
"""Delta's exceptions in Spark where another commit came first; in Python none is a subclass of another."""


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
