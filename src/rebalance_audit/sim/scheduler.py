"""Virtual time: events in order of their deadline, then in the order in which they were scheduled."""

import heapq
from collections.abc import Callable
from itertools import count
from typing import TypeAlias

Action: TypeAlias = Callable[[], None]
_Event: TypeAlias = tuple[int, int, Action]
"""(deadline, number, action); the number is unique, so the action is never compared."""


class QueueRanDryError(Exception):
    """The condition that `run_until` waits for does not hold, and no event is left."""


class TooManyEventsError(Exception):
    """The limit of `run_until` was reached: the simulation does not come to rest."""


class Scheduler:
    """A heap of events and the clock that they move. The clock jumps from event to event and never runs back."""

    def __init__(self, start_ms: int) -> None:
        """`start_ms` is the start time, epoch milliseconds."""
        self.now_ms = start_ms
        self.executed = 0
        """How many events have happened."""
        self._heap: list[_Event] = []
        self._numbers = count()
        self._cancelled: set[int] = set()

    def at(self, deadline_ms: int, action: Action) -> int:
        """Let `action` happen at a time, at the earliest now; the number returned cancels it."""
        number = next(self._numbers)
        heapq.heappush(self._heap, (max(deadline_ms, self.now_ms), number, action))
        return number

    def after(self, delay_ms: int, action: Action) -> int:
        """Let `action` happen in `delay_ms` milliseconds."""
        return self.at(self.now_ms + delay_ms, action)

    def cancel(self, number: int) -> None:
        """Cancel an event; harmless when it has happened."""
        self._cancelled.add(number)

    def step(self) -> bool:
        """Let the next event happen; False when there is none."""
        while self._heap:
            deadline_ms, number, action = heapq.heappop(self._heap)
            if self._cancelled and number in self._cancelled:
                self._cancelled.discard(number)
                continue
            self.now_ms = deadline_ms
            self.executed += 1
            action()
            return True
        return False

    def run_until_ms(self, end_ms: int) -> None:
        """Let all events happen that are due by `end_ms`, then set the clock to it."""
        heap, cancelled, pop = self._heap, self._cancelled, heapq.heappop
        while heap and heap[0][0] <= end_ms:
            deadline_ms, number, action = pop(heap)
            if cancelled and number in cancelled:
                cancelled.discard(number)
                continue
            self.now_ms = deadline_ms
            self.executed += 1
            action()
        self.now_ms = max(self.now_ms, end_ms)

    def run_until(self, condition: Callable[[], bool], events_max: int) -> None:
        """Let events happen until `condition` holds.

        Raises QueueRanDryError or TooManyEventsError when the condition never holds.
        """
        ceiling = self.executed + events_max
        while not condition():
            if self.executed >= ceiling:
                raise TooManyEventsError(f"no rest after {events_max} events, at {self.now_ms} ms")
            if not self.step():
                raise QueueRanDryError(f"nothing left to happen at {self.now_ms} ms")
