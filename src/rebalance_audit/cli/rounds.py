"""Commands that run until they are asked to end: how they are asked, and when the next round begins."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def asked_to_end(*, goes_on: bool, by_ctrl_c: bool = False) -> Iterator[threading.Event]:
    """Set when the process gets SIGTERM, as from a scheduler; a command that `goes_on` then ends its current round.

    `by_ctrl_c`: the first SIGINT is such a request, too; the second one interrupts.
    """
    asked = threading.Event()
    if not goes_on:
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
