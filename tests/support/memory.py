"""What an object keeps alive, without the price of tracing every allocation."""

import gc
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import NamedTuple

SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType)
"""What an object refers to and does not own: code."""


class Kept(NamedTuple):
    """What work left behind."""

    size_bytes: int
    """All that can be reached from what the work made."""
    blocks: int
    """Allocations of the whole process that are still there: also those in caches that nobody refers to from there."""


def kept_by(work: Callable[[], object]) -> Kept:
    """What is kept as long as the outcome of the work is."""
    work()  # what is made once and for all is there
    gc.collect()
    before = sys.getallocatedblocks()
    made = work()
    gc.collect()
    blocks = sys.getallocatedblocks() - before
    return Kept(size_of(made), blocks)


def size_of(root: object) -> int:
    """Bytes of an object and of all that it refers to."""
    seen: set[int] = set()
    found = 0
    todo = [root]
    while todo:
        each = todo.pop()
        if id(each) in seen or isinstance(each, SHARED):
            continue
        seen.add(id(each))
        found += sys.getsizeof(each)
        todo += gc.get_referents(each)
    return found
