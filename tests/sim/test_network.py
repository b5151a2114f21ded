"""The network: delays, losses, duplicates, filters, and how it heals."""

from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.network import Filter, Network, NetworkOptions
from rebalance_audit.sim.scheduler import Scheduler


def arrivals(options: NetworkOptions, filters: dict[str, Filter] | None = None) -> list[int]:
    """Times at which 1 000 messages from a to b arrive."""
    scheduler = Scheduler(0)
    network = Network(scheduler, Chance(1), options, dict(filters or {}))
    seen: list[int] = []
    for _ in range(1_000):
        network.carry("a", "b", lambda: seen.append(scheduler.now_ms))
    scheduler.run_until_ms(100_000)
    return seen


def test_a_sound_network_brings_everything_once_and_soon() -> None:
    """Latency has a long tail, but no message is lost or duplicated."""
    seen = arrivals(NetworkOptions(latency_ms=10))
    assert len(seen) == 1_000
    assert min(seen) >= 1
    assert max(seen) < 200


def test_messages_are_lost_doubled_and_delayed_as_often_as_it_says() -> None:
    """Each probability has its effect."""
    assert 850 < len(arrivals(NetworkOptions(loss_probability=0.1))) < 950
    assert 1_050 < len(arrivals(NetworkOptions(duplication_probability=0.1))) < 1_150
    late = arrivals(NetworkOptions(delay_probability=0.1, delay_ms_max=5_000))
    assert 50 < sum(at_ms > 200 for at_ms in late) < 150


def test_filters_stop_one_direction_or_both() -> None:
    """What passes depends on sender and receiver."""
    options = NetworkOptions()
    for filters, arrived in (
        ({"a": Filter.DROP_OUTBOUND}, 0),
        ({"a": Filter.DROP_INBOUND}, 1_000),
        ({"b": Filter.DROP_INBOUND}, 0),
        ({"b": Filter.DROP_OUTBOUND}, 1_000),
        ({"b": Filter.DROP_ALL}, 0),
        ({"c": Filter.DROP_ALL}, 1_000),
    ):
        assert len(arrivals(options, filters)) == arrived, filters
