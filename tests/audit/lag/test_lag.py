"""The lag of a committed offset between samples of the end offset, in records and in time."""

import pytest

from rebalance_audit.audit.lag.end_offsets import EndOffset, PartitionSamples, lag_at

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
        # retention has deleted what was not committed: from the log start offset on records wait
        (120, 2 * MINUTE_MS, (30, 30), (MINUTE_MS, 2 * MINUTE_MS), 10),
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
    lag = lag_at(SAMPLES, committed, at_ms, at_ms)
    assert lag.records is not None
    assert (lag.records.least, lag.records.most) == records
    assert (lag.least_ms, lag.most_ms) == waiting_ms
    assert lag.lost == lost


def test_a_topic_that_was_created_anew_counts_from_then() -> None:
    """End offsets that fall: what was sampled before says nothing about the new records."""
    samples = PartitionSamples(
        [EndOffset(0, 0, 900), EndOffset(MINUTE_MS, 0, 5), EndOffset(2 * MINUTE_MS, 0, 30)]
    )
    lag = lag_at(samples, 10, MINUTE_MS, 2 * MINUTE_MS)
    assert lag.records is not None
    assert (lag.records.exact, lag.least_ms, lag.most_ms) == (20, 0, MINUTE_MS)
    between = lag_at(samples, 10, MINUTE_MS // 2, MINUTE_MS // 2)
    assert between.records is not None
    assert between.records.most is None


@pytest.mark.parametrize(
    ("samples", "committed", "made_ms", "records", "beyond"),
    [
        # everything expired: nothing waits
        ([EndOffset(0, 0, 500), EndOffset(MINUTE_MS, 500, 500)], 111, 0, (0, 0), 0),
        # MirrorMaker committed another cluster's offset, or the topic was created anew
        ([EndOffset(0, 0, 100), EndOffset(MINUTE_MS, 0, 140)], 5011, 0, None, 4871),
        # the answer of the broker may be older than its time
        ([EndOffset(0, 0, 100), EndOffset(MINUTE_MS, 0, 140)], 150, 59_000, (0, 0), 0),
        # a marker at the end is no record, wherever the consumer stands
        ([EndOffset(MINUTE_MS, 0, 141, markers=1)], 140, 0, (0, 0), 0),
        ([EndOffset(MINUTE_MS, 0, 141, markers=1)], 141, 0, (0, 0), 0),
        ([EndOffset(MINUTE_MS, 0, 141, markers=1)], 130, 0, (10, 10), 0),
    ],
)
def test_lag_counts_records_that_wait(
    samples: list[EndOffset],
    committed: int,
    made_ms: int,
    records: tuple[int, int] | None,
    beyond: int,
) -> None:
    """Deleted ones, markers, and offsets that no record has reached are none."""
    lag = lag_at(PartitionSamples(samples), committed, made_ms, MINUTE_MS)
    assert lag.beyond == beyond
    assert (None if lag.records is None else (lag.records.least, lag.records.most)) == records


@pytest.mark.parametrize(("markers", "unsure"), [(None, True), (0, False)])
def test_a_lag_of_one_may_be_a_marker(markers: int | None, unsure: bool) -> None:
    """End offsets alone do not show it; the header of the last batch does."""
    samples = PartitionSamples([EndOffset(MINUTE_MS, 0, 141, markers=markers)])
    assert lag_at(samples, 140, 0, MINUTE_MS).may_be_marker == unsure
