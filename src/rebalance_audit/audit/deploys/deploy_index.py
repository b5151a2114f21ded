"""All rollouts, by time and by what identifies their pods."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from rebalance_audit.audit.deploys.rollout import Pod, Rollout
from rebalance_audit.limits import DEPLOYS_AROUND


class DeployIndex:
    """All rollouts, by time and by what identifies their pods."""

    def __init__(self, deploys: Iterable[Rollout]) -> None:
        self._by_start = sorted(deploys, key=lambda deploy: deploy.window)
        self._starts = [deploy.window[0] for deploy in self._by_start]
        self._reach = list(accumulate((deploy.window[1] for deploy in self._by_start), max))
        self._by_name: dict[str, list[tuple[Rollout, Pod]]] = defaultdict(list)
        self._by_address: dict[str, list[tuple[Rollout, Pod]]] = defaultdict(list)
        for deploy in self._by_start:
            for pod in deploy.pods:
                self._by_name[pod.name].append((deploy, pod))
                if pod.address is not None:
                    self._by_address[pod.address].append((deploy, pod))

    def __bool__(self) -> bool:
        return bool(self._by_start)

    def around(self, from_ms: int, to_ms: int) -> Iterator[Rollout]:
        """Rollouts that went on between two times (epoch ms), the latest first."""
        last = bisect_right(self._starts, to_ms) - 1
        for place in range(last, max(-1, last - DEPLOYS_AROUND.most), -1):
            if self._reach[place] < from_ms:
                return
            if self._by_start[place].window[1] >= from_ms:
                yield self._by_start[place]

    def named(self, name: str) -> Sequence[tuple[Rollout, Pod]]:
        """Pods of a name."""
        return self._by_name.get(name, ())

    def at_address(self, address: str) -> Sequence[tuple[Rollout, Pod]]:
        """Pods of an address."""
        return self._by_address.get(address, ())


def current_ones(found: Iterable[Rollout], to_ms: int) -> list[Rollout]:
    """A workload's later rollout takes the place of the earlier one, the latest first."""
    current: dict[object, Rollout] = {}
    for deploy in found:
        other = current.get(deploy.source)
        if other is None or _place(other, to_ms) < _place(deploy, to_ms):
            current[deploy.source] = deploy
    return sorted(current.values(), key=lambda deploy: deploy.started_ms, reverse=True)


def _place(deploy: Rollout, to_ms: int) -> tuple[bool, int]:
    return deploy.started_ms <= to_ms, deploy.started_ms
