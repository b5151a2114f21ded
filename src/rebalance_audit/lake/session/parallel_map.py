"""Work on several tables at once: it mostly keeps a core of the driver busy, not the executors."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

THREADS: Final = min(4, os.cpu_count() or 1)

Item = TypeVar("Item")
Done = TypeVar("Done")


def parallel_map(work: Callable[[Item], Done], items: Iterable[Item]) -> list[Done]:
    """What the work makes of each item, in their order. Raises the first error, when all have ended."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(work, items))
