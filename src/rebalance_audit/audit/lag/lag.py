"""How far a committed offset lags behind the end of its partition at one moment, in records and in time."""

from typing import Final, NamedTuple

from rebalance_audit.audit.lag.end_offsets import PartitionSamples
from rebalance_audit.bounds import UNBOUNDED, Bounds

BOUNDED_BY_NEXT_MS: Final = 600_000
"""A sample is an upper bound only for so long before it: what a later one shows may all have arrived since."""


class Lag(NamedTuple):
    """Lag of one partition of a group; null values of the columns are unknown."""

    records: Bounds
    """Offsets from the committed one to the end; exact at a sample."""
    least_ms: int
    most_ms: int | None
    """For how long the first record that is not committed has been waiting; None without an upper bound."""
    start_offset: int | None
    """Log start offset, at least; None if no sample has it."""
    lost: int | None
    """Records that retention deleted before they were committed, at least; None if that is unknown."""


def lag_at(samples: PartitionSamples, committed: int, at_ms: int) -> Lag:
    """The lag of a committed offset at a time (epoch ms).

    Lower bounds follow from samples up to then; upper bounds from the next one as well, if it is near.
    """
    end, next_ms = samples.end_at(at_ms), samples.next_at(at_ms)
    if next_ms is None or next_ms - at_ms > BOUNDED_BY_NEXT_MS:
        end = Bounds(end.least, None, end.least) if end != UNBOUNDED else UNBOUNDED
    records = Bounds.between(
        end.least - committed,
        None if end.most is None else end.most - committed,
        end.estimate - committed,
    )
    start_offset = samples.start_at(at_ms)
    lost = None if start_offset is None else max(0, start_offset - committed)
    if records.most == 0:
        return Lag(records, 0, 0, start_offset, lost)
    arrived = samples.arrival_of(committed, at_ms)
    least_ms, most_ms = 0, None
    if arrived is not None:
        not_before_ms, not_after_ms = arrived
        least_ms = at_ms - not_after_ms
        most_ms = None if not_before_ms is None else at_ms - not_before_ms
    else:
        last = samples.at(at_ms)
        if last is not None and last.end_offset <= committed:
            most_ms = at_ms - last.sampled_at_ms
    return Lag(records, least_ms, most_ms, start_offset, lost)
