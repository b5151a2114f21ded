"""The group coordinator of one log partition: requests and timers in, records, replies and timers out.

It holds no state of its own. Hard state is in the shard, which only replay writes; soft state is with each protocol.
Whoever drives it appends the records of a result, applies them to the shard, hands the changes to `applied`, sends the
replies, and arms the timers.
"""

from collections.abc import Iterable, Sequence

from rebalance_audit.coordinator.classic.handlers import ClassicHandlers
from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.consumer.handlers import ConsumerHandlers
from rebalance_audit.coordinator.context import (
    CoordinatorContext,
    ProtocolHandlers,
    RequestHandler,
    ResultDraft,
    Route,
    TimerHandler,
    TimerRoute,
)
from rebalance_audit.coordinator.handling import (
    CoordinatorConfig,
    IdSource,
    Prolonged,
    Result,
    Timer,
    TopicImage,
)
from rebalance_audit.coordinator.offset_commits import OffsetCommits
from rebalance_audit.coordinator.offset_reads import OffsetReads
from rebalance_audit.coordinator.offset_removal import OffsetRemoval
from rebalance_audit.coordinator.requests.classic import HeartbeatRequest
from rebalance_audit.coordinator.requests.consumer import ConsumerGroupHeartbeatRequest
from rebalance_audit.coordinator.share.handlers import ShareHandlers
from rebalance_audit.coordinator.streams.handlers import StreamsHandlers
from rebalance_audit.replay.changes import Change
from rebalance_audit.replay.groups import GroupSlot, type_of
from rebalance_audit.replay.shard import Shard


class GroupCoordinator:
    """Dispatch by table: (request type, type of the group) -> handler."""

    def __init__(
        self, shard: Shard, config: CoordinatorConfig, image: TopicImage, ids: IdSource
    ) -> None:
        """Serves the shard's groups; call `loaded` before the first request."""
        self.context = CoordinatorContext(shard, config, image, ids)
        self._classic = classic = ClassicHandlers(self.context)
        self._consumer = ConsumerHandlers(self.context, classic)
        self._protocols: Sequence[ProtocolHandlers] = (
            classic,
            self._consumer,
            ShareHandlers(self.context),
            StreamsHandlers(self.context),
            OffsetCommits(self.context, classic),
            OffsetReads(self.context),
            OffsetRemoval(self.context, classic),
        )
        self._requests: dict[Route, RequestHandler] = {}
        self._timers: dict[TimerRoute, TimerHandler] = {}
        for protocol in self._protocols:
            for table, rows in (
                (self._requests, protocol.requests),
                (self._timers, protocol.timers),
            ):
                twice = table.keys() & rows.keys()
                assert not twice, f"two protocols serve {twice}"
                table.update(rows)  # type: ignore[arg-type]
        self._for_holders = {route.request_type for route in self._requests if route.holder}
        """Request types whose handler depends on the type of the group."""

    def handle(self, request: tuple[object, ...], token: int, now_ms: int) -> Result:
        """Serve a request. `token` comes back with its reply, now or in a later result; it is never used twice."""
        kind = type(request)
        handler = None
        if kind in self._for_holders:
            group_id: str = request.group_id  # type: ignore[attr-defined]
            handler = self._requests.get(Route(kind, self.context.holder(group_id)))
        return (handler or self._requests[Route(kind)])(request, token, now_ms)

    def prolonged(self, request: tuple[object, ...], now_ms: int) -> Prolonged | None:
        """What a quiet heartbeat does: no record, an answer without news, and a session that starts now.

        None for every other request, and for a heartbeat that may do more: `handle` serves those.
        """
        if isinstance(request, ConsumerGroupHeartbeatRequest):
            return self._consumer.prolonged(request, now_ms)
        if isinstance(request, HeartbeatRequest):
            return self._classic.prolonged(request, now_ms)
        return None

    def fire(self, timer: Timer, now_ms: int) -> Result:
        """Serve a timer whose deadline has passed; one that is out of date does nothing."""
        group = self.context.group(timer.group_id)
        holder = None if group is None else type_of(group)
        handler = self._timers.get(TimerRoute(timer.kind, holder))
        return (handler or self._timers[TimerRoute(timer.kind)])(timer, now_ms)

    def loaded(self, now_ms: int) -> Result:
        """Start serving after the log was replayed into the shard: build soft state, start timers now."""
        outcome = ResultDraft()
        for protocol in self._protocols:
            outcome.add(protocol.loaded(now_ms))
        return outcome.result()

    def applied(self, slot: GroupSlot, changes: Iterable[Change]) -> None:
        """Notify the protocols of what replay did with a record of the last result."""
        for protocol in self._protocols:
            protocol.applied(slot, changes)

    def live_group(self, group_id: str) -> LiveGroup | None:
        """The classic group of that id, with its phase and parked requests; None if there is none."""
        return self._classic.live(group_id)

    def image_changed(self, image: TopicImage, now_ms: int) -> Result:
        """Take over the topics as the metadata log has them now."""
        self.context.image = image
        outcome = ResultDraft()
        for protocol in self._protocols:
            outcome.add(protocol.image_changed(now_ms))
        return outcome.result()
