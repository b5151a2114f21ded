"""What an object keeps alive, without the price of tracing every allocation."""

import gc
import sys
from collections.abc import Callable, Iterator
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import NamedTuple

SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType)
"""What an object refers to and does not own: code."""


class Kept(NamedTuple):
    """What an object and its process hold at one moment."""

    size_bytes: int
    """All that can be reached from the object."""
    blocks: int
    """Allocations of the whole process: also those in caches that nothing refers to from the object."""


def kept_after_each(root: object, *steps: Callable[[], object]) -> Iterator[Kept]:
    """What is kept after each step of an object's work. The first one makes what is made once and for all."""
    gc.freeze()  # only what the work makes is looked through, not all that the process has imported
    try:
        for step in steps:
            step()
            gc.collect()
            yield Kept(size_of(root), sys.getallocatedblocks())
    finally:
        gc.unfreeze()


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
