"""Commits of runs over other clusters of the same lake may come in between, and those of an ingest beside a run."""

import random
import time
from collections.abc import Callable
from typing import Final

from delta.exceptions import DeltaConcurrentModificationException

ATTEMPTS: Final = 8
PAUSE_SECONDS: Final = 0.5


def with_retries(commit: Callable[[], None]) -> None:
    """Make a commit that reads and writes rows of its own alone; try again where another program came in between."""
    for attempt in range(1, ATTEMPTS):
        try:
            commit()
        except DeltaConcurrentModificationException:
            time.sleep(attempt * PAUSE_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 - only to part two runs
        else:
            return
    commit()
