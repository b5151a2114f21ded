"""The coordinator's timers, as the times of its records show them.

A timer can seem to fire early. It starts inside the request's handler, and the request's records get their time after
the handler (`CoordinatorRuntime.append`); it also runs by another clock. So the records of its start and of its end can
be closer to each other than the timeout.
"""

from typing import Final

_LATE_MS: Final = 100
"""How late the coordinator's timers usually fire."""
_EARLY_MS: Final = 100
"""How early a timer may seem to fire and still be the likely reason."""
_NEVER_AS_EARLY_MS: Final = 500
"""How early a timer never seems to fire, even on a busy broker."""


def can_have_fired(waited_ms: int, timer_ms: int) -> bool:
    """Whether a timer of `timer_ms` can have fired where the records are `waited_ms` apart."""
    return waited_ms > timer_ms - _NEVER_AS_EARLY_MS


def fired_then(waited_ms: int, timer_ms: int, late_ms: int = _LATE_MS) -> bool:
    """Whether a timer of `timer_ms` fires where the records are `waited_ms` apart, if it is at most `late_ms` late."""
    return -_EARLY_MS <= waited_ms - timer_ms <= late_ms
