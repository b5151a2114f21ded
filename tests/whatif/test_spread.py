"""Uncertain numbers: draws stay within their bounds."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.sim.chance import Chance
from rebalance_audit.whatif.script import Spread, exactly, spread_of

NUMBERS = st.integers(0, 1 << 50)


@given(st.lists(NUMBERS, min_size=3, max_size=3).map(sorted), st.integers(), st.booleans())
def test_a_draw_is_within_its_bounds(numbers: list[int], seed: int, has_likely: bool) -> None:
    """With and without a most likely value."""
    low, likely, high = numbers
    spread = Spread(low, high, likely if has_likely else None)
    assert low <= spread.draw(Chance(seed)) <= high
    assert low <= spread.middle <= high


@given(st.lists(NUMBERS, min_size=4, max_size=4))
def test_what_is_cut_lies_within_what_cuts_it(numbers: list[int]) -> None:
    """Also where the two do not meet."""
    low, high = sorted(numbers[:2])
    cut_low, cut_high = sorted(numbers[2:])
    found = Spread(low, high, low).within(cut_low, cut_high)
    assert cut_low <= found.low <= found.middle <= found.high <= cut_high


def test_draws_gather_around_the_likely_value() -> None:
    """Half of the draws lie in the third that holds it."""
    spread, chance = Spread(0, 300, 150), Chance(1)
    near = sum(100 <= spread.draw(chance) <= 200 for _ in range(1_000))
    assert near > 500


def test_measured_values_become_bounds() -> None:
    """Quartiles around the median; nothing of nothing."""
    assert spread_of(list(range(101))) == Spread(25, 75, 50)
    assert spread_of(list(range(101)), 0.1) == Spread(10, 90, 50)
    assert spread_of([7]) == Spread(7, 7, 7)
    assert spread_of([]) is None
    assert exactly(5).draw(Chance(1)) == 5
