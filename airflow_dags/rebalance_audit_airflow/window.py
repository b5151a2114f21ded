"""The window of time that a run is about: from its params, otherwise from its data interval, otherwise none."""

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

log = logging.getLogger(__name__)


class Window(NamedTuple):
    """From one moment up to, not including, another; None for no limit. ISO 8601 in UTC."""

    begin: str | None = None
    end: str | None = None

    def flags(self) -> list[str]:
        """The window as arguments of the jobs."""
        return [
            *(["--from", self.begin] if self.begin else []),
            *(["--to", self.end] if self.end else []),
        ]

    def reaching_back(self, days: int) -> "Window":
        """A window of so many days with the same end; without an end, this one."""
        if self.end is None:
            return self
        return Window(_text(datetime.fromisoformat(self.end) - timedelta(days=days)), self.end)

    def as_extra(self) -> dict[str, str | None]:
        """The window as an asset event contains it."""
        return {"from": self.begin, "to": self.end}


EVENT_KEYS = ("lake", "cluster", "from", "to")
"""What an event must say of a window; the moments may be null."""


def window_of(context: Mapping[str, Any]) -> Window:
    """The window of a run. Runs without a logical date (manual ones, those that an asset triggers) have no interval."""
    params = context["params"]
    if params.get("from") or params.get("to"):
        return Window(_utc(params.get("from")), _utc(params.get("to")))
    begin, end = context.get("data_interval_start"), context.get("data_interval_end")
    if begin is None or end is None or begin == end:
        return Window()
    return Window(_text(begin), _text(end))


def windows_of_events(events: Iterable[Any]) -> list[dict[str, str | None]]:
    """One window per lake and cluster over all events that triggered a run: from the first begin to the last end.

    Events are not only `publish`'s: Airflow's API creates them as well. One of another shape is logged and skipped, so
    that it keeps no page from being written.
    """
    found: dict[tuple[str, str], list[Window]] = {}
    for event in events:
        try:
            lake, cluster, begin, end = (event.extra[name] for name in EVENT_KEYS)
            window = Window(_utc(begin), _utc(end))
        except (KeyError, TypeError, ValueError):
            log.warning("An event is not from a publish task and is skipped: %.500r", event.extra)
            continue
        found.setdefault((str(lake), str(cluster)), []).append(window)
    return [
        {"lake": lake, "cluster": cluster, **_around(windows).as_extra()}
        for (lake, cluster), windows in sorted(found.items())
    ]


def _around(windows: list[Window]) -> Window:
    """The window that includes all of them; one without a begin or an end has no limit on that side."""
    begins = [window.begin for window in windows if window.begin]
    ends = [window.end for window in windows if window.end]
    return Window(
        min(begins) if len(begins) == len(windows) else None,
        max(ends) if len(ends) == len(windows) else None,
    )


def _utc(text: str | None) -> str | None:
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    return _text(moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc))


def _text(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
