"""Rollouts of Deployments, StatefulSets and Argo Rollouts, put together from what Kubernetes shows of them.

A rollout of a Deployment begins when a ReplicaSet that was not the newest is scaled up, and ends when the last one
before it is scaled to 0 (`pkg/controller/deployment/rolling.go`). Scaling the newest ReplicaSet is no rollout.
A StatefulSet's rollout deletes each pod and creates it again under its name.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final

from rebalance_audit.audit.deploys.kubernetes import (
    OWNERS,
    KubernetesFacts,
    KubernetesItems,
    Scaled,
    SeenPod,
    StatefulStep,
    Workload,
)
from rebalance_audit.audit.deploys.rollout import CLOCKS_MS, SETTLES_MS, STALLS_MS, Pod, Rollout

_PAUSES_MS: Final = {"Rollout": 86_400_000}
"""Kind -> how long a rollout may do nothing: a canary of Argo Rollouts waits between its steps."""


@dataclass(slots=True)
class _Progress:
    replica_set: str
    started_ms: int
    last_ms: int
    ended_ms: int | None = None
    is_certain: bool = False
    """Whether it is a rollout, not the scaling of a Deployment."""
    pods: list[Pod] = field(default_factory=list)

    @property
    def until_ms(self) -> int:
        """Until when it may create pods."""
        return self.last_ms + STALLS_MS if self.ended_ms is None else self.ended_ms


class _Rollouts:
    """Those of one workload, or of one of its ReplicaSets, in order of their starts."""

    def __init__(self, rollouts: Iterable[_Progress]) -> None:
        self.all = sorted(rollouts, key=attrgetter("started_ms", "replica_set"))
        self._starts = [each.started_ms for each in self.all]

    def at(self, at_ms: int) -> _Progress | None:
        """The last one that had begun; the one before is over by then."""
        place = bisect_right(self._starts, at_ms + CLOCKS_MS)
        return self.all[place - 1] if place else None


def rollouts_of(facts: KubernetesFacts) -> Iterator[Rollout]:
    """All that the facts show."""
    shared = _shared_addresses(facts)
    pods = defaultdict(list)
    for (namespace, name), pod in facts.pods.items():
        pods[namespace, pod.replica_set].append((name, pod))
    for workload in facts.scaled.keys() | facts.made.keys():
        made = facts.made.get(workload, {})
        steps = facts.scaled.get(workload, set())
        found = list(_of_steps(workload, steps, made))
        seen = {each.replica_set for each in found}
        found += [
            _Progress(replica_set, made_ms, made_ms)
            for replica_set, made_ms in made.items()
            if replica_set not in seen
        ]
        rollouts = _Rollouts(found)
        for completed_ms in facts.completed.get(workload, ()):
            _complete(rollouts.at(completed_ms), completed_ms)
        by_replica_set = defaultdict(list)
        for rollout in found:
            by_replica_set[rollout.replica_set].append(rollout)
        for replica_set in made.keys() | {step.replica_set for step in steps}:
            own = _Rollouts(by_replica_set[replica_set])
            for name, pod in pods[workload.namespace, replica_set]:
                _add_pod(rollouts, own, name, pod, shared)
        yield from (_deploy(workload, rollout) for rollout in rollouts.all)
    for workload, steps_of_set in facts.stateful.items():
        yield from _of_stateful_set(facts, workload, steps_of_set, shared)


def _of_steps(
    workload: Workload, steps: Iterable[Scaled], made: dict[str, int]
) -> Iterator[_Progress]:
    stalls_ms = _PAUSES_MS.get(workload.kind, STALLS_MS)
    newest: str | None = None
    live: _Progress | None = None
    found: list[_Progress] = []
    for step in sorted(steps, key=lambda step: (step.at_ms, not step.is_up, step.replica_set)):
        if step.is_up and step.replica_set != newest:
            had_another = newest is not None
            newest = step.replica_set
            live = None
            if step.before in (0, None):
                live = _Progress(newest, step.at_ms, step.at_ms)
                # Without another ReplicaSet before it may have been scaled to zero, as KEDA does it.
                live.is_certain = (had_another and step.before == 0) or (
                    _is_new(made.get(newest), step.at_ms)
                )
                found.append(live)
        elif live is not None and step.at_ms - live.last_ms <= stalls_ms:
            if step.is_up:
                live.last_ms = step.at_ms
            elif step.replica_set != newest:
                live.is_certain, live.last_ms = True, step.at_ms
                live.ended_ms = step.at_ms if step.after == 0 else live.ended_ms
        if newest is None:
            newest = step.replica_set
    yield from (rollout for rollout in found if rollout.is_certain)


def _is_new(made_ms: int | None, at_ms: int) -> bool:
    return made_ms is not None and abs(at_ms - made_ms) <= CLOCKS_MS


def _complete(rollout: _Progress | None, completed_ms: int) -> None:
    """Argo Rollouts scales the old ReplicaSet down afterwards."""
    if rollout is not None:
        rollout.ended_ms = max(completed_ms, rollout.ended_ms or completed_ms)


def _add_pod(
    rollouts: _Rollouts, own: _Rollouts, name: str, pod: SeenPod, shared: frozenset[str]
) -> None:
    """To the rollout of its ReplicaSet that created it, and to the next one, which removed it."""
    if pod.created_ms is not None:
        maker = own.at(pod.created_ms)
        if maker is not None and pod.created_ms <= maker.until_ms + CLOCKS_MS:
            maker.pods.append(_pod(name, pod, shared, created_ms=pod.created_ms))
    if pod.deleted_ms is not None:
        next_one = rollouts.at(pod.deleted_ms)
        if (
            next_one is not None
            and next_one.replica_set != pod.replica_set
            and pod.deleted_ms <= next_one.until_ms + SETTLES_MS
        ):
            next_one.pods.append(_pod(name, pod, shared, deleted_ms=pod.deleted_ms))


def _deploy(workload: Workload, rollout: _Progress) -> Rollout:
    return Rollout(
        tool=OWNERS[workload.kind],
        workload=workload.name,
        started_ms=rollout.started_ms,
        revision=rollout.replica_set.removeprefix(f"{workload.name}-"),
        namespace=workload.namespace or None,
        ended_ms=rollout.ended_ms,
        last_seen_ms=rollout.last_ms,
        pods=tuple(sorted(rollout.pods, key=attrgetter("name"))),
    )


def _of_stateful_set(
    facts: KubernetesFacts,
    workload: Workload,
    steps: Iterable[StatefulStep],
    shared: frozenset[str],
) -> Iterator[Rollout]:
    for run in _runs(sorted(steps)):
        deleted = {step.pod: step.at_ms for step in run if not step.is_created}
        created = {step.pod: step.at_ms for step in run if step.is_created}
        restarted = sorted(
            pod for pod, at_ms in deleted.items() if created.get(pod, at_ms - 1) >= at_ms
        )
        if not restarted:
            continue
        seen = {name: facts.pods.get((workload.namespace, name), SeenPod()) for name in restarted}
        revisions = {pod.revision for pod in seen.values() if pod.revision is not None}
        revision = revisions.pop() if len(revisions) == 1 else None
        yield Rollout(
            tool="kubernetes",
            workload=workload.name,
            started_ms=min(deleted.values()),
            revision=None if revision is None else revision.removeprefix(f"{workload.name}-"),
            namespace=workload.namespace or None,
            ended_ms=run[-1].at_ms,
            last_seen_ms=run[-1].at_ms,
            pods=tuple(
                _pod(
                    name,
                    seen[name],
                    shared,
                    created_ms=created[name],
                    deleted_ms=deleted[name],
                    # An address that a later pod of the name has got says nothing of this one.
                    has_address=_is_new(seen[name].created_ms, created[name]),
                )
                for name in restarted
            ),
        )


def _runs(steps: list[StatefulStep]) -> Iterator[list[StatefulStep]]:
    """Steps without a pause of more than STALLS_MS."""
    run: list[StatefulStep] = []
    for step in steps:
        if run and step.at_ms - run[-1].at_ms > STALLS_MS:
            yield run
            run = []
        run.append(step)
    if run:
        yield run


def _pod(
    name: str,
    pod: SeenPod,
    shared: frozenset[str],
    *,
    created_ms: int | None = None,
    deleted_ms: int | None = None,
    has_address: bool = True,
) -> Pod:
    address = pod.address if has_address else None
    return Pod(
        name,
        created_ms,
        deleted_ms,
        address,
        has_own_address=pod.is_there and not pod.is_on_host and address not in shared,
    )


def _shared_addresses(facts: KubernetesFacts) -> frozenset[str]:
    """Addresses that several pods have had: reused ones, and those of nodes."""
    seen: set[str] = set()
    shared: set[str] = set()
    for pod in facts.pods.values():
        if pod.address is not None:
            (shared if pod.address in seen else seen).add(pod.address)
    return frozenset(shared)


class KubernetesRollouts(KubernetesItems):
    """Takes items of Kubernetes and gives the rollouts that they show."""

    def deploys(self) -> Iterator[Rollout]:
        """Each rollout."""
        for cluster, facts in self.facts():
            for deploy in rollouts_of(facts):
                yield deploy if cluster is None else replace(deploy, environment=cluster)
