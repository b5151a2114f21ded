"""All rollouts, by time and by what identifies their pods."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from rebalance_audit.audit.deploys.rollout import Pod, Rollout, RolloutKey, any_between
from rebalance_audit.limits import DEPLOYS_AROUND, PODS_OF_NAME


class DeployIndex:
    """All rollouts, by time and by what identifies their pods."""

    def __init__(self, deploys: Iterable[Rollout]) -> None:
        self._by_start = sorted(deploys, key=lambda deploy: deploy.window)
        self._starts = [deploy.window[0] for deploy in self._by_start]
        self._reach = list(accumulate((deploy.window[1] for deploy in self._by_start), max))
        by_name: defaultdict[str, list[tuple[Rollout, Pod]]] = defaultdict(list)
        by_address: defaultdict[str, list[tuple[Rollout, Pod]]] = defaultdict(list)
        for deploy in self._by_start:
            for pod in deploy.pods:
                by_name[pod.name].append((deploy, pod))
                if pod.address is not None:
                    by_address[pod.address].append((deploy, pod))
        self._by_name = {name: _Pods(pods) for name, pods in by_name.items()}
        self._by_address = {address: _Pods(pods) for address, pods in by_address.items()}
        self._step_times: dict[tuple[RolloutKey, bool], list[int]] = {}

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

    def has_step(self, deploy: Rollout, from_ms: int, to_ms: int, *, is_up: bool) -> bool:
        """Whether a scaling changed the number of replicas between two times (epoch ms)."""
        key = deploy.key, is_up
        if key not in self._step_times:
            times = [step.at_ms for step in deploy.steps if step.is_up == is_up]
            self._step_times[key] = times
        return any_between(self._step_times[key], from_ms, to_ms)

    def has_named(self, name: str) -> bool:
        """Whether a pod has the name."""
        return name in self._by_name

    def named(self, name: str, until_ms: int) -> Sequence[tuple[Rollout, Pod]]:
        """Pods of a name that were created or deleted last before a time (epoch ms)."""
        return self._by_name[name].until(until_ms) if name in self._by_name else ()

    def at_address(self, address: str, until_ms: int) -> Sequence[tuple[Rollout, Pod]]:
        """Pods of an address, likewise."""
        return self._by_address[address].until(until_ms) if address in self._by_address else ()


class _Pods:
    """Pods of one name, or at one address, by when they were created and by when they were deleted."""

    def __init__(self, pods: list[tuple[Rollout, Pod]]) -> None:
        self._pods = pods
        self._changes = [
            sorted(
                (at_ms, place)
                for place, (_, pod) in enumerate(pods)
                if (at_ms := (pod.created_ms, pod.deleted_ms)[which]) is not None
            )
            for which in (0, 1)
        ]

    def until(self, until_ms: int) -> Sequence[tuple[Rollout, Pod]]:
        if len(self._pods) <= PODS_OF_NAME.most:
            return self._pods
        places: set[int] = set()
        for changes in self._changes:
            end = bisect_right(changes, (until_ms, len(self._pods)))
            places.update(place for _, place in changes[max(0, end - PODS_OF_NAME.most) : end])
        return [self._pods[place] for place in sorted(places)]


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
