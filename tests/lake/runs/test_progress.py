"""What runs know of a log from the counts of its pieces."""

from rebalance_audit.lake.records.record_counts import PartitionCounts, RecordCounts
from rebalance_audit.lake.runs.progress import Progress


def piece(first_offset: int, next_offset: int, records: int) -> RecordCounts:
    """A piece of partition 7."""
    return RecordCounts(
        {7: PartitionCounts(records, records, 0, 0, first_offset, next_offset, None, None)}
    )


def test_a_partition_is_whole_while_it_has_a_record_at_each_offset() -> None:
    """A hole in a later piece changes what is known of all its groups, and so does what fills it."""
    begun = Progress(0).after(piece(0, 10, 10))
    longer = begun.after(piece(10, 20, 10))
    torn = longer.after(piece(21, 30, 9))
    mended = torn.after(piece(20, 21, 1))
    assert [bool(each.whole) for each in (begun, longer, torn, mended)] == [True, True, False, True]
    assert not longer.turned_since(begun)
    assert torn.turned_since(longer) == {7}
    assert mended.turned_since(torn) == {7}
    assert not begun.turned_since(Progress(0)), "nothing was judged yet"


def test_a_log_that_begins_later_is_not_whole() -> None:
    """What came before may have been anything."""
    assert not Progress(0).after(piece(5, 10, 5)).whole
