"""What both range assignors share: the order of members, and the cut of a topic into contiguous ranges."""

from collections.abc import Iterator

from rebalance_audit.replay.java_order import string_rank


def static_first(instance_id: str | None, member_id: str) -> tuple[bool, bytes]:
    """Sort key: static members by instance id, then dynamic ones by member id; a restart keeps the position."""
    if instance_id is not None:
        return False, string_rank(instance_id)
    return True, string_rank(member_id)


def ranges(partition_count: int, subscriber_count: int) -> Iterator[range]:
    """The range of each subscriber in turn, the longer ones first; stops after the last range that is not empty."""
    shortest, longer = divmod(partition_count, subscriber_count)
    start = 0
    while start < partition_count:
        end = start + shortest + (longer > 0)
        yield range(start, end)
        start = end
        longer -= 1
