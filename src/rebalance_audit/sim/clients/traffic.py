"""The traffic to consume, and so the offsets to commit."""

from enum import Enum
from typing import Final

_PER_SECOND: Final = 10
_SLOW_MS: Final = 20_000
"""Time between two messages of a partition with little traffic."""
_ROUND_MS: Final = 60_000
_BURST_MS: Final = 15_000


class Traffic(Enum):
    """How messages come to the partitions of a group."""

    STEADY = "steady"
    """To all partitions, ten a second."""
    UNEVEN = "uneven"
    """To every third partition as many, to the next one hardly any, to the third none."""
    BURSTS = "bursts"
    """For a quarter of every minute; each partition at another time."""
    IDLE = "idle"
    """None."""

    def position(self, number: int, now_ms: int) -> int:
        """The next offset to consume of a partition, whose consumer keeps up."""
        if self is Traffic.IDLE or (self is Traffic.UNEVEN and number % 3 == 2):
            return number
        if self is Traffic.UNEVEN and number % 3 == 1:
            return now_ms // _SLOW_MS + number
        if self is Traffic.BURSTS:
            rounds, in_round_ms = divmod(now_ms + number * _BURST_MS, _ROUND_MS)
            now_ms = rounds * _BURST_MS + min(in_round_ms, _BURST_MS)
        return now_ms // 1_000 * _PER_SECOND + number
