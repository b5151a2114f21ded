"""Colours of the page's charts, distinct on white and on black, and for colour-blind people."""

from collections.abc import Sequence
from typing import Final, NamedTuple


class StateLook(NamedTuple):
    """How a state of a group is drawn."""

    colour: str
    is_quiet: bool
    """Drawn below the others: normal states must not hide the rest."""


REBALANCING: Final = "rebalancing"
"""A classic group between two generations: no record tells which state it is in."""

STATES: Final = {
    "Stable": StateLook("#7fae8e", True),
    "Empty": StateLook("#a9b3c0", True),
    "Dead": StateLook("#6b7480", True),
    "NotReady": StateLook("#a77bb8", False),
    "PreparingRebalance": StateLook("#d9822b", False),
    "CompletingRebalance": StateLook("#e0b03a", False),
    "Assigning": StateLook("#e0b03a", False),
    "Reconciling": StateLook("#d9822b", False),
    REBALANCING: StateLook("#d9822b", False),
}

_CAUSES: Final = ("#3b78c2", "#d9822b", "#4b9c6b", "#b5519c", "#c9a227", "#6f62b5", "#2f9fb0")
OTHER: Final = "#8c96a3"
"""The causes that are too rare for a colour of their own."""


def colours_of(causes: Sequence[str]) -> dict[str, str]:
    """Colours for the first causes of a list, which is in order of their weight; the rest have none."""
    return dict(zip(causes, _CAUSES, strict=False))
