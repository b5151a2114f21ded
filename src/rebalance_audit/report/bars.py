"""What figures are made of."""

from datetime import datetime
from typing import NamedTuple


class Bar(NamedTuple):
    """A stretch of time in a lane."""

    lane: str
    begin: datetime
    end: datetime
    colour: str
    name: str = ""
    """Written on it where there is room."""
