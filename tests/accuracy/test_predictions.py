"""What must hold of `what-if` on the paired captures; `make accuracy` shows all of it."""

from statistics import median

import pytest

from workshop.accuracy.predictions import (
    CONTROL,
    MEASURES,
    PREDICTED,
    SIMULATED,
    errors,
    names,
    signs,
    table,
    tally_of_pair,
    tally_of_simulated,
)
from workshop.accuracy.tally import Tally, merged

pytestmark = pytest.mark.swarm


@pytest.fixture(scope="module")
def tally() -> Tally:
    """All pairs, and a few simulated clusters."""
    pairs = [tally_of_pair(name) for name in names()]
    return merged([*pairs, *(tally_of_simulated(seed) for seed in range(500_000, 500_006))])


@pytest.mark.parametrize(
    ("what", "measure", "most"),
    [
        (CONTROL, "rebalances", 0.10),
        (CONTROL, "time without owner", 0.20),
        (SIMULATED, "rebalances", 0.11),
        (PREDICTED, "rebalances", 0.25),
        (PREDICTED, "time without owner", 0.35),
    ],
)
def test_the_median_error_is_bounded(tally: Tally, what: str, measure: str, most: float) -> None:
    """Against what clients and brokers saw."""
    found = errors(tally, what, measure)
    assert len(found) >= 10
    assert median(found) <= most


@pytest.mark.parametrize("measure", MEASURES)
def test_the_direction_of_a_notable_difference_is_right(tally: Tally, measure: str) -> None:
    """In at least 90 % of the pairs."""
    right, notable = signs(tally, measure)
    assert notable > 50
    assert right >= 0.9 * notable


def test_the_page_shows_every_measure(tally: Tally) -> None:
    """Of the control, of simulated groups and of predictions."""
    assert len(table(tally)) == 1 + 3 * len(MEASURES)
