"""What `kubectl get events,pods,replicasets -o json` and exporters of events hold, as plain values.

Events are of `v1` or `events.k8s.io/v1`. They expire after an hour by default, and equal ones are merged: only the
first and the last time of a merged event are known. Rollouts of Argo Rollouts are seen by the events of its controller.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, NamedTuple, TypeAlias

from rebalance_audit.audit.deploys import values
from rebalance_audit.audit.deploys.rollout import NAME_MAX, REVISION_MAX
from rebalance_audit.carriers.json_documents import Around
from rebalance_audit.written_times import time_of

_MESSAGE_MAX: Final = 2_000
_COMBINED: Final = "(combined from similar events): "
_NAME: Final = r"([a-z0-9.-]{1,253})"
_SCALED: Final = re.compile(
    rf"Scaled (up|down) (?:replica set|ReplicaSet) {_NAME}(?: \(revision [0-9]{{1,9}}\))?"
    r"(?: from ([0-9]{1,9}))? to ([0-9]{1,9})(?: from ([0-9]{1,9}))?"
)
_OF_REPLICA_SET: Final = re.compile(rf"(?:Created|Deleted) pod: {_NAME}")
_OF_STATEFUL_SET: Final = re.compile(rf"(?:create|delete) Pod {_NAME} in StatefulSet .*", re.DOTALL)
_ADDED_INTERFACE: Final = re.compile(r"Add eth0 \[([0-9a-fA-F.:]{2,45})[/\]].*", re.DOTALL)

_CREATED: Final = "SuccessfulCreate"
_NEW_SIZE: Final = re.compile(r"New size: ([0-9]{1,9});")
_CRASHED: Final = re.compile(
    r"Back-off restarting failed|will be restarted|OOM-?killed", re.IGNORECASE
)
_OF_CRASHES: Final = frozenset({"OOMKilled", "OOMKilling"})
_EVICTED: Final = re.compile(
    r"(?:Evict|Pod was evicted|pod evicted|Preempt|Marking for deletion|deleting pod for node)"
)
_OF_EVICTIONS: Final = frozenset(
    {"Evicted", "EvictedByVPA", "Preempted", "Descheduled", "NodeShutdown", "ScaleDown"}
)
"""Reasons of events about pods of the kubelet, the scheduler, VPA, the descheduler and the cluster autoscaler."""

OWNERS: Final = {"Deployment": "kubernetes", "Rollout": "argo_rollouts"}
"""Kind of what owns ReplicaSets -> tool."""


class Workload(NamedTuple):
    """What has rollouts."""

    kind: str
    namespace: str
    name: str


class Scaled(NamedTuple):
    """One step of a rollout, or a scaling."""

    at_ms: int
    is_up: bool
    replica_set: str
    before: int | None
    """Replicas before; releases before 1.26 do not say."""
    after: int


@dataclass(slots=True)
class SeenPod:
    """What files show of one pod. Times are epoch milliseconds."""

    replica_set: str | None = None
    created_ms: int | None = None
    deleted_ms: int | None = None
    address: str | None = None
    is_on_host: bool = False
    is_listed: bool = False
    """Whether the cluster still had it when the file was written."""
    revision: str | None = None
    """`controller-revision-hash` of a StatefulSet's pod."""
    grace_ms: int | None = None
    """How long it may take to end."""
    evicted_ms: set[int] = field(default_factory=set)
    """When it was removed from its node."""
    killed_ms: set[int] = field(default_factory=set)
    """When its containers were stopped, for whatever reason."""
    crashed_ms: set[int] = field(default_factory=set)
    """When one of its containers ended by itself or failed, or was found to."""


class StatefulStep(NamedTuple):
    """A pod that a StatefulSet created or deleted."""

    at_ms: int
    is_created: bool
    pod: str


@dataclass(slots=True)
class KubernetesFacts:
    """All that was found, whatever the order of files."""

    scaled: dict[Workload, set[Scaled]] = field(default_factory=dict)
    completed: dict[Workload, set[int]] = field(default_factory=dict)
    """When Argo Rollouts completed an update."""
    stateful: dict[Workload, set[StatefulStep]] = field(default_factory=dict)
    made: dict[Workload, dict[str, int]] = field(default_factory=dict)
    """ReplicaSet -> when it was created."""
    autoscaled: dict[str, set[tuple[int, int]]] = field(default_factory=dict)
    """Namespace -> when an autoscaler wanted how many replicas."""
    pods: dict[tuple[str, str], SeenPod] = field(default_factory=dict)
    """(namespace, name) -> pod."""

    def pod(self, namespace: str, name: str) -> SeenPod:
        """The pod, created here if it is new."""
        return self.pods.setdefault((namespace, name), SeenPod())


class _Event(NamedTuple):
    subject: Workload
    reason: str
    message: str
    first_ms: int
    last_ms: int

    @property
    def times(self) -> set[int]:
        """Known times; those between them are not."""
        return {self.first_ms, self.last_ms}


_Seen: TypeAlias = Callable[[KubernetesFacts], None]
_CLUSTERS: Final = ("clusterName", "cluster_name", "cluster")
"""Fields in which exporters and what carries their events write the name of the cluster."""
_FIELDS_MAX: Final = 64
_NESTED_MAX: Final = 3


class KubernetesItems:
    """Takes items one by one."""

    def __init__(self) -> None:
        self._seen: list[tuple[str | None, _Seen]] = []
        """Cluster, where an item names it, and what takes the item into the facts."""

    def add(self, item: Mapping[str, Any], _file_stem: str, around: Around) -> bool:
        """Whether it is an item of Kubernetes that may show a rollout."""
        subject = values.mapping(item.get("involvedObject") or item.get("regarding"))
        seen: _Seen | None
        if subject and isinstance(item.get("reason"), str):
            seen = _of_event(item, subject)
        else:
            kind = item.get("kind")
            reader = _OBJECTS.get(kind) if isinstance(kind, str) else None
            if reader is None:
                return False
            seen = _of_object(item, reader)
        if seen is not None:
            named = map(_cluster_in, (item, *reversed(around)))
            self._seen.append((next(filter(None, named), None), seen))
        return True

    def facts(self) -> Iterator[tuple[str | None, KubernetesFacts]]:
        """Those of each cluster; what names none belongs to the only one that is named."""
        clusters = sorted({cluster for cluster, _ in self._seen if cluster is not None})
        sole = clusters[0] if len(clusters) == 1 else None
        found: dict[str | None, KubernetesFacts] = {}
        for cluster, take in self._seen:
            take(found.setdefault(cluster or sole, KubernetesFacts()))
        yield from found.items()


def _cluster_in(fields: Mapping[str, Any], depth: int = 0) -> str | None:
    """The name of the cluster in an object, or in one inside it, as `resource.labels.cluster_name`."""
    for name in _CLUSTERS:
        value = fields.get(name)
        found = values.text(values.mapping(value).get("name", value), NAME_MAX)
        if found is not None:
            return found
    if depth < _NESTED_MAX:
        for value in islice(fields.values(), _FIELDS_MAX):
            if isinstance(value, dict) and (inner := _cluster_in(value, depth + 1)) is not None:
                return inner
    return None


def _of_event(item: Mapping[str, Any], subject: Mapping[str, Any]) -> _Seen | None:
    kind, reason = subject.get("kind"), item["reason"]
    reader = _EVENTS.get((kind, reason)) if isinstance(kind, str) else None
    if reader is None and kind == "Pod":
        reader = _happened_to_pod
    if reader is None:
        return None
    name = values.needed_text(subject.get("name"), "involvedObject.name", NAME_MAX)
    first_ms, last_ms = _times_of(item)
    namespace = values.text(subject.get("namespace"), NAME_MAX) or ""
    message = values.text(item.get("message") or item.get("note"), _MESSAGE_MAX) or ""
    is_merged = message.startswith(_COMBINED)
    # A combined event's text is that of its last occurrence.
    event = _Event(
        Workload(str(kind), namespace, name),
        item["reason"],
        message.removeprefix(_COMBINED),
        last_ms if is_merged else first_ms,
        last_ms,
    )
    return lambda facts: reader(facts, event)


def _of_object(item: Mapping[str, Any], reader: "_ObjectReader") -> _Seen | None:
    name = values.text(values.mapping(item.get("metadata")).get("name"), NAME_MAX)
    return None if name is None else lambda facts: reader(facts, name, item)


def _times_of(item: Mapping[str, Any]) -> tuple[int, int]:
    """First and last time (epoch ms). Raises ItemError without one."""
    series = values.mapping(item.get("series"))
    metadata = values.mapping(item.get("metadata"))
    first_ms = _first_of(
        item.get("firstTimestamp"),
        item.get("deprecatedFirstTimestamp"),
        item.get("eventTime"),
        metadata.get("creationTimestamp"),
    )
    last_ms = _first_of(
        series.get("lastObservedTime"),
        item.get("lastTimestamp"),
        item.get("deprecatedLastTimestamp"),
    )
    if first_ms is None:
        first_ms = last_ms
    if first_ms is None:
        given = item.get("firstTimestamp") or item.get("eventTime")
        raise values.ItemError(
            f"firstTimestamp is {values.quote_value(given)}, not a time of 2000 to 2099"
        )
    return first_ms, first_ms if last_ms is None else last_ms


def _first_of(*given: object) -> int | None:
    return next((at for at in map(time_of, given) if at is not None), None)


def _scaled(facts: KubernetesFacts, event: _Event) -> None:
    match = _SCALED.fullmatch(event.message)
    if match is None:
        return
    way, replica_set, from_new, after, from_old = match.groups()
    before = from_new or from_old
    for at_ms in event.times:
        facts.scaled.setdefault(event.subject, set()).add(
            Scaled(
                at_ms, way == "up", replica_set, None if before is None else int(before), int(after)
            )
        )


def _completed(facts: KubernetesFacts, event: _Event) -> None:
    facts.completed.setdefault(event.subject, set()).update(event.times)


def _pod_of_replica_set(facts: KubernetesFacts, event: _Event) -> None:
    if match := _OF_REPLICA_SET.fullmatch(event.message):
        pod = facts.pod(event.subject.namespace, match[1])
        pod.replica_set = event.subject.name
        if event.reason == _CREATED:
            pod.created_ms = event.first_ms
        else:
            pod.deleted_ms = event.first_ms


def _pod_of_stateful_set(facts: KubernetesFacts, event: _Event) -> None:
    if match := _OF_STATEFUL_SET.fullmatch(event.message):
        steps, is_created = (
            facts.stateful.setdefault(event.subject, set()),
            event.reason == _CREATED,
        )
        steps.update(StatefulStep(at_ms, is_created, match[1]) for at_ms in event.times)


def _got_address(facts: KubernetesFacts, event: _Event) -> None:
    if match := _ADDED_INTERFACE.fullmatch(event.message):
        pod = facts.pod(event.subject.namespace, event.subject.name)
        pod.address = values.address(match[1])


def _autoscaled(facts: KubernetesFacts, event: _Event) -> None:
    if match := _NEW_SIZE.match(event.message):
        sizes = facts.autoscaled.setdefault(event.subject.namespace, set())
        sizes.update((at_ms, int(match[1])) for at_ms in event.times)


def _happened_to_pod(facts: KubernetesFacts, event: _Event) -> None:
    """Events of the kubelet, of controllers of nodes, of the scheduler and of whatever else evicts pods."""
    is_killing = event.reason == "Killing"
    if _CRASHED.search(event.message) or event.reason in _OF_CRASHES:
        of_pod = "crashed_ms"
    elif event.reason in _OF_EVICTIONS or (not is_killing and _EVICTED.match(event.message)):
        of_pod = "evicted_ms"
    elif is_killing:
        of_pod = "killed_ms"
    else:
        return
    pod = facts.pod(event.subject.namespace, event.subject.name)
    getattr(pod, of_pod).update(event.times)


_EVENTS: Final[Mapping[tuple[str, str], Callable[[KubernetesFacts, _Event], None]]] = {
    ("Deployment", "ScalingReplicaSet"): _scaled,
    ("Rollout", "ScalingReplicaSet"): _scaled,
    ("Rollout", "RolloutCompleted"): _completed,
    ("ReplicaSet", _CREATED): _pod_of_replica_set,
    ("ReplicaSet", "SuccessfulDelete"): _pod_of_replica_set,
    ("StatefulSet", _CREATED): _pod_of_stateful_set,
    ("StatefulSet", "SuccessfulDelete"): _pod_of_stateful_set,
    ("Pod", "AddedInterface"): _got_address,
    ("HorizontalPodAutoscaler", "SuccessfulRescale"): _autoscaled,
}
"""(kind, reason) -> what is read of it."""


def _owner(metadata: Mapping[str, Any]) -> tuple[str, str] | None:
    for owner in values.items(metadata.get("ownerReferences")):
        kind, name = values.text(owner.get("kind"), 64), values.text(owner.get("name"), NAME_MAX)
        if kind is not None and name is not None and owner.get("controller") is not False:
            return kind, name
    return None


def _add_pod(facts: KubernetesFacts, name: str, item: Mapping[str, Any]) -> None:
    metadata = values.mapping(item.get("metadata"))
    namespace = values.text(metadata.get("namespace"), NAME_MAX) or ""
    pod = facts.pod(namespace, name)
    owner = _owner(metadata)
    if owner is not None and owner[0] == "ReplicaSet":
        pod.replica_set = owner[1]
    labels = values.mapping(metadata.get("labels"))
    pod.revision = values.cut(labels.get("controller-revision-hash"), REVISION_MAX)
    pod.is_listed = True
    status, spec = values.mapping(item.get("status")), values.mapping(item.get("spec"))
    pod.address = values.address(status.get("podIP")) or pod.address
    pod.is_on_host = spec.get("hostNetwork") is True or (
        pod.address is not None and pod.address == values.address(status.get("hostIP"))
    )
    if pod.created_ms is None:
        pod.created_ms = time_of(metadata.get("creationTimestamp"))
    grace_s = spec.get("terminationGracePeriodSeconds")
    if isinstance(grace_s, int) and 0 <= grace_s <= 86_400:
        pod.grace_ms = 1000 * grace_s
    for condition in values.items(status.get("conditions")):
        if condition.get("type") == "DisruptionTarget" and condition.get("status") == "True":
            _add_time(pod.evicted_ms, condition.get("lastTransitionTime"))
    for container in values.items(status.get("containerStatuses")):
        ended = values.mapping(values.mapping(container.get("lastState")).get("terminated"))
        if ended.get("exitCode") not in (0, None):
            _add_time(pod.crashed_ms, ended.get("finishedAt"))


def _add_time(times: set[int], value: object) -> None:
    at_ms = time_of(value)
    if at_ms is not None:
        times.add(at_ms)


def _add_replica_set(facts: KubernetesFacts, name: str, item: Mapping[str, Any]) -> None:
    metadata = values.mapping(item.get("metadata"))
    owner, made_ms = _owner(metadata), time_of(metadata.get("creationTimestamp"))
    if owner is None or owner[0] not in OWNERS or made_ms is None:
        return
    namespace = values.text(metadata.get("namespace"), NAME_MAX) or ""
    facts.made.setdefault(Workload(owner[0], namespace, owner[1]), {})[name] = made_ms


_ObjectReader: TypeAlias = Callable[[KubernetesFacts, str, Mapping[str, Any]], None]
_OBJECTS: Final[Mapping[str, _ObjectReader]] = {
    "Pod": _add_pod,
    "ReplicaSet": _add_replica_set,
}
