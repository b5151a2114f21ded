"""Contrast of the page's areas, by the formula of WCAG 2."""

from rebalance_audit.report.html import colours
from rebalance_audit.report.html.colours import DARK_PAPER, LIGHT_PAPER, MARKS, OTHER, STATES

CAUSES = [f"cause {number}" for number in range(7)]


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
    areas = [*colours.colours_of(CAUSES).values(), OTHER, *MARKS.values()]
    areas += [look.shades for look in STATES.values()]
    assert len(areas) == 7 + 1 + len(MARKS) + len(STATES)
    for shades in areas:
        assert contrast(shades.light, LIGHT_PAPER) >= 3, shades
        assert contrast(shades.dark, DARK_PAPER) >= 3, shades


def test_a_group_on_the_way_stands_out_from_one_that_is_stable() -> None:
    """They lie side by side, and the difference is what the picture is for."""
    stable = STATES["Stable"].shades
    for name, look in STATES.items():
        if not look.is_quiet:
            assert contrast(look.shades.light, stable.light) >= 3, name
            assert contrast(look.shades.dark, stable.dark) >= 3, name
