"""Commands that run until they are asked to end: how they are asked, and when the next round begins."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def asked_to_end(*, goes_on: bool) -> Iterator[threading.Event]:
    """Set when the process gets SIGTERM, as from a scheduler; a command that `goes_on` then ends its current round."""
    asked = threading.Event()
    if not goes_on:
        yield asked
        return
    before = signal.signal(signal.SIGTERM, lambda *_: asked.set())
    try:
        yield asked
    finally:
        signal.signal(signal.SIGTERM, before)


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
