"""What the handlers of share and streams groups have in common."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, Generic, TypeVar

from rebalance_audit.coordinator.consumer.modern_work import SoftWork, group_of_type
from rebalance_audit.coordinator.context import (
    CoordinatorContext,
    RequestHandler,
    ResultDraft,
    Route,
    TimerHandler,
    TimerRoute,
)
from rebalance_audit.coordinator.handling import Dialect, RefusedError, Result, Timer, TimerKind
from rebalance_audit.replay.changes import Change, GroupType
from rebalance_audit.replay.groups import UNREVOKED, GroupSlot, ModernGroup, ModernMember

SERVED_FROM: Final = frozenset({Dialect.R4_1, Dialect.R4_3, Dialect.R4_4})

WorkT = TypeVar("WorkT", bound=SoftWork[Any])


class ModernHandlers(ABC, Generic[WorkT]):
    """Handlers of one group type, for all its groups of one coordinator."""

    group_type: ClassVar[GroupType]
    requests: Mapping[Route, RequestHandler]
    timers: Mapping[TimerRoute, TimerHandler]

    def __init__(self, context: CoordinatorContext) -> None:
        """Soft state is made when a group is first needed."""
        self._context = context
        self._image = context.image

    @abstractmethod
    def _work(self, group: ModernGroup, now_ms: int) -> WorkT:
        """Work on a group, with its soft state."""

    def _known(self, group_id: str) -> ModernGroup:
        return group_of_type(self._context, group_id, self.group_type)

    def _work_of(self, timer: Timer, now_ms: int) -> WorkT | None:
        try:
            return self._work(self._known(timer.group_id), now_ms)
        except RefusedError:
            return None

    def _member_of(self, timer: Timer, now_ms: int) -> tuple[WorkT, ModernMember] | None:
        work = self._work_of(timer, now_ms)
        member = None if work is None else work.group.members.get(timer.member_id)
        return None if work is None or member is None else (work, member)

    def _groups(self) -> Iterable[ModernGroup]:
        for slot in self._context.shard.groups():
            group = slot.group
            if isinstance(group, ModernGroup) and group.group_type is self.group_type:
                yield group

    def _changed_topics(self) -> set[str]:
        """Names of topics that differ from those of the last call."""
        image, before = self._context.image, self._image
        self._image = image
        names = {*before.names(), *image.names()}
        return {name for name in names if before.topic(name) != image.topic(name)}

    def loaded(self, now_ms: int) -> Result:
        """Restart all sessions; members that had to give something up get their rebalance timeout for that again."""
        outcome = ResultDraft()
        for group in self._groups():
            for member in group.members.values():
                member_id = member.member_id
                session = Timer(TimerKind.SESSION, group.group_id, member_id)
                outcome.arm(session, now_ms + self._context.config.consumer_session_timeout_ms)
                if member.member_state == UNREVOKED:
                    revocation = Timer(TimerKind.REBALANCE, group.group_id, member_id)
                    outcome.arm(revocation, now_ms + member.rebalance_timeout_ms)
        return outcome.result()

    def applied(self, slot: GroupSlot, changes: Iterable[Change]) -> None:
        """Soft state is made of requests alone."""
