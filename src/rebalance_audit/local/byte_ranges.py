"""Byte ranges of segment files: the work of one worker at a time, and the answers of many workers in order."""

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias, TypeVar

from rebalance_audit import limits
from rebalance_audit.segments.available import should_use_compiled_walk
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.folder import LogFolder, Segment
from rebalance_audit.wire.segments.walk import split_points

if TYPE_CHECKING:
    from rebalance_audit.segments.columns import Columns

RANGE_BYTES: Final = 1 << 20
"""Large enough that handing a range over costs nothing, small enough that a few in flight take little memory."""
_COMPILED_AT_ONCE: Final = 4
"""Ranges of the compiled walk are so many times larger: it is done with them so much sooner."""

PARALLEL_FROM_BYTES: Final = 4 << 20
"""Below this, starting workers takes longer than the work."""

PORTION_BYTES: Final = limits.PORTION_BYTES.most
"""Memory, about, of what is handed over at once."""
_RECORD_BYTES: Final = 16
"""Of a record in columns beside its key and value."""

RangeItem: TypeAlias = "Columns | BadBytes | TailNote"
Item = TypeVar("Item")
Answer = TypeVar("Answer")


class Range(NamedTuple):
    """Whole batches of one segment file: those that begin in [start_byte, end_byte)."""

    segment: Segment
    start_byte: int
    end_byte: int
    compiled: bool

    def read(self) -> Iterator[RangeItem]:
        """The records as columns, damage and the unfinished end; raises OSError that names the file."""
        from rebalance_audit.segments.reader import read_segment  # noqa: PLC0415 - imports numpy

        for found in read_segment(
            self.segment.path,
            self.start_byte,
            self.end_byte,
            end_offset=self.segment.end_offset,
            compiled=self.compiled,
        ):
            yield (
                found._replace(log_partition=self.segment.log_partition)
                if isinstance(found, BadBytes | TailNote)
                else found
            )


def in_portions(
    work: Callable[[Range, list[RangeItem]], Answer], parts: Iterable[Range], workers: int
) -> Iterator[Answer]:
    """The answers of `work` for what the ranges hold, in their order, a portion of PORTION_BYTES at a time.

    A range of compressed batches may hold a thousand times its size. With several workers, the first portion of each
    range is theirs; it is nearly always the only one.
    """
    if workers == 1:
        for part in parts:
            yield from map(partial(work, part), _portions(part.read()))
        return
    for part, answer, items in in_order(partial(_first_portion, work), parts, workers):
        yield answer
        if items is not None:
            yield from map(partial(work, part), _portions(islice(part.read(), items, None)))


def _first_portion(
    work: Callable[[Range, list[RangeItem]], Answer], part: Range
) -> tuple[Range, Answer, int | None]:
    """The range, the answer for its first portion, and how many items that was of, if there are more."""
    portions = _portions(part.read())
    first = next(portions)
    is_all = next(portions, None) is None
    return part, work(part, first), None if is_all else len(first)


def _portions(read: Iterable[RangeItem]) -> Iterator[list[RangeItem]]:
    """At least one, even if it is empty: a partition has an end even if its files are empty."""
    portion: list[RangeItem] = []
    weight = portions = 0
    for found in read:
        portion.append(found)
        weight += _weight_bytes(found)
        if weight >= PORTION_BYTES:
            yield portion
            portion, weight = [], 0
            portions += 1
    if portion or not portions:
        yield portion


def _weight_bytes(found: RangeItem) -> int:
    if isinstance(found, BadBytes):
        return len(found.raw)
    if isinstance(found, TailNote):
        return 0
    contents = len(found.keys.data) + len(found.values.data)
    return _RECORD_BYTES * len(found.log_offsets) + contents


def ranges_of(
    folder: LogFolder, log_partitions: Iterable[int], at_once: int = 1
) -> Iterator[Range]:
    """The log of these partitions, cut at batch boundaries, in order of partition and offset.

    `at_once`: how many times as large ranges are as they need to be. Of a large log they are read by the compiled walk,
    which is compiled first where it has to be.
    """
    compiled = should_use_compiled_walk(folder.size_bytes)
    target_bytes = RANGE_BYTES * at_once * (_COMPILED_AT_ONCE if compiled else 1)
    for log_partition in log_partitions:
        for segment in folder.segments[log_partition]:
            for start_byte, end_byte in pairwise(split_points(segment.path, target_bytes)):
                yield Range(segment, start_byte, end_byte, compiled)


def workers_for(size_bytes: int) -> int:
    """How many processes to read this much with: one per core, or only this one.

    One of the copies that share out the groups (`shares`) reads alone: it may start none, and there is one per core.
    """
    is_copy = multiprocessing.current_process().daemon
    return 1 if is_copy or size_bytes < PARALLEL_FROM_BYTES else cores()


def cores() -> int:
    """Of the machine, as far as this process may use them."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_order(
    work: Callable[[Item], Answer], items: Iterable[Item], workers: int
) -> Iterator[Answer]:
    """The answers of `work` in the order of the items; only a few answers wait at any time.

    With several workers, `work` runs in other processes, so it and its answers must be picklable.
    """
    if workers == 1:
        yield from map(work, items)
        return
    pool = ProcessPoolExecutor(workers, initializer=_leave_interrupts_to_the_parent)
    waiting: deque[Future[Answer]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _leave_interrupts_to_the_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
