"""A thread that asks a live cluster now and then: it only reads, and never blocks a watch."""

import threading
import time
from collections.abc import Callable
from typing import Final, Generic, Self, TypeVar

from rebalance_audit.wire.segments.folder import SourceNotReadable

PAUSES_MAX: Final = 32
"""A cluster that does not answer is asked half as often each time, at least after so many intervals."""
FRESH: Final = 3
"""Intervals after which an answer counts no more: the next one is late."""

Answer = TypeVar("Answer")


class Poller(Generic[Answer]):
    """Keeps the newest answer; there is none while the cluster does not answer."""

    def __init__(self, ask: Callable[[], Answer], every_s: float) -> None:
        """`ask` raises SourceNotReadable."""
        self._ask = ask
        self._every_s = every_s
        self._ended = threading.Event()
        self._may_ask = threading.Event()
        self._tried = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._newest: tuple[float, Answer] | None = None
        self.problem = ""
        """Why there is no answer; empty while the cluster answers."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._may_ask.set()

    def start(self) -> None:
        """Ask from now on."""
        self._may_ask.set()

    def await_first(self, timeout_s: float) -> None:
        """Wait for the first answer, or until there is none."""
        self._tried.wait(timeout_s)

    @property
    def newest(self) -> tuple[float, Answer] | None:
        """When the cluster was asked (by the monotonic clock), and what it said; None if that is long ago."""
        newest = self._newest
        is_fresh = newest and time.monotonic() - newest[0] < FRESH * self._every_s
        return newest if is_fresh else None

    def _run(self) -> None:
        pauses = 1
        self._may_ask.wait()
        while not self._ended.is_set():
            asked_s = time.monotonic()
            try:
                answer = self._ask()
            except SourceNotReadable as error:
                self._newest, self.problem = None, str(error)
                pauses = min(2 * pauses, PAUSES_MAX)
            else:
                self._newest, self.problem, pauses = (asked_s, answer), "", 1
            self._tried.set()
            self._ended.wait(self._every_s * pauses)
