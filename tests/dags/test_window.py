"""Which part of the time a run is about."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from rebalance_audit_airflow.window import Window, window_of, windows_of_events

HOUR = {
    "data_interval_start": datetime(2026, 11, 21, 9, tzinfo=UTC),
    "data_interval_end": datetime(2026, 11, 21, 10, tzinfo=UTC),
}
NINE, TEN, ELEVEN = (f"2026-11-21T{hour}:00:00.000Z" for hour in ("09", "10", "11"))


@pytest.mark.parametrize(
    ("interval", "params", "window"),
    [
        (HOUR, {}, Window(NINE, TEN)),
        (HOUR, {"from": "2026-11-21T12:00:00+03:00"}, Window(NINE, None)),
        (
            HOUR,
            {"from": "2026-11-21", "to": "2026-11-21T10:00"},
            Window("2026-11-21T00:00:00.000Z", TEN),
        ),
        # Set off by hand or by an asset: no logical date, no interval.
        ({}, {}, Window()),
        ({"data_interval_start": None, "data_interval_end": None}, {"to": TEN}, Window(None, TEN)),
        # An interval without length, as a timetable without intervals has it, is none.
        (dict.fromkeys(HOUR, HOUR["data_interval_end"]), {}, Window()),
    ],
)
def test_params_come_before_the_interval(
    interval: dict[str, Any], params: dict[str, str], window: Window
) -> None:
    """Either end may be given; moments without a zone are UTC."""
    assert window_of({"params": params, **interval}) == window


def test_no_limit_is_no_flag() -> None:
    """A job without --from and --to is about everything."""
    assert Window().flags() == []
    assert Window(NINE, None).flags() == ["--from", NINE]
    assert Window(NINE, TEN).flags() == ["--from", NINE, "--to", TEN]


def test_the_page_reaches_back_from_the_end() -> None:
    """Some days up to where the audit has come; everything where it has no end."""
    assert Window(NINE, TEN).reaching_back(7) == Window("2026-11-14T10:00:00.000Z", TEN)
    assert Window(NINE, None).reaching_back(7) == Window(NINE, None)


def event(lake: str, cluster: str, begin: str | None, end: str | None) -> SimpleNamespace:
    """What Airflow hands out of an event."""
    return SimpleNamespace(extra={"lake": lake, "cluster": cluster, "from": begin, "to": end})


def test_events_that_piled_up_make_one_window_per_lake_and_cluster() -> None:
    """From the first begin to the last end; an event about everything makes it everything."""
    events = [
        event("a", "blue", TEN, ELEVEN),
        event("a", "blue", NINE, TEN),
        event("a", "green", NINE, TEN),
        event("b", "blue", NINE, TEN),
        event("b", "blue", None, None),
    ]
    assert windows_of_events(events) == [
        {"lake": "a", "cluster": "blue", "from": NINE, "to": ELEVEN},
        {"lake": "a", "cluster": "green", "from": NINE, "to": TEN},
        {"lake": "b", "cluster": "blue", "from": None, "to": None},
    ]


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"lake": "a", "cluster": "blue", "from": NINE},
        {"lake": "a", "cluster": "blue", "from": "{{ 7 * 7 }}", "to": None},
        {"lake": "a", "cluster": "blue", "from": 7, "to": None},
    ],
)
def test_an_event_of_another_shape_is_skipped(extra: dict[str, Any]) -> None:
    """Events can be created through Airflow's API: one that says nothing keeps no other page from being written."""
    events = [SimpleNamespace(extra=extra), event("a", "blue", NINE, TEN)]
    assert windows_of_events(events) == [{"lake": "a", "cluster": "blue", "from": NINE, "to": TEN}]
