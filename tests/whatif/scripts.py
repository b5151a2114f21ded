"""Scripts in a few lines: instances that start, end and come back at known seconds."""

from dataclasses import replace

from rebalance_audit.whatif.script import (
    AppInstance,
    Event,
    Habits,
    Logged,
    ProcessEnd,
    ProcessLife,
    Script,
    Settings,
    Spread,
    exactly,
)

T0 = 1_700_000_000_000
"""Begin of the window, epoch milliseconds; before it the instances have started."""
CLASSIC = Settings("classic", ("range",), False, 10_000, 60_000, 1_000)
STATIC = replace(CLASSIC, is_static=True)
CONSUMER = replace(CLASSIC, protocol="consumer", assignors=("uniform",))


def at(seconds: float) -> Spread:
    """So many seconds after the begin of the window."""
    return exactly(T0 + round(seconds * 1_000))


def instance(name: str, *ends: tuple[float, ProcessEnd, float | None]) -> AppInstance:
    """An instance that runs from before the window on; `ends`: (end, how, next start or None), in seconds."""
    start, lives = at(-3_600), []
    for end, how, again in ends:
        lives.append(ProcessLife(start, at(end), {how: 1.0}))
        if again is None:
            return AppInstance(name, ("orders",), lives)
        start = at(again)
    return AppInstance(name, ("orders",), [*lives, ProcessLife(start)])


def script(
    *instances: AppInstance,
    seconds: float = 600,
    events: tuple[Event, ...] = (),
    settings: Settings = CLASSIC,
    logged: Logged | None = None,
) -> Script:
    """A script with one topic of 12 partitions."""
    habits = Habits(2, Spread(5, 20, 10), Spread(5, 20, 10), Spread(4_000, 6_000, 5_000), 5_000)
    return Script(
        "checkout",
        T0,
        T0 + round(seconds * 1_000),
        settings,
        habits,
        {"orders": 12},
        list(instances),
        list(events),
        logged or Logged(0, 0, None, None),
    )
