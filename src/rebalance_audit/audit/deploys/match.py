"""Which rebalances of a group belong to which rollout, and how certain that is.

A rebalance belongs to a rollout if the member that began it ran in a pod that the rollout created or removed. That is
*proven* where the records prove which member began it, exactly one pod of one rollout can be that member's, and the
pod was created or removed at that time. It is *likely* where names or a shared address suggest it, or several fit.
Everything else that happened while a rollout went on is *during*: it is no evidence.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import accumulate
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.deploys import pod_name, values
from rebalance_audit.audit.deploys.deploy import (
    CLOCKS_MS,
    SETTLES_MS,
    STALLS_MS,
    Deploy,
    DeployKey,
    Pod,
)
from rebalance_audit.audit.members.deployments import common_name
from rebalance_audit.audit.verdicts.cause import DEPARTURES
from rebalance_audit.limits import DEPLOYS_AROUND

Row = Mapping[str, Any]

EVIDENCE_MAX: Final = 20
"""Pieces of evidence that are kept of one rebalance."""
DURING_MAX: Final = 20
"""Rollouts that are named for one rebalance where nothing but the time connects them, the latest."""

_JOINS: Final = frozenset({"member_joined", "static_member_joined"})
_REPLACED: Final = "static_member_replaced"
_DEPARTURES: Final = frozenset(str(cause) for cause in DEPARTURES)
_OF_MEMBERS: Final = _JOINS | _DEPARTURES | {_REPLACED}


class TieCertainty(StrEnum):
    """How certain it is that a rebalance belongs to a rollout."""

    PROVEN = "proven"
    LIKELY = "likely"
    DURING = "during"


class MatchedBy(StrEnum):
    """What connects a member and a rollout."""

    POD_NAME = "pod_name"
    """Its client id or instance id contains the pod's name."""
    POD_ADDRESS = "pod_address"
    """Its host is the pod's address."""
    WORKLOAD_NAME = "workload_name"
    """Its client id or instance id is like those of the workload's pods."""
    FILE = "file"
    """The file says which groups or clients the rollout is about."""
    TIME = "time"
    """Nothing but the time."""


class Evidence(NamedTuple):
    """What ties a rebalance to a rollout."""

    matched_by: MatchedBy
    member_id: str | None = None
    change: str | None = None
    """`joined`, `left` or `replaced`."""
    at_ms: int | None = None
    """When the member did, by the clock of the broker."""
    pod: str | None = None
    pod_change: str | None = None
    """`created` or `deleted`."""
    pod_at_ms: int | None = None
    """When the pod was, by the clock of its cluster."""


class Tie(NamedTuple):
    """A rebalance, and a rollout to which it belongs."""

    deploy: Deploy
    certainty: TieCertainty
    rebalance: Row
    evidence: tuple[Evidence, ...]


class _MemberEvent(NamedTuple):
    """A member that joined or left. It happened between the two times (epoch ms)."""

    cause: str
    member: Row
    from_ms: int
    to_ms: int

    @property
    def change(self) -> str:
        """What the member did."""
        if self.cause == _REPLACED:
            return "replaced"
        return "joined" if self.cause in _JOINS else "left"


class _PodMatch(NamedTuple):
    deploy: Deploy
    pod: Pod
    matched_by: MatchedBy
    identifies: bool
    """Whether no other process can look like this."""
    change: str
    at_ms: int
    """When the pod was created or deleted."""


class DeployIndex:
    """All rollouts, by time and by what identifies their pods."""

    def __init__(self, deploys: Iterable[Deploy]) -> None:
        self._by_start = sorted(deploys, key=lambda deploy: deploy.window)
        self._starts = [deploy.window[0] for deploy in self._by_start]
        self._reach = list(accumulate((deploy.window[1] for deploy in self._by_start), max))
        self._by_name: dict[str, list[tuple[Deploy, Pod]]] = defaultdict(list)
        self._by_address: dict[str, list[tuple[Deploy, Pod]]] = defaultdict(list)
        for deploy in self._by_start:
            for pod in deploy.pods:
                self._by_name[pod.name].append((deploy, pod))
                if pod.address is not None:
                    self._by_address[pod.address].append((deploy, pod))

    def __bool__(self) -> bool:
        return bool(self._by_start)

    def around(self, from_ms: int, to_ms: int) -> Iterator[Deploy]:
        """Rollouts that went on between two times (epoch ms), the latest first."""
        last = bisect_right(self._starts, to_ms) - 1
        for place in range(last, max(-1, last - DEPLOYS_AROUND.most), -1):
            if self._reach[place] < from_ms:
                return
            if self._by_start[place].window[1] >= from_ms:
                yield self._by_start[place]

    def named(self, name: str) -> Sequence[tuple[Deploy, Pod]]:
        """Pods of a name."""
        return self._by_name.get(name, ())

    def at_address(self, address: str) -> Sequence[tuple[Deploy, Pod]]:
        """Pods of an address."""
        return self._by_address.get(address, ())


class GroupTies:
    """The ties of one group; takes its gold rows, times in epoch milliseconds."""

    def __init__(self, index: DeployIndex, group_id: str, members: Iterable[Row]) -> None:
        self._index = index
        self._group_id = group_id
        self._members = {(row["incarnation"], row["member_id"]): row for row in members}
        self._spans: dict[str, list[tuple[str, bool]]] = {}

    def of(self, rebalance: Row, causes: Sequence[Row]) -> list[Tie]:
        """Those of one rebalance; `causes` are the rows of its epochs. Only ties of the best certainty are kept."""
        begun = began(rebalance)
        if begun is None:
            return []
        from_ms, to_ms = begun
        events = list(self._events(causes, from_ms))
        first = self._first(causes, events)
        matches = {id(event): _latest(self._pods(event)) for event in events}
        if first is not None and (proven := self._proven(matches[id(first)])) is not None:
            evidence = (_evidence(first, proven),)
            return [Tie(proven.deploy, TieCertainty.PROVEN, rebalance, evidence)]
        near = _current(filter(self._allows, self._index.around(from_ms, to_ms)), to_ms)
        if _has_other_cause(causes):
            likely: list[tuple[Deploy, list[Evidence]]] = []
        else:
            likely = self._likely([first] if first is not None else events, matches, near)
        if likely:
            return [
                Tie(deploy, TieCertainty.LIKELY, rebalance, tuple(found[:EVIDENCE_MAX]))
                for deploy, found in likely
            ]
        by_time = (Evidence(MatchedBy.TIME),)
        return [
            Tie(deploy, TieCertainty.DURING, rebalance, by_time) for deploy in near[:DURING_MAX]
        ]

    def _events(self, causes: Sequence[Row], from_ms: int) -> Iterator[_MemberEvent]:
        for row in causes:
            if row["cause"] not in _OF_MEMBERS or row["member_id"] is None:
                continue
            known = self._members.get((row["incarnation"], row["member_id"]))
            at_ms = row["at"]
            if at_ms is not None:
                # A classic generation's record is written at its end.
                yield _MemberEvent(row["cause"], known or row, min(from_ms, at_ms), at_ms)

    def _first(self, causes: Sequence[Row], events: Sequence[_MemberEvent]) -> _MemberEvent | None:
        """The member that is proven to have begun the rebalance; None where it is another cause, or not proven."""
        row = causes[0] if causes else None
        if row is None or not _is_proven(row):
            return None
        return next((each for each in events if each.member["member_id"] == row["member_id"]), None)

    def _proven(self, found: Sequence[_PodMatch]) -> _PodMatch | None:
        """The only pod that can be the member's."""
        if len({(each.deploy.key, each.pod.name) for each in found}) != 1:
            return None
        return next((each for each in found if each.identifies), None)

    def _likely(
        self,
        events: Iterable[_MemberEvent],
        matches: Mapping[int, Sequence[_PodMatch]],
        near: Sequence[Deploy],
    ) -> list[tuple[Deploy, list[Evidence]]]:
        found: dict[DeployKey, tuple[Deploy, list[Evidence]]] = {}

        def add(deploy: Deploy, evidence: Evidence) -> None:
            found.setdefault(deploy.key, (deploy, []))[1].append(evidence)

        for event in events:
            pods = matches[id(event)]
            for match in pods:
                add(match.deploy, _evidence(event, match))
            if pods:
                continue
            for deploy in near:
                why = self._resemblance(deploy, event)
                if why is not None:
                    member_id = event.member["member_id"]
                    add(deploy, Evidence(why, member_id, event.change, event.to_ms))
        return list(found.values())

    def _pods(self, event: _MemberEvent) -> Iterator[_PodMatch]:
        """Pods that were created or removed when the member joined or left, and may be its own."""
        member = event.member
        for name in (member["instance_id"], member["client_id"]):
            for part, is_at_start in self._parts(name):
                named = self._index.named(part)
                for deploy, pod in named:
                    generated = pod_name.is_generated(pod.name)
                    # A name without a random suffix may be anybody's; an instance id has one owner at a time (KIP-345).
                    is_own = generated or (name == part and name == member["instance_id"])
                    change = _change_of(event, pod)
                    if change is None or not self._allows(deploy):
                        continue
                    if is_own or is_at_start:
                        yield _PodMatch(deploy, pod, MatchedBy.POD_NAME, is_own, *change)
                if named:
                    break
        address = values.address(member["client_host"])
        for deploy, pod in () if address is None else self._index.at_address(address):
            change = _change_of(event, pod)
            if change is not None and self._allows(deploy):
                yield _PodMatch(deploy, pod, MatchedBy.POD_ADDRESS, pod.has_own_address, *change)

    def _parts(self, name: str | None) -> list[tuple[str, bool]]:
        if not name:
            return []
        if name not in self._spans:
            self._spans[name] = list(pod_name.spans(name))
        return self._spans[name]

    def _resemblance(self, deploy: Deploy, event: _MemberEvent) -> MatchedBy | None:
        member = event.member
        names = [name for name in (member["instance_id"], member["client_id"]) if name]
        if deploy.client_pattern is not None:
            fits = any(fnmatchcase(name, deploy.client_pattern) for name in names)
            return MatchedBy.FILE if fits else None
        if any(self._is_of_workload(name, deploy, event) for name in names):
            return MatchedBy.WORKLOAD_NAME
        return MatchedBy.FILE if deploy.group_pattern is not None else None

    def _is_of_workload(self, name: str, deploy: Deploy, event: _MemberEvent) -> bool:
        for part, is_at_start in self._parts(name):
            pod = pod_name.parsed(part)
            if pod is None or pod.hash is None:
                continue
            is_new = pod.hash == deploy.revision
            # Of a Deployment the new pods join and the old ones leave.
            fits = deploy.tool not in _BY_HASH or is_new == (event.cause in _JOINS)
            return is_at_start and pod.workload == deploy.workload and fits
        return common_name(name) == deploy.workload

    def _allows(self, deploy: Deploy) -> bool:
        pattern = deploy.group_pattern
        return pattern is None or fnmatchcase(self._group_id, pattern)


_BY_HASH: Final = frozenset({"kubernetes", "argo_rollouts"})


def _latest(found: Iterable[_PodMatch]) -> list[_PodMatch]:
    """A workload's later pod of the same name, or at the same address, takes the place of the earlier one."""
    latest: dict[tuple[object, str, MatchedBy], _PodMatch] = {}
    for match in found:
        key = (match.deploy.source, match.pod.name, match.matched_by)
        if key not in latest or latest[key].at_ms < match.at_ms:
            latest[key] = match
    return list(latest.values())


def _current(found: Iterable[Deploy], to_ms: int) -> list[Deploy]:
    """A workload's later rollout takes the place of the earlier one, the latest first."""
    current: dict[object, Deploy] = {}
    for deploy in found:
        other = current.get(deploy.source)
        if other is None or _place(other, to_ms) < _place(deploy, to_ms):
            current[deploy.source] = deploy
    return sorted(current.values(), key=lambda deploy: deploy.started_ms, reverse=True)


def _place(deploy: Deploy, to_ms: int) -> tuple[bool, int]:
    return deploy.started_ms <= to_ms, deploy.started_ms


def began(rebalance: Row) -> tuple[int, int] | None:
    """Between which times (epoch ms) a rebalance began, by the best estimate; None where no time is known."""
    latest_ms, ended_ms = rebalance["started_at"], rebalance["ended_at"]
    if latest_ms is None:
        return None if ended_ms is None else (ended_ms, ended_ms)
    estimate_ms = rebalance.get("duration_estimate_ms")
    if ended_ms is None or estimate_ms is None:
        return latest_ms, latest_ms
    return min(latest_ms, ended_ms - estimate_ms), latest_ms


def _is_proven(row: Row) -> bool:
    """Whether the records prove that this member began the epoch; how a member left may be open."""
    if row["cause"] not in _OF_MEMBERS or row["role"] == "meanwhile":
        return False
    if row["certainty"] == "proven":
        return True
    alternatives = row["alternatives"]
    return bool(
        row["cause"] in _DEPARTURES and alternatives and _DEPARTURES.issuperset(alternatives)
    )


def _has_other_cause(causes: Sequence[Row]) -> bool:
    """Whether it is proven that no member began the rebalance by joining or leaving."""
    return (
        bool(causes)
        and causes[0]["certainty"] == "proven"
        and (causes[0]["cause"] not in _OF_MEMBERS)
    )


def _change_of(event: _MemberEvent, pod: Pod) -> tuple[str, int] | None:
    """How and when the pod changed, if that fits what the member did."""
    session_ms = event.member.get("session_timeout_ms") or 0
    created = ("created", pod.created_ms, STALLS_MS)
    deleted = ("deleted", pod.deleted_ms, SETTLES_MS + session_ms)
    expected = {"joined": (created,), "left": (deleted,), "replaced": (created, deleted)}
    for change, pod_ms, within_ms in expected[event.change]:
        if pod_ms is None:
            continue
        if event.to_ms >= pod_ms - CLOCKS_MS and event.from_ms <= pod_ms + within_ms:
            return change, pod_ms
    return None


def _evidence(event: _MemberEvent, match: _PodMatch) -> Evidence:
    return Evidence(
        match.matched_by,
        event.member["member_id"],
        event.change,
        event.to_ms,
        match.pod.name,
        match.change,
        match.at_ms,
    )
