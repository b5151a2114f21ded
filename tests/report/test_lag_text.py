"""Lag by group and owner, as `watch` shows it."""

from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets
from rebalance_audit.audit.ownership.commit_book import CommittedPosition
from rebalance_audit.report.lag_text import GroupLag, group_lags


def position(number: int, member: str, committed: int, rate: float | None) -> CommittedPosition:
    """A committed offset of the topic orders."""
    return CommittedPosition("orders", number, f"{member}-id", None, member, committed, 9_000, rate)


def lags(*positions: CommittedPosition) -> GroupLag:
    """Of one group, two of whose partitions were sampled, the second one after records were deleted."""
    samples = {
        ("orders", 0): [EndOffset(0, 0, 1_000), EndOffset(10_000, 0, 2_000)],
        ("orders", 1): [EndOffset(10_000, 500, 800)],
    }
    (found,) = group_lags([("checkout", each) for each in positions], EndOffsets(samples))
    return found


def test_owners_come_with_the_one_that_lags_most_first() -> None:
    """Records, how long the oldest has been waiting, the commit rate, and what retention deleted."""
    found = lags(position(1, "pod-1", 480, 2.5), position(0, "pod-0", 1_500, 10.0))
    assert found.sentence() == (
        "checkout lags 800 records, commits 12 records/s, 20 records lost to retention:"
        " pod-0 500, pod-1 300"
    )
    columns = found.columns()
    assert [(owner["client_id"], owner["lag_max_ms"]) for owner in columns["owners"]] == [
        ("pod-0", 10_000),
        ("pod-1", None),
    ]
    assert (columns["lag_records"], columns["partitions"]) == (800, 2)


def test_partitions_without_a_sample_only_count_their_commits() -> None:
    """No end offset, no lag."""
    found = lags(position(7, "pod-0", 10, 4.0)).columns()
    assert (found["partitions"], found["lag_records"]) == (0, 0)
    assert (found["committed_per_second"], found["sampled_at"]) == (4.0, None)


def test_offsets_beyond_the_end_have_no_lag() -> None:
    """Nothing says from where the owner will read; the number is that of kafka-consumer-groups, but for its sign."""
    found = lags(position(0, "pod-0", 5_011, None)._replace(at_ms=4_000))
    assert found.sentence() == (
        "checkout lags an unknown number of records, committed offsets lie 3,011 offsets beyond the end: pod-0 unknown"
    )
    columns = found.columns()
    assert (columns["lag_records"], columns["lag_max_ms"], columns["beyond_end"]) == (
        None,
        None,
        3_011,
    )


def test_one_offset_that_waits_may_be_a_marker() -> None:
    """End offsets alone do not show it."""
    found = lags(position(1, "pod-1", 799, None))
    assert "lags 1 record (the markers of transactions, perhaps" in found.sentence()
