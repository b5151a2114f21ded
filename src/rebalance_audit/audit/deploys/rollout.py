"""One rollout of one workload, whatever tool recorded it, and all of them by time and by their pods."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Final, NamedTuple, TypeAlias, TypeVar

from rebalance_audit.limits import DEPLOYS_AROUND, PODS_OF_NAME

CLOCKS_MS: Final = 5_000
"""Clocks of the cluster that deploys and of the brokers are taken to agree within this."""
SETTLES_MS: Final = 120_000
"""After the end of a rollout: grace period (30 s), session timeout (45 s), and the rebalance that follows."""
STALLS_MS: Final = 600_000
"""Without a recorded end a rollout is taken to last so long: `progressDeadlineSeconds` of a Deployment."""

NAME_MAX: Final = 253
"""Characters of a Kubernetes name (DNS subdomain). Longer names are none."""
REVISION_MAX: Final = 128
"""Characters of a revision that are kept."""

_ANYWHERE: Final = ""
"""In place of a namespace; none has this name."""
_WITH_PODS: Final = frozenset({"kubernetes", "argo_rollouts"})
_WITHOUT_PODS: Final = frozenset({"helm", "argo_cd", "github"})

Item = TypeVar("Item")
RolloutKey: TypeAlias = tuple[str, int]
"""Id and start (epoch ms) of a deploy."""


class Pod(NamedTuple):
    """A pod that a rollout created or removed. Times are epoch milliseconds by the clock of its cluster."""

    name: str
    created_ms: int | None = None
    """When this rollout created it; None if it did not, or no file shows it."""
    deleted_ms: int | None = None
    """When this rollout began to end it; None as above."""
    address: str | None = None
    """Its IP address, where a file has it."""
    has_own_address: bool = False
    """Whether the cluster still had the pod, alone at its address: another one may have got a deleted pod's address.

    False as well for a pod in its node's network (`hostNetwork`).
    """


class DeployKind(StrEnum):
    """What happened to a workload's pods."""

    ROLLOUT = "rollout"
    """A new revision, or the same one again."""
    SCALING = "scaling"
    """More or fewer replicas."""
    EVICTION = "eviction"
    """Pods were removed from their nodes: drained, preempted, descheduled; others took their place."""
    CRASH = "crash"
    """Containers ended by themselves, or failed their liveness probe, and were started again."""


class ScaleStep(NamedTuple):
    """A change of the number of replicas."""

    at_ms: int
    is_up: bool
    before: int | None
    after: int


@dataclass(frozen=True, slots=True)
class Rollout:
    """A rollout, or something else that happened to the pods of a workload.

    Times are epoch milliseconds by the clock of the tool.
    """

    tool: str
    """`kubernetes`, `argo_rollouts`, `argo_cd`, `helm`, `github` or `csv`."""
    workload: str
    """Name of the Deployment, StatefulSet, release, application or repository."""
    started_ms: int
    revision: str | None = None
    namespace: str | None = None
    environment: str | None = None
    """Where it was deployed: GitHub's environment, or the Kubernetes cluster where a file names it."""
    ended_ms: int | None = None
    """None where the tool records no end, or there was none yet."""
    last_seen_ms: int | None = None
    """The last time that a file shows of it; None: its start."""
    pods: tuple[Pod, ...] = ()
    group_pattern: str | None = None
    """Group ids that it is about, `*` for any characters; None: not stated."""
    client_pattern: str | None = None
    """Client ids or instance ids of its members, in the same form; None: not stated."""
    kind: DeployKind = DeployKind.ROLLOUT
    steps: tuple[ScaleStep, ...] = ()
    """Of a scaling, in order."""

    @property
    def name(self) -> str:
        """`checkout@7f4c`, for people."""
        return self.workload if self.revision is None else f"{self.workload}@{self.revision}"

    @property
    def deploy_id(self) -> str:
        """`kubernetes:shop/checkout@7f4c`, `github:production/checkout@7f4c`."""
        where = "".join(f"{each}/" for each in (self.environment, self.namespace) if each)
        kind = "" if self.kind is DeployKind.ROLLOUT else f"#{self.kind}"
        return f"{self.tool}:{where}{self.name}{kind}"

    @property
    def replicas(self) -> list[int]:
        """Of a scaling, the numbers of replicas at which it turned: `[2, 1, 2]`."""
        counts = [
            count for step in self.steps for count in (step.before, step.after) if count is not None
        ]
        turns: list[int] = []
        for count in counts:
            if turns and turns[-1] == count:
                continue
            if len(turns) > 1 and (turns[-1] > turns[-2]) == (count > turns[-1]):
                turns[-1] = count
            else:
                turns.append(count)
        return turns

    @property
    def key(self) -> RolloutKey:
        """What distinguishes it from other deploys."""
        return self.deploy_id, self.started_ms

    @property
    def source(self) -> tuple[str | None, ...]:
        """What its rollouts have in common with those before and after it."""
        # A later rollout or scaling takes the place of an earlier one; pods are evicted and crash meanwhile.
        is_disruption = self.kind in {DeployKind.EVICTION, DeployKind.CRASH}
        where = str(self.kind) if is_disruption else "", self.environment, self.namespace
        return self.tool, *where, self.workload, self.group_pattern, self.client_pattern

    @property
    def window(self) -> tuple[int, int]:
        """From when to when (epoch ms) a rebalance that it began can have begun."""
        if self.ended_ms is not None:
            until_ms = max(self.ended_ms, self.started_ms) + SETTLES_MS
        else:
            until_ms = max(self.started_ms, self.last_seen_ms or 0) + STALLS_MS
        return self.started_ms - CLOCKS_MS, until_ms

    def went_on(self, from_ms: int, to_ms: int) -> bool:
        """Whether it may have been under way at a time between the two (epoch ms)."""
        begins_ms, until_ms = self.window
        if self.ended_ms is not None:
            until_ms -= SETTLES_MS - CLOCKS_MS
        return begins_ms <= to_ms and from_ms <= until_ms


def any_between(times: Sequence[int], from_ms: int, to_ms: int) -> bool:
    """Whether any of these times, in order, is between two times."""
    index = bisect_left(times, from_ms)
    return index < len(times) and times[index] <= to_ms


class Spans:
    """Spans of time, in which moments lie or do not (epoch ms)."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        """`spans`: begin and end of each."""
        ordered = sorted(spans)
        self._starts = [begin for begin, _ in ordered]
        self._reach = list(accumulate((end for _, end in ordered), max))

    def cover(self, at_ms: int) -> bool:
        """Whether the moment lies in any of them."""
        last = bisect_right(self._starts, at_ms) - 1
        return last >= 0 and self._reach[last] >= at_ms


def runs(found: Iterable[Item], time_of: Callable[[Item], int]) -> Iterator[list[Item]]:
    """Items, in order of time, without a pause of more than STALLS_MS."""
    run: list[Item] = []
    for each in found:
        if run and time_of(each) - time_of(run[-1]) > STALLS_MS:
            yield run
            run = []
        run.append(each)
    if run:
        yield run


def merged(deploys: Iterable[Rollout]) -> list[Rollout]:
    """One deploy for each rollout, in order of their starts.

    What Helm, Argo CD or GitHub applied is dropped where Kubernetes shows the rollout of a workload of that name.
    """
    by_key: dict[tuple[RolloutKey, str | None, str | None], Rollout] = {}
    for deploy in deploys:
        by_key.setdefault((deploy.key, deploy.group_pattern, deploy.client_pattern), deploy)
    found = sorted(by_key.values(), key=lambda deploy: (deploy.started_ms, deploy.deploy_id))
    # Workload and namespace -> starts, in order; under `_ANYWHERE` those of every namespace.
    starts: defaultdict[tuple[str, str | None], list[int]] = defaultdict(list)
    for deploy in found:
        if deploy.pods and deploy.tool in _WITH_PODS and deploy.kind is DeployKind.ROLLOUT:
            for where in (deploy.namespace, _ANYWHERE):
                starts[deploy.workload, where].append(deploy.started_ms)
    return [deploy for deploy in found if not _is_shown_by(deploy, starts)]


def _is_shown_by(applied: Rollout, starts: Mapping[tuple[str, str | None], Sequence[int]]) -> bool:
    if applied.tool not in _WITHOUT_PODS:
        return False
    from_ms, to_ms = applied.window
    wheres = (_ANYWHERE,) if applied.namespace is None else (applied.namespace, None)
    own = (starts.get((applied.workload, where), ()) for where in wheres)
    return any(any_between(times, from_ms, to_ms) for times in own)


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
