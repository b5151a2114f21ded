"""Rollouts of Deployments, StatefulSets and Argo Rollouts, put together from what Kubernetes shows of them.

A rollout of a Deployment begins when a ReplicaSet that was not the newest is scaled up, and ends when the last one
before it is scaled to 0 (`pkg/controller/deployment/rolling.go`). Other steps of the newest ReplicaSet are scalings.
A StatefulSet's rollout deletes a pod and creates it again under its name as soon as it has ended. Scaling removes the
pods with the highest ordinals, and does not create them at once.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Final

from rebalance_audit.audit.deploys.kubernetes import (
    OWNERS,
    KubernetesFacts,
    KubernetesItems,
    Scaled,
    SeenPod,
    StatefulStep,
    Workload,
)
from rebalance_audit.audit.deploys.kubernetes_disruptions import SHOWN_AT_MS, disruptions_of
from rebalance_audit.audit.deploys.rollout import (
    CLOCKS_MS,
    SETTLES_MS,
    STALLS_MS,
    DeployKind,
    Pod,
    Rollout,
    ScaleStep,
    Spans,
    any_between,
    runs,
)

GRACE_MS: Final = 30_000
"""How long a pod may take to end, where no file has its `terminationGracePeriodSeconds`."""
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
        yield from _scalings(workload, steps, found, pods, shared)
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
    emptied: Scaled | None = None
    """The last step, if it scaled the newest one to 0."""
    found: list[_Progress] = []
    for step in _ordered(steps):
        if step.is_up and step.replica_set != newest:
            had_another = newest is not None
            # The strategy Recreate ends the old pods first.
            is_recreated = emptied is not None and step.at_ms - emptied.at_ms <= stalls_ms
            started_ms = emptied.at_ms if is_recreated and emptied else step.at_ms
            newest = step.replica_set
            live = None
            if step.before in (0, None):
                live = _Progress(newest, started_ms, step.at_ms)
                live.ended_ms = step.at_ms if is_recreated else None
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
        emptied = step if step.replica_set == newest and step.after == 0 else None
    yield from (rollout for rollout in found if rollout.is_certain)


def _ordered(steps: Iterable[Scaled]) -> list[Scaled]:
    return sorted(steps, key=lambda step: (step.at_ms, not step.is_up, step.replica_set))


def _scalings(
    workload: Workload,
    steps: Iterable[Scaled],
    rollouts: Iterable[_Progress],
    pods: Mapping[tuple[str, str | None], Sequence[tuple[str, SeenPod]]],
    shared: frozenset[str],
) -> Iterator[Rollout]:
    """Steps that belong to no rollout, also to none that began or ended outside of the files."""
    spans = Spans((each.started_ms, each.until_ms + CLOCKS_MS) for each in rollouts)
    left = (step for step in _ordered(steps) if not spans.cover(step.at_ms))
    by_time: dict[str, list[tuple[int, int]]] = {}
    for run in runs(left, attrgetter("at_ms")):
        replica_set = run[0].replica_set
        if len({step.replica_set for step in run}) > 1:
            continue
        every = pods.get((workload.namespace, replica_set), ())
        if replica_set not in by_time:
            by_time[replica_set] = sorted(
                (at_ms, place)
                for place, (_, pod) in enumerate(every)
                for at_ms in (pod.created_ms, pod.deleted_ms)
                if at_ms is not None
            )
        times = by_time[replica_set]
        first = bisect_left(times, (run[0].at_ms - CLOCKS_MS, 0))
        last = bisect_left(times, (run[-1].at_ms + SHOWN_AT_MS + 1, 0))
        own = [every[place] for place in sorted({place for _, place in times[first:last]})]
        yield _scaling(
            workload,
            [ScaleStep(step.at_ms, step.is_up, step.before, step.after) for step in run],
            _changed_by(run, own, shared),
        )


def _changed_by(
    run: Sequence[Scaled], pods: Iterable[tuple[str, SeenPod]], shared: frozenset[str]
) -> Iterator[Pod]:
    """Pods that a ReplicaSet created or deleted when it was scaled."""
    times = {is_up: [step.at_ms for step in run if step.is_up == is_up] for is_up in (True, False)}
    for name, pod in pods:
        created_ms = pod.created_ms if _is_shown(times[True], pod.created_ms) else None
        deleted_ms = pod.deleted_ms if _is_shown(times[False], pod.deleted_ms) else None
        if created_ms is not None or deleted_ms is not None:
            yield _pod(name, pod, shared, created_ms=created_ms, deleted_ms=deleted_ms)


def _is_shown(steps: Sequence[int], at_ms: int | None) -> bool:
    """Whether one of the steps, in order of time, may have changed a pod then."""
    return at_ms is not None and any_between(steps, at_ms - SHOWN_AT_MS, at_ms + CLOCKS_MS)


def _rollout(
    workload: Workload, started_ms: int, last_seen_ms: int, pods: Iterable[Pod], **more: Any
) -> Rollout:
    return Rollout(
        tool=OWNERS.get(workload.kind, "kubernetes"),
        workload=workload.name,
        started_ms=started_ms,
        namespace=workload.namespace or None,
        last_seen_ms=last_seen_ms,
        pods=tuple(sorted(pods, key=attrgetter("name"))),
        **more,
    )


def _scaling(workload: Workload, steps: Sequence[ScaleStep], pods: Iterable[Pod]) -> Rollout:
    last_ms = steps[-1].at_ms
    return _rollout(
        workload,
        steps[0].at_ms,
        last_ms,
        pods,
        ended_ms=last_ms,
        kind=DeployKind.SCALING,
        steps=tuple(steps),
    )


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
    return _rollout(
        workload,
        rollout.started_ms,
        rollout.last_ms,
        rollout.pods,
        revision=rollout.replica_set.removeprefix(f"{workload.name}-"),
        ended_ms=rollout.ended_ms,
    )


def _of_stateful_set(
    facts: KubernetesFacts,
    workload: Workload,
    steps: Iterable[StatefulStep],
    shared: frozenset[str],
) -> Iterator[Rollout]:
    seen = facts.pods
    wanted: defaultdict[int, list[int]] = defaultdict(list)
    for at_ms, size in sorted(facts.autoscaled.get(workload.namespace, ())):
        wanted[size].append(at_ms)
    lost: dict[str, list[int]] = {}
    for name in {step.pod for step in steps}:
        pod = seen.get((workload.namespace, name), SeenPod())
        lost[name] = sorted(pod.evicted_ms | pod.killed_ms)
    for run in runs(sorted(steps, key=_in_order), attrgetter("at_ms")):
        pods = {step.pod: seen.get((workload.namespace, step.pod), SeenPod()) for step in run}
        grace_ms = max([pod.grace_ms for pod in pods.values() if pod.grace_ms] or [GRACE_MS])
        is_update = _replaces_lower_ones(run)
        restarts: list[tuple[StatefulStep, StatefulStep]] = []
        scaled: list[StatefulStep] = []
        deleted: dict[str, StatefulStep] = {}
        for step in run:
            if not step.is_created:
                deleted[step.pod] = step
                continue
            before = deleted.pop(step.pod, None)
            if before is None:
                # Its controller creates a pod that is gone again: that is no scaling, see `kubernetes_disruptions`.
                if not any_between(lost[step.pod], step.at_ms - STALLS_MS, step.at_ms + CLOCKS_MS):
                    scaled.append(step)
            elif is_update or (
                step.at_ms - before.at_ms <= grace_ms + SHOWN_AT_MS
                and not any_between(
                    wanted.get(_ordinal(before.pod), ()),
                    before.at_ms - SHOWN_AT_MS,
                    before.at_ms + CLOCKS_MS,
                )
            ):
                restarts.append((before, step))
            else:
                scaled += [before, step]
        scaled += [] if is_update else deleted.values()
        if restarts:
            yield _restarts(workload, restarts, pods, shared)
        for of_scaling in runs(sorted(scaled, key=_in_order), attrgetter("at_ms")):
            yield _scaling(
                workload,
                [
                    ScaleStep(
                        step.at_ms,
                        step.is_created,
                        number + (not step.is_created),
                        number + step.is_created,
                    )
                    for step in of_scaling
                    for number in [_ordinal(step.pod)]
                ],
                (
                    _pod(
                        step.pod,
                        pods[step.pod],
                        shared,
                        created_ms=step.at_ms if step.is_created else None,
                        deleted_ms=None if step.is_created else step.at_ms,
                        has_address=_is_new(pods[step.pod].created_ms, step.at_ms),
                    )
                    for step in of_scaling
                ),
            )


def _in_order(step: StatefulStep) -> tuple[int, bool, int]:
    """At one time pods are deleted from the highest ordinal down, and created from the lowest up."""
    number = _ordinal(step.pod)
    return step.at_ms, step.is_created, number if step.is_created else -number


def _ordinal(pod: str) -> int:
    number = pod.rpartition("-")[2]
    return int(number) if number.isdecimal() and len(number) < 10 else 0


def _replaces_lower_ones(run: Iterable[StatefulStep]) -> bool:
    """Whether a pod is deleted while one with a higher ordinal is there, which scaling would have taken first."""
    highest = -1
    for step in run:
        if step.is_created:
            highest = max(highest, _ordinal(step.pod))
        elif _ordinal(step.pod) < highest:
            return True
        else:
            highest = -1
    return False


def _restarts(
    workload: Workload,
    restarts: Sequence[tuple[StatefulStep, StatefulStep]],
    pods: Mapping[str, SeenPod],
    shared: frozenset[str],
) -> Rollout:
    revisions = {revision for each, _ in restarts if (revision := pods[each.pod].revision)}
    revision = revisions.pop() if len(revisions) == 1 else None
    ended_ms = max(created.at_ms for _, created in restarts)
    return _rollout(
        workload,
        min(deleted.at_ms for deleted, _ in restarts),
        ended_ms,
        (
            _pod(
                created.pod,
                pods[created.pod],
                shared,
                created_ms=created.at_ms,
                deleted_ms=deleted.at_ms,
                # An address that a later pod of the name has got says nothing of this one.
                has_address=_is_new(pods[created.pod].created_ms, created.at_ms),
            )
            for deleted, created in restarts
        ),
        revision=None if revision is None else revision.removeprefix(f"{workload.name}-"),
        ended_ms=ended_ms,
    )


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
        has_own_address=pod.is_listed and not pod.is_on_host and address not in shared,
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
            changes = list(rollouts_of(facts))
            for deploy in (*changes, *disruptions_of(facts, changes)):
                yield deploy if cluster is None else replace(deploy, environment=cluster)
