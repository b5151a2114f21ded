"""All randomness of a simulation: one seed, and a separate stream for everything that draws.

A stream is found by its name, and its numbers depend on the seed and the name alone. A new draw in one place therefore
changes nothing elsewhere.
"""

import hashlib
import math
import random
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final, TypeVar

from rebalance_audit.wire.topic_names import topic_id_text

T = TypeVar("T")

_TAIL_STEPS: Final = 1024
_SPREAD: Final = NormalDist(0, 0.6)
_TAIL: Final = [
    math.exp(_SPREAD.inv_cdf((step + 0.5) / _TAIL_STEPS)) for step in range(_TAIL_STEPS)
]
"""Quantiles of a log-normal factor: a table, since every message draws one."""


class Chance:
    """One stream of random numbers."""

    def __init__(self, seed: int, name: str = "root") -> None:
        self.seed = seed
        self.name = name
        digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=16).digest()
        self._random = random.Random(int.from_bytes(digest))  # noqa: S311 - reproducible on purpose

    def stream(self, name: str) -> "Chance":
        """The substream of that name."""
        return Chance(self.seed, f"{self.name}/{name}")

    def happens(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random.random() < probability

    def between(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return self._random.randint(low, high)

    def uniform(self, low: float, high: float) -> float:
        """A float from `low` to `high`."""
        return self._random.uniform(low, high)

    def latency_ms(self, typical_ms: int) -> int:
        """A delay with a long tail: mostly near `typical_ms`, sometimes several times as long, never below 1."""
        return max(1, round(typical_ms * _TAIL[int(self._random.random() * _TAIL_STEPS)]))

    def waiting_ms(self, per_minute: float) -> int:
        """Milliseconds to the next of independent events that come at this mean rate."""
        return max(1, round(self._random.expovariate(per_minute / 60_000)))

    def choice(self, items: Sequence[T]) -> T:
        """One of the items."""
        return self._random.choice(items)

    def weighted(self, items: Sequence[T], weights: Sequence[float]) -> T:
        """One of the items, with probability in proportion to its weight."""
        return self._random.choices(items, weights)[0]

    def sample(self, items: Sequence[T], size: int) -> list[T]:
        """Distinct items in random order."""
        return self._random.sample(items, size)

    def uuid(self) -> bytes:
        """16 bytes that Kafka accepts as its own uuid: version 4, and no leading dash in its text."""
        while True:
            raw = bytearray(self._random.randbytes(16))
            raw[6] = raw[6] & 0x0F | 0x40
            raw[8] = raw[8] & 0x3F | 0x80
            if not topic_id_text(bytes(raw)).startswith("-"):
                return bytes(raw)

    def uuid_text(self) -> str:
        """A new uuid as Kafka prints one."""
        return topic_id_text(self.uuid())
