"""Times as programs write them: read by what they say, or not at all."""

from datetime import UTC, datetime

import pytest

from rebalance_audit.errors import BadRequest
from rebalance_audit.moment_text import moment_ms
from rebalance_audit.written_times import time_of

AT_MS = round(datetime(2026, 11, 21, 9, 10, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("written", "after_ms"),
    [
        # seconds, milliseconds, microseconds, nanoseconds
        (1_795_252_200, 0),
        (1_795_252_200.482, 482),
        (1_795_252_200_000, 0),
        (1_795_252_200_000_000, 0),
        ("1795252200000000000", 0),
        # RFC 3339
        ("2026-11-21T09:10:00Z", 0),
        ("2026-11-21T14:40:00.482130744+05:30", 482),
        ("2026-11-21T05:40:00-03:30", 0),
        # Go's Time.String, of machines that know the zone's name, have none, or read their monotonic clock
        ("2026-11-21 09:10:00.48213 +0000 UTC", 482),
        ("2026-11-21 10:10:00.48213 +0100 CET", 482),
        ("2026-11-21 10:10:00.48213 +0100 +0100", 482),
        ("2026-11-21 14:40:00 +0530 +0530", 0),
        ("2026-11-21 06:10:00 -0300 -03", 0),
        ("2026-11-21 09:10:00.48213 +0000 UTC m=+0.000012", 482),
        # Python, Java, JavaScript, HTTP, C
        ("2026-11-21 09:10:00.482000+00:00", 482),
        ("2026-11-21 10:10:00 +0100", 0),
        ("2026-11-21T10:10+01:00[Europe/Berlin]", 0),
        ("2026-11-21T09:10:00Z[UTC]", 0),
        ("Sat Nov 21 2026 10:10:00 GMT+0100 (Central European Standard Time)", 0),
        ("Sat, 21 Nov 2026 09:10:00 GMT", 0),
        ("Sat Nov 21 09:10:00 2026", 0),
        ("2026-11-21 09:10:00", 0),
        ("2026-11-21", -33_000_000),
    ],
)
def test_forms_of_one_time(written: str | float, after_ms: int) -> None:
    """09:10:00 UTC, and so many milliseconds."""
    assert time_of(written) == AT_MS + after_ms


@pytest.mark.parametrize(
    "written",
    [
        None,
        True,
        "",
        "soon",
        -1_795_252_200,
        7,
        95_617_584_000_000,  # the year 5000 in milliseconds
        float("nan"),
        float("inf"),
        "5000-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "2026-11-21 10:10:00 CET",  # a name alone
        "Sat Nov 21 10:10:00 IST 2026",
        "11/12/2026 09:10:00",  # November or December
        "2026-11-21T09:10:00+99:00",
        "9" * 200,
    ],
)
def test_what_is_no_time_or_several(written: object) -> None:
    """Nothing is guessed."""
    assert time_of(written) is None


@pytest.mark.parametrize("moment", ["1795252200", "1795252200000", 1_795_252_200, "-0s"])
def test_ten_digits_are_seconds(moment: str | int) -> None:
    """`--at`, `--from`, `--to`, `state_at` and the Python interface."""
    found = moment_ms(moment)
    assert found == AT_MS or moment == "-0s"


@pytest.mark.parametrize("moment", ["12345678901", 5, "-5", "99999999999999"])
def test_numbers_outside_of_what_can_be_are_refused(moment: str | int) -> None:
    """The message shows the forms."""
    with pytest.raises(BadRequest, match="is not a time"):
        moment_ms(moment)
