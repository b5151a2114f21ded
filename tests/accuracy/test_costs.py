"""Bounds of what a rebalance cost hold what the clients of the simulator really read."""

from statistics import median

from workshop.accuracy.costs import costs_of

SEEDS = range(25, 45)
MINUTES = 5


def test_bounds_hold_the_truth_and_are_narrow() -> None:
    """Commits and samples every five seconds, long stops of ten seconds and more; all protocols, habits and faults."""
    found = costs_of(SEEDS, MINUTES)
    assert not found.outside
    assert found.compared > 100
    assert found.compared > 2 * found.left_out
    assert len(found.widths) > 20
    assert median(found.widths) < 0.3
