"""The metrics that KIP-848 names, as values of one coordinator at one moment.

Metrics of threads, queues and loads belong to the machine that runs a coordinator; they are not here.
"""

from collections import Counter, deque
from collections.abc import Mapping
from typing import Final, NamedTuple

from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups.slot import type_of
from rebalance_audit.replay.shard import Shard

RATE_WINDOW_MS: Final = 30_000
CONSUMER_GROUP_STATES: Final = ("Empty", "Assigning", "Reconciling", "Stable", "Dead")


class Metrics(NamedTuple):
    """Values under the KIP's names."""

    group_count: Mapping[GroupType, int]
    """`group-count` by protocol."""
    consumer_group_count: Mapping[str, int]
    """`consumer-group-count` by state; Dead is always 0, since nothing keeps a deleted group."""
    consumer_group_rebalance_count: int
    """Group epochs bumped by heartbeats, JoinGroups and resolved expressions; not by members that left."""
    consumer_group_rebalance_rate: float
    """Those group epochs per second, over the last 30 seconds."""


class RebalanceMeter:
    """Counts rebalances of consumer groups; soft state, like a broker's meters."""

    def __init__(self) -> None:
        """Nothing is counted yet."""
        self.count = 0
        self._recent_ms: deque[int] = deque()

    def mark(self, now_ms: int) -> None:
        """Count one bump of a group epoch."""
        self.count += 1
        self._recent_ms.append(now_ms)
        self._forget(now_ms)

    def rate(self, now_ms: int) -> float:
        """Rebalances per second over the window that ends now."""
        self._forget(now_ms)
        return len(self._recent_ms) * 1000 / RATE_WINDOW_MS

    def _forget(self, now_ms: int) -> None:
        while self._recent_ms and self._recent_ms[0] <= now_ms - RATE_WINDOW_MS:
            self._recent_ms.popleft()


def measure(shard: Shard, meter: RebalanceMeter, now_ms: int) -> Metrics:
    """The metrics of a shard's groups."""
    groups = Counter(dict.fromkeys(GroupType, 0))
    states = Counter(dict.fromkeys(CONSUMER_GROUP_STATES, 0))
    for slot in shard.groups():
        group = slot.group
        assert group is not None
        kind = type_of(group)
        groups[kind] += 1
        if kind is GroupType.CONSUMER:
            states[group.group_state()] += 1
    return Metrics(groups, states, meter.count, meter.rate(now_ms))
