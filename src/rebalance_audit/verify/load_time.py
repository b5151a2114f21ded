"""How long a coordinator takes to load a partition: an estimate from the numbers of its records."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from rebalance_audit.resources import read_text
from rebalance_audit.verify.coordinators import Coordinator
from rebalance_audit.verify.shape import PartitionShape

_FILE: Final = "schemas/loading/rates.json"
_OTHERS: Final = "others"
_MS: Final = 1000


class LoadTime(NamedTuple):
    """Between what the load of a partition lies, in milliseconds."""

    least_ms: int
    most_ms: int

    @property
    def text(self) -> str:
        """`<1 s`, `2-9 s`; seconds are as exact as an estimate across machines can be."""
        least, most = self.least_ms // _MS, -(-self.most_ms // _MS)
        return "<1 s" if most <= 1 else f"{least}-{most} s" if least else f"<{most} s"


class _Rate(NamedTuple):
    by_size: bool
    """By kB, else by records; in a millisecond."""
    least: float
    most: float


@cache
def _rates(kind: str) -> Mapping[str, _Rate]:
    measured = json.loads(read_text(_FILE))["rates"][kind]
    return {
        name: _Rate(rate["unit"] == "kB", rate["least"], rate["most"])
        for name, rate in measured.items()
    }


def load_time_of(shape: PartitionShape, coordinator: Coordinator) -> LoadTime:
    """The estimate: each kind of record at its slowest and fastest measured rate (`schemas/loading/rates.json`)."""
    rates = _rates(coordinator.kind)
    least = most = 0.0
    for kind, count in shape.by_kind.items():
        rate = rates.get(kind, rates[_OTHERS])
        amount = shape.bytes_by_kind[kind] / 1000 if rate.by_size else count
        least += amount / rate.most
        most += amount / rate.least
    return LoadTime(int(least), int(most) + 1)
