"""How far a committed offset lags behind the end of its partition at one moment, in records and in time."""

from typing import Final, NamedTuple

from rebalance_audit.audit.lag.end_offsets import PartitionSamples
from rebalance_audit.bounds import UNBOUNDED, Bounds

BOUNDED_BY_NEXT_MS: Final = 600_000
"""A sample is an upper bound only for so long before it: what a later one shows may all have arrived since."""


CLOCKS_MS: Final = 5_000
"""A sample that shows less than what was committed so shortly before may be older than its time says."""


class Lag(NamedTuple):
    """Lag of one partition of a group; null values of the columns are unknown."""

    records: Bounds | None
    """Offsets that wait, from the committed one or the log start offset to the end; exact at a sample.

    None where the committed offset lies beyond the end: nothing says from where the group will read.
    """
    least_ms: int | None
    most_ms: int | None
    """For how long the first record that waits has been there; None without an upper bound, and beyond the end."""
    start_offset: int | None
    """Log start offset, at least; None if no sample has it."""
    lost: int | None
    """Records that retention deleted before they were committed, at least; None if that is unknown."""
    beyond: int = 0
    """By how many offsets the committed one lies beyond the end, at least."""
    may_be_marker: bool = False
    """Whether the one offset that waits may be the marker of a transaction, which is no record."""


def lag_at(samples: PartitionSamples, committed: int, made_ms: int, at_ms: int) -> Lag:
    """The lag at `at_ms` of an offset that was committed at `made_ms` (both epoch ms).

    Lower bounds follow from samples up to then; upper bounds from the next one as well, if it is near.
    """
    end, next_ms = samples.end_at(at_ms), samples.next_at(at_ms)
    if next_ms is None or next_ms - at_ms > BOUNDED_BY_NEXT_MS:
        end = Bounds(end.least, None, end.least) if end != UNBOUNDED else UNBOUNDED
    start_offset = samples.start_at(at_ms)
    lost = None if start_offset is None else max(0, start_offset - committed)
    beyond = samples.beyond(committed, made_ms + CLOCKS_MS, at_ms)
    if beyond:
        return Lag(None, None, None, start_offset, lost, beyond)
    first = max(committed, start_offset or 0)
    records = Bounds.between(
        end.least - max(first, samples.start_by(at_ms) or 0),
        None if end.most is None else end.most - first,
        end.likely - first,
    )
    if records.most == 0:
        return Lag(records, 0, 0, start_offset, lost)
    arrived = samples.arrival_of(first, at_ms)
    least_ms, most_ms = 0, None
    last = samples.at(at_ms)
    if arrived is not None:
        not_before_ms, not_after_ms = arrived
        least_ms = at_ms - not_after_ms if records.least else 0
        most_ms = None if not_before_ms is None else at_ms - not_before_ms
    elif last is not None and last.end_offset <= first:
        most_ms = at_ms - last.sampled_at_ms
    may_be_marker = records.most == 1 and last is not None and last.markers is None
    return Lag(records, least_ms, most_ms, start_offset, lost, may_be_marker=may_be_marker)
