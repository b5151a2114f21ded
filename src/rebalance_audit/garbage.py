"""What Python's garbage collector need not look at."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def imports_aside() -> Iterator[None]:
    """Leave everything that is there by now out of collections until the work is done.

    Work that holds thousands of rows for a moment makes the collector go through all objects of the process again and
    again, and most of them are modules, classes and functions that stay: a tenth of the time for a classic group.
    """
    # Without a collection first, which takes longer than a small task: what is garbage by now waits until the end.
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
