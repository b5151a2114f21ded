"""Partitions of one topic cut into contiguous ranges, as both range assignors do."""

from collections.abc import Iterator


def ranges(partition_count: int, subscriber_count: int) -> Iterator[range]:
    """The range of each subscriber in turn, the longer ones first; stops after the last range that is not empty."""
    shortest, longer = divmod(partition_count, subscriber_count)
    start = 0
    while start < partition_count:
        end = start + shortest + (longer > 0)
        yield range(start, end)
        start = end
        longer -= 1
