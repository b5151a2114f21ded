"""Contrast of the page's areas, by the formula of WCAG 2, and how they look to people who see fewer colours."""

from collections.abc import Sequence
from itertools import combinations

import pytest
from coloraide import Color

from rebalance_audit.audit.group.time_account import HeldUpWhy
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.report.colours import (
    CAUSE_KINDS,
    COSTS,
    DARK_PAPER,
    LIGHT_PAPER,
    MARKS,
    OWNERS,
    STATES,
    Shades,
)

DISTINCT = 8.0
"""CIEDE2000: several times the least difference that can be seen at all, since areas are small and lie apart."""

STEPS = {
    HeldUpWhy.NO_TARGET,
    HeldUpWhy.NO_ASSIGNMENT,
    HeldUpWhy.FIRST_MEMBERS,
    HeldUpWhy.UNKNOWN,
}
"""What no hold-up is named for: steps of every rebalance, and what no record shows."""


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """From 1, no contrast, to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_area_stands_out_from_the_paper() -> None:
    """3:1 on white and on black."""
    areas = [*MARKS.values(), *OWNERS, *(kind.shades for kind in (*CAUSE_KINDS, *COSTS.values()))]
    areas += [look.shades for look in STATES.values()]
    for shades in areas:
        assert contrast(shades.light, LIGHT_PAPER) >= 3, shades
        assert contrast(shades.dark, DARK_PAPER) >= 3, shades


def test_a_group_on_the_way_stands_out_from_one_that_is_stable() -> None:
    """They are neighbours, and the difference is what the picture is for."""
    stable = STATES["Stable"].shades
    for name, look in STATES.items():
        if not look.is_quiet:
            assert contrast(look.shades.light, stable.light) >= 3, name
            assert contrast(look.shades.dark, stable.dark) >= 3, name


def shades_in_one_place() -> dict[str, list[Shades]]:
    """Colours that must differ since they lie in one lane or in one bar."""
    return {
        "causes": [kind.shades for kind in CAUSE_KINDS],
        "what cost the time": [kind.shades for kind in COSTS.values()],
        "states": list(dict.fromkeys(look.shades for look in STATES.values())),
        "a member's lane": [MARKS[name] for name in ("owned", "on_the_way", "waited", "giving_up")],
    }


def nearest(shown: Sequence[str], eyes: str | None) -> float:
    """The distance of the two most similar colours for such eyes, by CIEDE2000."""
    seen = [Color(shade) if eyes is None else Color(shade).filter(eyes).clip() for shade in shown]
    return min(one.delta_e(other, method="2000") for one, other in combinations(seen, 2))


@pytest.mark.parametrize("eyes", [None, "protan", "deutan", "tritan"])
@pytest.mark.parametrize("place", shades_in_one_place())
def test_neighbouring_colours_differ_to_all_eyes(place: str, eyes: str | None) -> None:
    """Also to those who lack one of the three kinds of cones, on white and on black."""
    shades = shades_in_one_place()[place]
    assert nearest([each.light for each in shades], eyes) >= DISTINCT
    assert nearest([each.dark for each in shades], eyes) >= DISTINCT


def test_every_cause_has_one_colour() -> None:
    """Whatever else is on a page: a colour means the same in all. Owners have a palette of their own."""
    listed = [cause for causes in CAUSE_KINDS.values() for cause in causes]
    assert sorted(listed) == sorted(RebalanceCause)
    assert set(COSTS) == {*HeldUpWhy, None} - STEPS
    causes = {kind.shades for kind in (*CAUSE_KINDS, *COSTS.values())}
    assert not causes & set(OWNERS)
