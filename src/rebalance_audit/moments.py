"""Moments: epoch milliseconds inside, microseconds in tables, `datetime` for people."""

from datetime import UTC, datetime, timedelta
from typing import Final

NO_TIMESTAMP_MS: Final = -1
"""Kafka's value for a record without a timestamp (`RecordBatch.NO_TIMESTAMP`)."""
MILLIS_MIN: Final = -62_135_596_800_000
MILLIS_MAX: Final = 253_402_300_799_999
"""Years 1 to 9999: what Spark, Python and SQL clients can all hold. A damaged record may say anything."""
LAST_MS: Final = 1 << 62
"""After any moment that a table or a query holds; `-LAST_MS` is before any."""
FIRST_MS: Final = -LAST_MS
MICROS_PER_MILLI: Final = 1000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def micros_of(moment_ms: int | None) -> int | None:
    """Microseconds of a moment; None for no time and for moments outside of the years 1 to 9999."""
    if (
        moment_ms is None
        or moment_ms == NO_TIMESTAMP_MS
        or not MILLIS_MIN <= moment_ms <= MILLIS_MAX
    ):
        return None
    return moment_ms * MICROS_PER_MILLI


def utc_datetime(moment_ms: int | None) -> datetime | None:
    """A moment in UTC; None where `micros_of` has none."""
    micros = micros_of(moment_ms)
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)
