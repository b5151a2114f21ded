"""Which rebalances of a group belong to which rollout, and how certain that is.

A rebalance belongs to a rollout if the member that began it ran in a pod that the rollout created or deleted. That is
*proven* where the records prove which member began it, exactly one pod of one rollout can be that member's, and it is
the first member of the new pod, or the last one of the old pod. It is *likely* where names or a shared address suggest
it, or several rollouts fit. Everything else that happened while a rollout went on is *during*: it is no evidence.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from rebalance_audit.audit.deploys import pod_name
from rebalance_audit.audit.deploys.member_pods import (
    JOINS,
    REPLACED,
    GoldRow,
    MatchedBy,
    MemberEvent,
    MemberPods,
    PodMatch,
    times_by_key,
)
from rebalance_audit.audit.deploys.rollout import (
    CLOCKS_MS,
    SETTLES_MS,
    DeployIndex,
    DeployKind,
    Rollout,
    RolloutKey,
    current_ones,
)
from rebalance_audit.audit.members.tally import common_name
from rebalance_audit.audit.verdicts.cause import DEPARTURES

EVIDENCE_MAX: Final = 20
"""Pieces of evidence that are kept of one rebalance."""
DURING_MAX: Final = 20
"""Rollouts that are named for one rebalance where nothing but the time connects them, the latest."""

_DEPARTURES: Final = frozenset(str(cause) for cause in DEPARTURES)
_OF_MEMBERS: Final = JOINS | _DEPARTURES | {REPLACED}


class TieCertainty(StrEnum):
    """How certain it is that a rebalance belongs to a rollout."""

    PROVEN = "proven"
    LIKELY = "likely"
    DURING = "during"


class TieEvidence(NamedTuple):
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

    deploy: Rollout
    certainty: TieCertainty
    rebalance: GoldRow
    evidence: tuple[TieEvidence, ...]


class GroupTies:
    """The ties of one group; takes its gold rows, times in epoch milliseconds."""

    def __init__(self, index: DeployIndex, group_id: str, members: Iterable[GoldRow]) -> None:
        self._index = index
        self._group_id = group_id
        self._members = {(row["incarnation"], row["member_id"]): row for row in members}
        self._pods = MemberPods(index, self._members.values())
        rows = self._members.values()
        self._came = times_by_key((_name(row), row.get("first_seen_at")) for row in rows)
        self._went = times_by_key((_name(row), row.get("left_at")) for row in rows)

    def of(self, rebalance: GoldRow, causes: Sequence[GoldRow]) -> list[Tie]:
        """Those of one rebalance; `causes` are the rows of its epochs. Only ties of the best certainty are kept."""
        begun = began(rebalance)
        if begun is None:
            return []
        from_ms, to_ms = begun
        events = list(self._events(causes, from_ms))
        first = self._first(causes, events)
        matches = {
            id(event): [each for each in self._pods.of(event) if self._allows(each.deploy)]
            for event in events
        }
        if first is not None and rebalance["completeness"] == "complete":
            only = _only(matches[id(first)])
            # A container that is started again leaves no trace of its own: no pod is created or deleted.
            if only is not None and only.deploy.kind is not DeployKind.CRASH:
                evidence = (_evidence(first, only),)
                return [Tie(only.deploy, TieCertainty.PROVEN, rebalance, evidence)]
        near = current_ones(filter(self._allows, self._index.around(from_ms, to_ms)), to_ms)
        if _has_other_cause(causes):
            likely: list[tuple[Rollout, list[TieEvidence]]] = []
        else:
            likely = self._likely([first] if first is not None else events, matches, near)
        if likely:
            return [
                Tie(deploy, TieCertainty.LIKELY, rebalance, tuple(found[:EVIDENCE_MAX]))
                for deploy, found in likely
            ]
        by_time = (TieEvidence(MatchedBy.TIME),)
        meanwhile = [deploy for deploy in near if deploy.went_on(from_ms, to_ms)]
        return [
            Tie(deploy, TieCertainty.DURING, rebalance, by_time)
            for deploy in meanwhile[:DURING_MAX]
        ]

    def _events(self, causes: Sequence[GoldRow], from_ms: int) -> Iterator[MemberEvent]:
        for row in causes:
            if row["cause"] not in _OF_MEMBERS or row["member_id"] is None:
                continue
            known = self._members.get((row["incarnation"], row["member_id"]))
            at_ms = row["at"]
            if at_ms is not None:
                # A classic generation's record is written at its end.
                yield MemberEvent(row["cause"], known or row, min(from_ms, at_ms), at_ms)

    def _first(
        self, causes: Sequence[GoldRow], events: Sequence[MemberEvent]
    ) -> MemberEvent | None:
        """The member that is proven to have begun the rebalance; None where it is another cause, or not proven."""
        row = causes[0] if causes else None
        if row is None or not _is_proven(row):
            return None
        return next((each for each in events if each.member["member_id"] == row["member_id"]), None)

    def _likely(
        self,
        events: Iterable[MemberEvent],
        matches: Mapping[int, Sequence[PodMatch]],
        near: Sequence[Rollout],
    ) -> list[tuple[Rollout, list[TieEvidence]]]:
        found: dict[RolloutKey, tuple[Rollout, list[TieEvidence]]] = {}

        def add(deploy: Rollout, evidence: TieEvidence) -> None:
            found.setdefault(deploy.key, (deploy, []))[1].append(evidence)

        for event in events:
            pods = matches[id(event)]
            for match in pods:
                add(match.deploy, _evidence(event, match))
            if pods:
                continue
            for deploy in near:
                why = self._resemblance(deploy, event)
                if why is not None and self._is_in_time(deploy, event):
                    member_id = event.member["member_id"]
                    add(deploy, TieEvidence(why, member_id, event.change, event.to_ms))
        return list(found.values())

    def _is_in_time(self, deploy: Rollout, event: MemberEvent) -> bool:
        """Whether it went on, as far as is known. Later it may still have ended or replaced each old member once."""
        if deploy.steps:
            from_ms, to_ms = event.from_ms - SETTLES_MS, event.to_ms + CLOCKS_MS
            return self._index.has_step(deploy, from_ms, to_ms, is_up=event.change == "joined")
        seen_ms, since_ms = event.member.get("first_seen_at"), deploy.window[0]
        ended_ms = deploy.ended_ms
        if seen_ms is None or (ended_ms is not None and event.from_ms <= ended_ms + CLOCKS_MS):
            return True
        if event.change == "left":
            return bool(seen_ms < since_ms)
        name = _name(event.member)
        came, went = self._came.get(name, ()), self._went.get(name, ())
        before = bisect_left(came, since_ms)
        places = before - bisect_left(went, since_ms)
        return bisect_left(came, seen_ms) - before < max(1, places)

    def _resemblance(self, deploy: Rollout, event: MemberEvent) -> MatchedBy | None:
        member = event.member
        names = [name for name in (member["instance_id"], member["client_id"]) if name]
        if deploy.client_pattern is not None:
            fits = any(_fits(name, deploy.client_pattern) for name in names)
            return MatchedBy.FILE if fits else None
        if any(self._is_of_workload(name, deploy, event) for name in names):
            return MatchedBy.WORKLOAD_NAME
        return MatchedBy.FILE if deploy.group_pattern is not None else None

    def _is_of_workload(self, name: str, deploy: Rollout, event: MemberEvent) -> bool:
        for part, is_at_start in self._pods.parts(name):
            pod = pod_name.parsed(part)
            if pod is None or pod.hash is None:
                continue
            is_new = pod.hash == deploy.revision
            # Of a Deployment the new pods join and the old ones leave.
            is_rollout = deploy.kind is DeployKind.ROLLOUT and deploy.tool in _BY_HASH
            fits = not is_rollout or is_new == (event.cause in JOINS)
            return is_at_start and pod.workload == deploy.workload and fits
        return common_name(name) == deploy.workload

    def _allows(self, deploy: Rollout) -> bool:
        pattern = deploy.group_pattern
        return pattern is None or _fits(self._group_id, pattern)


def _name(member: GoldRow) -> str:
    """What a member has in common with the one that took its place."""
    return member["instance_id"] or member["client_id"] or ""


_OTHER_WILDCARDS: Final = re.compile(r"[?\[]")

_BY_HASH: Final = frozenset({"kubernetes", "argo_rollouts"})


def _fits(name: str, pattern: str) -> bool:
    """`*` matches any characters; ids may contain the other characters that are special to `fnmatch`."""
    return fnmatchcase(name, _OTHER_WILDCARDS.sub(r"[\g<0>]", pattern))


def _only(found: Sequence[PodMatch]) -> PodMatch | None:
    if len({(each.deploy.key, each.pod.name) for each in found}) != 1:
        return None
    return next((each for each in found if each.identifies), None)


def began(rebalance: GoldRow) -> tuple[int, int] | None:
    """Between which times (epoch ms) a rebalance began, by the best estimate; None where no time is known."""
    latest_ms, ended_ms = rebalance["started_at"], rebalance["ended_at"]
    if latest_ms is None:
        return None if ended_ms is None else (ended_ms, ended_ms)
    estimate_ms = rebalance.get("duration_estimate_ms")
    if ended_ms is None or estimate_ms is None:
        return latest_ms, latest_ms
    return min(latest_ms, ended_ms - estimate_ms), latest_ms


def _is_proven(row: GoldRow) -> bool:
    return bool(
        row["cause"] in _OF_MEMBERS and row["role"] != "meanwhile" and row["certainty"] == "proven"
    )


def _has_other_cause(causes: Sequence[GoldRow]) -> bool:
    """Whether it is proven that no member began the rebalance by joining or leaving."""
    return (
        bool(causes)
        and causes[0]["certainty"] == "proven"
        and (causes[0]["cause"] not in _OF_MEMBERS)
    )


def _evidence(event: MemberEvent, match: PodMatch) -> TieEvidence:
    return TieEvidence(
        match.matched_by,
        event.member["member_id"],
        event.change,
        event.to_ms,
        match.pod.name,
        match.change.what,
        match.change.at_ms,
    )
