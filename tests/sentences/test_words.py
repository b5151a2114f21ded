import pytest

from rebalance_audit.sentences import words


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (None, "–"),
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1.0 s"),
        (59_949, "59.9 s"),
        (59_950, "1 min"),
        (200_000, "3 min 20 s"),
        (3_599_499, "59 min 59 s"),
        (3_599_500, "1 h"),
        (7_500_000, "2 h 5 min"),
        (86_399_999, "1 d"),
        (360_000_000, "4 d 4 h"),
        (-1500, "-1.5 s"),
    ],
)
def test_durations_have_two_units_at_most(milliseconds: int | None, text: str) -> None:
    """A duration is rounded to what a person compares, and never to 60 of a unit."""
    assert words.duration(milliseconds) == text


@pytest.mark.parametrize(
    ("byte_count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (13_449, "13.4 kB"),
        (404_800_000, "405 MB"),
        (999_600, "1.0 MB"),
        (5_000_000_000_000_000, "5000 TB"),
    ],
)
def test_sizes_are_in_powers_of_ten(byte_count: int, text: str) -> None:
    """Sizes use a disk label's units."""
    assert words.size(byte_count) == text


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    [
        (None, None),
        (1_795_253_069_233, "2026-11-21T09:24:29.233Z"),
        (0, "1970-01-01T00:00:00.000Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        ((1 << 63) - 1, "9223372036854775807"),
    ],
)
def test_iso_times_are_utc_with_milliseconds(timestamp_ms: int | None, text: str | None) -> None:
    """A number that no calendar holds (a corrupt record may have any) is printed as it is."""
    assert words.iso(timestamp_ms) == text


@pytest.mark.parametrize(
    ("to_ms", "text"),
    [
        (None, "since 1970-01-01 00:00:01.000"),
        (1_000, "1970-01-01 00:00:01.000"),
        (2_500, "1970-01-01 00:00:01.000 to 1970-01-01 00:00:02.500"),
    ],
)
def test_a_span_may_have_no_end_or_no_length(to_ms: int | None, text: str) -> None:
    """What has not ended says since when, and a single time is not shown twice."""
    assert words.span(1_000, to_ms) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 groups"), (1, "1 group"), (4_012_345, "4,012,345 groups")]
)
def test_counts_agree_with_their_noun(number: int, text: str) -> None:
    """One is singular; thousands are grouped."""
    assert words.counted(number, "group") == text
