"""Commits that are tried again when another one came first: of a run of another cluster of the lake, or an ingest."""

import random
import time
from collections.abc import Callable
from typing import Final

from delta.exceptions import DeltaConcurrentModificationException

ATTEMPTS: Final = 8
PAUSE_SECONDS: Final = 0.5


def with_retries(commit: Callable[[], None]) -> None:
    """Make a commit that reads and writes only rows of its own; try again if another program committed first."""
    for attempt in range(1, ATTEMPTS):
        try:
            commit()
        except DeltaConcurrentModificationException:
            time.sleep(attempt * PAUSE_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - only to part two runs
        else:
            return
    commit()
