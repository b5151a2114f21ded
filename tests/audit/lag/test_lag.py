"""The lag of a committed offset between samples of the end offset, in records and in time."""

import pytest

from rebalance_audit.audit.lag.end_offsets import EndOffset, PartitionSamples
from rebalance_audit.audit.lag.lag import lag_at

MINUTE_MS = 60_000
SAMPLES = PartitionSamples(
    [
        EndOffset(0, 0, 100),
        EndOffset(MINUTE_MS, 0, 160),
        EndOffset(2 * MINUTE_MS, 130, 160),
        EndOffset(60 * MINUTE_MS, 130, 500),
    ]
)


@pytest.mark.parametrize(
    ("committed", "at_ms", "records", "waiting_ms", "lost"),
    [
        # at a sample: exact; offset 120 arrived between the first two samples
        (120, MINUTE_MS, (40, 40), (0, MINUTE_MS), 0),
        (160, MINUTE_MS, (0, 0), (0, 0), 0),
        # between two samples: bounds
        (90, MINUTE_MS // 2, (10, 70), (MINUTE_MS // 2, None), 0),
        (100, MINUTE_MS // 2, (0, 60), (0, MINUTE_MS // 2), 0),
        # retention has deleted what was not committed
        (120, 2 * MINUTE_MS, (40, 40), (MINUTE_MS, 2 * MINUTE_MS), 10),
        # the next sample is too far away to be a bound, or there is none
        (150, 3 * MINUTE_MS, (10, None), (2 * MINUTE_MS, 3 * MINUTE_MS), 0),
        (510, 61 * MINUTE_MS, (0, None), (0, MINUTE_MS), 0),
        # before the first sample
        (40, -MINUTE_MS, (0, 60), (0, None), None),
    ],
)
def test_bounds_follow_from_the_samples_around(
    committed: int,
    at_ms: int,
    records: tuple[int, int | None],
    waiting_ms: tuple[int, int | None],
    lost: int | None,
) -> None:
    """Lower bounds from the past, upper ones from the next sample as well."""
    lag = lag_at(SAMPLES, committed, at_ms)
    assert (lag.records.least, lag.records.most) == records
    assert (lag.least_ms, lag.most_ms) == waiting_ms
    assert lag.lost == lost


def test_a_topic_that_was_created_anew_counts_from_then() -> None:
    """End offsets that fall: what was sampled before says nothing about the new records."""
    samples = PartitionSamples(
        [EndOffset(0, 0, 900), EndOffset(MINUTE_MS, 0, 5), EndOffset(2 * MINUTE_MS, 0, 30)]
    )
    lag = lag_at(samples, 10, 2 * MINUTE_MS)
    assert (lag.records.exact, lag.least_ms, lag.most_ms) == (20, 0, MINUTE_MS)
    assert lag_at(samples, 10, MINUTE_MS // 2).records.most is None
