"""What happens to pods without a rollout or a scaling: evictions, drained nodes, and containers that crash.

A pod that is evicted, or deleted by anybody but its controller, is replaced by the controller. `kubectl drain` leaves
no event of its own, only that of the kubelet that stops the containers.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from rebalance_audit.audit.deploys import pod_name
from rebalance_audit.audit.deploys.kubernetes import KubernetesFacts, SeenPod
from rebalance_audit.audit.deploys.rollout import (
    CLOCKS_MS,
    SETTLES_MS,
    STALLS_MS,
    DeployKind,
    Pod,
    Rollout,
    Spans,
    any_between,
    runs,
)

_Place: TypeAlias = tuple[str, str]
"""Namespace and name of a workload."""

SHOWN_AT_MS: Final = 30_000
"""Events about one change are at most this far apart: a pod is stopped when its controller has deleted it."""


def disruptions_of(facts: KubernetesFacts, explained: Iterable[Rollout]) -> Iterator[Rollout]:
    """Evictions and crashes. `explained`: rollouts and scalings of the same facts, which end pods as well."""
    pods_of: dict[_Place, list[tuple[str, SeenPod]]] = defaultdict(list)
    for (namespace, name), pod in facts.pods.items():
        pods_of[namespace, _workload_of(name, pod)].append((name, pod))
    changes: dict[_Place, list[tuple[int, int]]] = defaultdict(list)
    for deploy in explained:
        last_ms = max(deploy.ended_ms or 0, deploy.last_seen_ms or 0, deploy.started_ms)
        changes[deploy.namespace or "", deploy.workload].append((deploy.started_ms, last_ms))
    for workload, scaled in facts.scaled.items():
        # What they belong to may have begun before the files.
        own = changes[workload.namespace, workload.name]
        own += [(step.at_ms, step.at_ms + SETTLES_MS) for step in scaled]
    stateful = {(workload.namespace, workload.name): workload for workload in facts.stateful}
    for place, pods in pods_of.items():
        crashes = [Pod(name, at_ms, at_ms) for name, pod in pods for at_ms in pod.crashed_ms]
        yield from _episodes(DeployKind.CRASH, place, crashes)
        steps = facts.stateful[stateful[place]] if place in stateful else ()
        times = _Times(changes[place])
        for step in steps:
            if not step.is_created:
                times.deleted[step.pod].append(step.at_ms)
            else:
                times.created[step.pod].append((step.at_ms, step.pod))
        for name, pod in pods:
            if pod.created_ms is not None and not steps:
                times.created[_replica_set(name, pod)].append((pod.created_ms, name))
        yield from _episodes(DeployKind.EVICTION, place, times.evictions(pods))


def _workload_of(name: str, pod: SeenPod) -> str:
    parsed = pod_name.parsed(name)
    if parsed is not None:
        return parsed.workload
    return name if pod.replica_set is None else pod.replica_set.rpartition("-")[0]


def _replica_set(name: str, pod: SeenPod) -> str:
    """Its name, or that which the pod's name begins with."""
    return pod.replica_set or name.rpartition("-")[0]


class _Times:
    """What controllers did to the pods of one workload, and when (epoch ms)."""

    def __init__(self, changes: Iterable[tuple[int, int]]) -> None:
        self._changes = Spans((begin - SHOWN_AT_MS, end + SHOWN_AT_MS) for begin, end in changes)
        self.created: dict[str, list[tuple[int, str]]] = defaultdict(list)
        """By ReplicaSet, or by the name that a StatefulSet's pod keeps."""
        self.deleted: dict[str, list[int]] = defaultdict(list)

    def evictions(self, pods: Iterable[tuple[str, SeenPod]]) -> Iterator[Pod]:
        """Pods that were evicted, and those that took their places."""
        for made in self.created.values():
            made.sort()
        for removed in self.deleted.values():
            removed.sort()
        for name, pod in pods:
            by = name if name in self.created else _replica_set(name, pod)
            created = self.created.get(by, [])
            evicted = sorted(pod.evicted_ms) or self._drained(name, pod, created)
            for at_ms in evicted:
                yield Pod(name, None, at_ms)
                replacement = _next(created, at_ms)
                if replacement is not None:
                    yield Pod(replacement[1], replacement[0])

    def _drained(self, name: str, pod: SeenPod, created: list[tuple[int, str]]) -> list[int]:
        """When it was stopped, but not by its controller, which replaced it."""
        if pod.deleted_ms is not None:
            return []
        return [
            at_ms
            for at_ms in sorted(pod.killed_ms)
            if _next(created, at_ms) is not None
            and not self._changes.cover(at_ms)
            and not any_between(
                self.deleted.get(name, ()), at_ms - SHOWN_AT_MS, at_ms + SHOWN_AT_MS
            )
        ]


def _next(created: list[tuple[int, str]], at_ms: int) -> tuple[int, str] | None:
    """The pod that was created when another one went."""
    index = bisect_left(created, (at_ms - CLOCKS_MS, ""))
    found = created[index] if index < len(created) else None
    return found if found is not None and found[0] <= at_ms + STALLS_MS else None


def _episodes(kind: DeployKind, place: _Place, pods: Iterable[Pod]) -> Iterator[Rollout]:
    namespace, workload = place
    for run in runs(sorted(set(pods), key=lambda pod: (_time_of(pod), pod.name)), _time_of):
        yield Rollout(
            tool="kubernetes",
            workload=workload,
            started_ms=_time_of(run[0]),
            namespace=namespace or None,
            ended_ms=_time_of(run[-1]),
            last_seen_ms=_time_of(run[-1]),
            pods=tuple(run),
            kind=kind,
        )


def _time_of(pod: Pod) -> int:
    return (pod.deleted_ms if pod.created_ms is None else pod.created_ms) or 0
