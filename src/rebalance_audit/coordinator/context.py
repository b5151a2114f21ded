"""What all handlers of one coordinator share, and how a protocol registers its handlers."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from rebalance_audit.coordinator.handling import (
    NOTHING_TO_DO,
    CoordinatorConfig,
    IdSource,
    RecordDraft,
    Reply,
    Result,
    Timer,
    TimerChange,
    TimerKind,
    TopicImage,
)
from rebalance_audit.coordinator.reasons import Bump, Departure, Meanwhile
from rebalance_audit.replay.changes import Change, GroupType
from rebalance_audit.replay.groups import Group, GroupSlot, ModernGroup
from rebalance_audit.replay.shard import Shard


@dataclass(slots=True)
class CoordinatorContext:
    """Hard state, settings and the outside world of one coordinator."""

    shard: Shard
    config: CoordinatorConfig
    image: TopicImage
    ids: IdSource

    def group(self, group_id: str) -> Group | None:
        """The group object that replay holds for the id."""
        slot = self.shard.slot(group_id)
        return None if slot is None else slot.group

    def holder(self, group_id: str) -> GroupType:
        """Whose handlers serve a group id: those of its group's type, or the classic ones if the id is free.

        An id without a group and a modern group without members are free: the classic protocol may take them.
        """
        group = self.group(group_id)
        if isinstance(group, ModernGroup) and group.members:
            return group.group_type
        return GroupType.CLASSIC


RequestHandler: TypeAlias = Callable[[Any, int, int], Result]
"""(request, token, now_ms) -> what it does."""

TimerHandler: TypeAlias = Callable[[Timer, int], Result]
"""(timer, now_ms) -> what it does."""


class Route(NamedTuple):
    """A row key of the dispatch table: a request type for groups of one type, or for all others (None)."""

    request_type: type
    holder: GroupType | None = None


class TimerRoute(NamedTuple):
    """A row key of the timers' dispatch table; a modern group without members keeps its type."""

    kind: TimerKind
    holder: GroupType | None = None


class ProtocolHandlers:
    """The handlers of one protocol, with the soft state that they share."""

    requests: Mapping[Route, RequestHandler]
    """The requests that it answers."""
    timers: Mapping[TimerRoute, TimerHandler] = {}
    """The timers that it serves."""

    def loaded(self, _now_ms: int) -> Result:
        """Build soft state from hard state after a load and arm its timers."""
        return NOTHING_TO_DO

    def applied(self, slot: GroupSlot, changes: Iterable[Change]) -> None:
        """Update soft state after replay changed a group."""

    def image_changed(self, _now_ms: int) -> Result:
        """Update soft state after topics changed; the context has the new image."""
        return NOTHING_TO_DO


class ResultDraft:
    """A `Result` in the making."""

    __slots__ = ("bumps", "departures", "meanwhile", "records", "replies", "timers")

    def __init__(self) -> None:
        """Nothing happened yet."""
        self.records: list[RecordDraft] = []
        self.replies: list[Reply] = []
        self.timers: dict[Timer, int | None] = {}
        """Timer -> its deadline, or None if disarmed, in the order they were first set."""
        self.bumps: list[Bump] = []
        self.departures: list[Departure] = []
        self.meanwhile: list[Meanwhile] = []

    def bump(self, bump: Bump) -> None:
        """Record why a group enters another epoch or generation."""
        self.bumps.append(bump)

    def happen(self, meanwhile: Meanwhile) -> None:
        """Record what happens in a join phase."""
        self.meanwhile.append(meanwhile)

    def depart(self, departure: Departure) -> None:
        """Record why a member is gone."""
        self.departures.append(departure)

    def reply(self, token: int, response: tuple[object, ...]) -> None:
        """Answer a request."""
        self.replies.append(Reply(token, response))

    def arm(self, timer: Timer, deadline_ms: int) -> None:
        """Arm a timer, or move its deadline."""
        self.timers[timer] = deadline_ms

    def cancel(self, timer: Timer) -> None:
        """Disarm a timer; one that is not armed stays so."""
        self.timers[timer] = None

    def add(self, result: Result) -> None:
        """Add everything of another result."""
        self.records += result.records
        self.replies += result.replies
        self.timers.update(result.timers)
        self.bumps += result.bumps
        self.departures += result.departures
        self.meanwhile += result.meanwhile

    def result(self, *, atomic: bool = True) -> Result:
        """All of it as one write."""
        return Result(
            tuple(self.records),
            tuple(self.replies),
            tuple(TimerChange(timer, deadline) for timer, deadline in self.timers.items()),
            atomic,
            bumps=tuple(self.bumps),
            departures=tuple(self.departures),
            meanwhile=tuple(self.meanwhile),
        )
