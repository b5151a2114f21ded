"""Time in commands: the clock, moments that a log does not reach, rounds until a command is asked to end."""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click

from rebalance_audit.sentences import words

HELP: Final = "ISO 8601 (UTC without a zone), Unix time (seconds or milliseconds), or relative to now: -15m, -2h, -1d."


def clock_ms() -> int:
    """The time (epoch ms)."""
    return int(time.time() * 1000)


def now_for_people() -> int | None:
    """The time (epoch ms) for a person at a terminal, who sees how long ago things were; None elsewhere.

    What a file or a program gets does not depend on when it was made.
    """
    return clock_ms() if sys.stdout.isatty() else None


def require_within_log(option: str, asked_ms: int | None, end_ms: int | None) -> None:
    """Raises click.BadParameter for a moment after the end of the log; both epoch ms, None: not asked, not known."""
    if asked_ms is not None and end_ms is not None and asked_ms > end_ms:
        raise click.BadParameter(
            f"the log ends at {words.utc(end_ms)}, before {words.utc(asked_ms)}: what happened then is not in it.",
            param_hint=option,
        )


@contextmanager
def asked_to_end(*, continues: bool, by_ctrl_c: bool = False) -> Iterator[threading.Event]:
    """Set when the process gets SIGTERM, as from a scheduler; a command that `continues` then ends its current round.

    `by_ctrl_c`: the first SIGINT is such a request, too; the second one interrupts.
    """
    asked = threading.Event()
    if not continues:
        yield asked
        return

    def ask(number: int, _: object) -> None:
        asked.set()
        if number == signal.SIGINT:
            signal.signal(number, signal.default_int_handler)

    wanted = (signal.SIGTERM, signal.SIGINT) if by_ctrl_c else (signal.SIGTERM,)
    before = {number: signal.signal(number, ask) for number in wanted}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def rounds(every_s: float, stop_after_s: float | None, asked: threading.Event) -> Iterator[None]:
    """One item a round: they begin `every_s` apart, or one after the other where they take longer.

    None begins later than `stop_after_s` after the first, or once `asked` is set.
    """
    began = time.monotonic()
    while True:
        due = time.monotonic() + every_s
        yield
        if stop_after_s is not None and max(due, time.monotonic()) - began > stop_after_s:
            return
        if asked.wait(max(0.0, due - time.monotonic())):
            return
