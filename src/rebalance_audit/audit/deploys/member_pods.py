"""Pods that members of a group may have run in."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from rebalance_audit.audit.deploys import pod_name, values
from rebalance_audit.audit.deploys.rollout import (
    CLOCKS_MS,
    SETTLES_MS,
    STALLS_MS,
    DeployIndex,
    Pod,
    Rollout,
)

GoldRow: TypeAlias = Mapping[str, Any]
Key = TypeVar("Key")
_Identity: TypeAlias = tuple[str, str | None]
_NAMES: Final = ("instance_id", "client_id")
JOINS: Final = frozenset({"member_joined", "static_member_joined"})
_EXPIRED: Final = frozenset({"member_session_expired", "static_member_expired"})
REPLACED: Final = "static_member_replaced"


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


class MemberEvent(NamedTuple):
    """A member that joined or left. It happened between the two times (epoch ms)."""

    cause: str
    member: GoldRow
    from_ms: int
    to_ms: int

    @property
    def change(self) -> str:
        """What the member did."""
        if self.cause == REPLACED:
            return "replaced"
        return "joined" if self.cause in JOINS else "left"


class PodChange(NamedTuple):
    """What happened to the pod when the member joined or left."""

    what: str
    """`created` or `deleted`."""
    at_ms: int
    is_sole: bool
    """Whether the member is the first that the new pod can have had, or the last of the old one."""
    in_order: bool
    """Whether the pod changed first, by its clock, and the member joined or ended by itself then, by the broker's."""


class PodMatch(NamedTuple):
    """A pod that may be that of a member."""

    deploy: Rollout
    pod: Pod
    matched_by: MatchedBy
    identifies: bool
    """Whether no other process can look like this."""
    change: PodChange


class MemberPods:
    """Finds the pods of a group's members; takes rows of gold.members, times in epoch milliseconds."""

    def __init__(self, index: DeployIndex, members: Iterable[GoldRow]) -> None:
        members = list(members)
        self._index = index
        self._first_seen = times_by_key(
            (identity, row["first_seen_at"]) for row in members for identity in _identities(row)
        )
        self._of_pod = times_by_key(
            (pod, row["first_seen_at"]) for row in members for pod in _pods_in(row, index)
        )
        self._last: tuple[str, list[tuple[str, bool]]] = ("", [])

    def of(self, event: MemberEvent) -> list[PodMatch]:
        """Pods that were created or deleted when the member joined or left, and may be its own."""
        return _latest(self._found(event))

    def _found(self, event: MemberEvent) -> Iterator[PodMatch]:
        member = event.member
        until_ms = event.to_ms + CLOCKS_MS
        for column in _NAMES:
            name = member[column]
            for part, is_at_start in self.parts(name):
                named = self._index.named(part, until_ms)
                for deploy, pod in named:
                    # A random suffix is one pod's alone. A name without one may be used again, in another namespace,
                    # or by an application that numbers its clients.
                    generated = pod_name.is_generated(pod.name)
                    change = self._change_of(event, pod, (column, name))
                    if change is None or not (generated or (is_at_start and change.is_sole)):
                        continue
                    in_order = change.in_order or change.what == "created"
                    identifies = generated and change.is_sole and in_order
                    identifies = identifies and _is_first(event, change, self._of_pod[part])
                    yield PodMatch(deploy, pod, MatchedBy.POD_NAME, identifies, change)
                if self._index.has_named(part):
                    break
        address = values.address(member["client_host"])
        for deploy, pod in () if address is None else self._index.at_address(address, until_ms):
            # The address of a pod that was created again is that of the new one.
            restarted = pod.created_ms is not None and pod.deleted_ms is not None
            now = pod._replace(deleted_ms=None) if restarted else pod
            change = self._change_of(event, now, (str(address), member["client_id"]))
            if change is not None:
                identifies = pod.has_own_address and change.is_sole and change.in_order
                times = self._first_seen.get((str(address), None), [])
                identifies = identifies and _is_first(event, change, times)
                yield PodMatch(deploy, pod, MatchedBy.POD_ADDRESS, identifies, change)

    def _change_of(self, event: MemberEvent, pod: Pod, identity: _Identity) -> PodChange | None:
        """What happened to the pod, if that fits what the member did."""
        seen_ms = event.member.get("first_seen_at")
        if seen_ms is None:
            return None
        times = self._first_seen.get(identity, [])
        if event.change == "left":
            return _deleted(event, pod, seen_ms, times)
        created_ms = pod.created_ms
        if created_ms is None or not (
            created_ms - CLOCKS_MS <= event.to_ms and event.from_ms <= created_ms + STALLS_MS
        ):
            return None
        earlier = bisect_left(times, seen_ms) - bisect_left(times, created_ms - CLOCKS_MS)
        return PodChange(
            "created",
            created_ms,
            is_sole=earlier <= 0 and seen_ms >= event.from_ms,
            in_order=event.to_ms >= created_ms,
        )

    def parts(self, name: str | None) -> list[tuple[str, bool]]:
        """Parts of an id that are whole segments, and whether each is at its start."""
        if not name:
            return []
        if name != self._last[0]:
            self._last = (name, list(pod_name.spans(name)))
        return self._last[1]


def _deleted(event: MemberEvent, pod: Pod, seen_ms: int, times: Sequence[int]) -> PodChange | None:
    """The deletion of the pod, if the member was in the group before it and left after it.

    `times`: when members of the same id were first seen (epoch ms), in order.
    """
    session_ms = event.member.get("session_timeout_ms") or 0
    deleted_ms = pod.deleted_ms
    # A later member may be that of the next pod.
    if deleted_ms is None or seen_ms > deleted_ms - CLOCKS_MS:
        return None
    if event.to_ms < deleted_ms - CLOCKS_MS or (
        event.from_ms > deleted_ms + SETTLES_MS + session_ms
    ):
        return None
    # What expires after the deletion may have crashed before it.
    alive_ms = event.to_ms - session_ms if event.cause in _EXPIRED and session_ms else event.to_ms
    ended_itself = event.cause == "member_left" or (event.cause in _EXPIRED and session_ms > 0)
    return PodChange(
        "deleted",
        deleted_ms,
        is_sole=bisect_right(times, seen_ms) == bisect_right(times, deleted_ms),
        in_order=alive_ms >= deleted_ms and ended_itself,
    )


def _is_first(event: MemberEvent, change: PodChange, of_pod: Sequence[int]) -> bool:
    """Whether the member is one of those that a new pod begins with; true of a deleted pod.

    A process starts its threads at once. It starts a consumer anew, under the next client id, when one has failed.
    `of_pod`: when members of the pod were first seen (epoch ms), in order.
    """
    if change.what == "deleted":
        return True
    started_ms = event.member["first_seen_at"] - CLOCKS_MS
    return bisect_left(of_pod, started_ms) <= bisect_left(of_pod, change.at_ms - CLOCKS_MS)


def times_by_key(found: Iterable[tuple[Key, int | None]]) -> defaultdict[Key, list[int]]:
    """Key -> its times (epoch ms), in order; those that are None are left out."""
    times: defaultdict[Key, list[int]] = defaultdict(list)
    for key, at_ms in found:
        if at_ms is not None:
            times[key].append(at_ms)
    for of_key in times.values():
        of_key.sort()
    return times


def _pods_in(member: GoldRow, index: DeployIndex) -> set[str]:
    parts = (part for column in _NAMES for part, _ in pod_name.spans(member[column] or ""))
    return set(filter(index.has_named, parts))


def _identities(member: GoldRow) -> Iterator[_Identity]:
    """Instance id, client id, host with client id, and host."""
    yield from ((column, member[column]) for column in _NAMES)
    address = values.address(member["client_host"])
    if address is not None:
        yield from ((address, member["client_id"]), (address, None))


def _latest(found: Iterable[PodMatch]) -> list[PodMatch]:
    """A workload's later pod of the same name, or at the same address, takes the place of the earlier one."""
    latest: dict[tuple[object, str, MatchedBy], PodMatch] = {}
    for match in found:
        key = (match.deploy.source, match.pod.name, match.matched_by)
        if key not in latest or latest[key].change.at_ms < match.change.at_ms:
            latest[key] = match
    return list(latest.values())
