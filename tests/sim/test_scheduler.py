"""Virtual time and chance: order, cancellation, limits, streams."""

import pytest

from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.scheduler import QueueRanDryError, Scheduler, TooManyEventsError


def test_events_happen_by_deadline_then_in_the_order_they_were_scheduled() -> None:
    """Equal deadlines keep their order, past deadlines happen now, and the clock follows."""
    scheduler, seen = Scheduler(1_000), []
    for delay_ms, name in ((5, "late"), (1, "early"), (1, "early too"), (-9, "past")):
        scheduler.after(delay_ms, lambda name=name: seen.append((scheduler.now_ms, name)))  # type: ignore[misc]
    scheduler.run_until_ms(2_000)
    assert seen == [(1_000, "past"), (1_001, "early"), (1_001, "early too"), (1_005, "late")]
    assert scheduler.now_ms == 2_000


def test_a_cancelled_event_does_not_happen() -> None:
    """Cancelling twice, or after the event, is harmless."""
    scheduler, seen = Scheduler(0), []
    number = scheduler.after(1, lambda: seen.append("cancelled"))
    done = scheduler.after(1, lambda: seen.append("done"))
    scheduler.cancel(number)
    scheduler.run_until_ms(5)
    scheduler.cancel(number)
    scheduler.cancel(done)
    assert seen == ["done"]


def test_waiting_for_what_never_holds_ends_with_an_error() -> None:
    """An empty queue and an endless one raise different errors."""
    scheduler = Scheduler(0)
    with pytest.raises(QueueRanDryError):
        scheduler.run_until(lambda: False, 10)

    def again() -> None:
        scheduler.after(1, again)

    again()
    with pytest.raises(TooManyEventsError):
        scheduler.run_until(lambda: False, 10)


def test_a_stream_depends_on_seed_and_name_alone() -> None:
    """Draws in one stream leave the others as they are."""
    calm, busy = Chance(7), Chance(7)
    for _ in range(100):
        busy.stream("other").happens(0.5)
        busy.happens(0.5)
    assert calm.stream("x").uuid() == busy.stream("x").uuid()
    assert calm.stream("x").uuid() != Chance(8).stream("x").uuid()
