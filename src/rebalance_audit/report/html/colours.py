"""Colours of the page's charts, on white and on black: distinct for colour-blind people too.

Areas have a contrast of at least 3:1 to the paper, and a group that is stable one of 3:1 to a group that is not.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rebalance_audit.replay.describe import UNKNOWN


class Shades(NamedTuple):
    """A colour for each kind of paper."""

    light: str
    dark: str


LIGHT_PAPER: Final = "#ffffff"
DARK_PAPER: Final = "#14181f"

_QUIET: Final = Shades("#66a085", "#3f7359")
_ABSENT: Final = Shades("#8a93a0", "#6b7480")
_MOVING: Final = Shades("#7a2e00", "#ffb45c")
_ASSIGNING: Final = Shades("#5c2a72", "#fff3c4")


class StateLook(NamedTuple):
    """How a state of a group is drawn."""

    shades: Shades
    is_quiet: bool
    """Drawn low and below the others: normal states must not hide the rest."""


REBALANCING: Final = "rebalancing"
"""A classic group between two generations: no record tells which state it is in."""

STATES: Final = {
    "Stable": StateLook(_QUIET, True),
    "Empty": StateLook(_ABSENT, True),
    "Dead": StateLook(_ABSENT, True),
    UNKNOWN: StateLook(_ABSENT, True),
    "NotReady": StateLook(_ASSIGNING, False),
    "PreparingRebalance": StateLook(_MOVING, False),
    "CompletingRebalance": StateLook(_ASSIGNING, False),
    "Assigning": StateLook(_ASSIGNING, False),
    "Reconciling": StateLook(_MOVING, False),
    REBALANCING: StateLook(_MOVING, False),
}

MARKS: Final = {
    "owned": Shades("#5f8fc4", "#3f6ea3"),
    "on_the_way": Shades("#7a2e00", "#ffb45c"),
    "waited": Shades("#4b2a99", "#b9a6ff"),
    "giving_up": Shades("#e6007a", "#ff66cc"),
    "unowned": Shades("#b3261e", "#ff8a80"),
    "not_stable": Shades("#a8500a", "#f0a04b"),
}
"""Marks of a member's lane, and those of two other charts."""

_CAUSES: Final = (
    Shades("#1376ff", "#245fff"),
    Shades("#801600", "#8e6901"),
    Shades("#027b4f", "#20a86b"),
    Shades("#76486d", "#f497ba"),
    Shades("#a38c00", "#d1c443"),
    Shades("#4409b0", "#b099ff"),
    Shades("#222222", "#f3f2f2"),
)
"""They differ in lightness as much as in hue, so that nobody's eyes take two of them for one."""
OTHER: Final = Shades("#8a939f", "#6d7783")
"""The causes that are too rare for a colour of their own."""


def colours_of(causes: Sequence[str]) -> dict[str, Shades]:
    """Colours for the first causes of a list, which is in order of their weight; the rest have none."""
    return dict(zip(causes, _CAUSES, strict=False))
