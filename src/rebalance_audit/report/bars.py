"""What figures are made of; times are epoch milliseconds."""

from typing import NamedTuple


class Bar(NamedTuple):
    """A stretch of time in a lane."""

    lane: str
    from_ms: int
    to_ms: int
    colour: str
    name: str = ""
    """Written on it where there is room."""
    hatch: str = ""
    """Lines across, in matplotlib's notation."""
    height: float = 0.7
    """Share of the lane."""


class Mark(NamedTuple):
    """A moment in a lane."""

    lane: str
    at_ms: int
    colour: str


class Meaning(NamedTuple):
    """An entry of a legend."""

    text: str
    colour: str
    hatch: str = ""
    is_mark: bool = False
