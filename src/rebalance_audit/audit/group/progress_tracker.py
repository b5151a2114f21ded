"""The progress of members to the current epoch: of those for which something happened, and of the others as a count."""

from collections.abc import Mapping
from itertools import islice
from typing import Protocol

from rebalance_audit import limits
from rebalance_audit.audit.epochs.epoch_span import EpochSpan, MemberProgress
from rebalance_audit.audit.group.rebalance import Rebalance
from rebalance_audit.audit.members.stint import Identity, MemberWatch
from rebalance_audit.replay.changes import GroupType

_QUIET_EPOCHS = limits.QUIET_EPOCHS.most
_QUIET_MEMBERS = limits.QUIET_MEMBERS
_QUIET_SCANNED = 200
"""In a rebalance of more than _QUIET_EPOCHS epochs, findings examine no more than _QUIET_MEMBERS of the members without
a record in an epoch, among the first _QUIET_SCANNED members: all of them would cost members times epochs."""


class FollowedLife(Protocol):
    """What is read of a life that goes on."""

    span: EpochSpan | None
    rebalance: Rebalance | None

    @property
    def watches(self) -> Mapping[str, MemberWatch]:
        """The members, by their ids."""


class ProgressTracker:
    """Follows the members of one life; what it knows follows from the life's state."""

    def __init__(self, life: FollowedLife) -> None:
        self._life = life
        self._arrived: list[str] | None = None
        """Member ids that appeared since the current epoch began; None until it is known."""
        self.last_signs: dict[str, int] = {}
        """Members that the write removed: when each was last heard of (epoch ms)."""

    def arrived(self, member_id: str) -> None:
        """A member id appeared."""
        if self._arrived is not None:
            self._arrived.append(member_id)

    def left(self, watch: MemberWatch) -> None:
        """A member is gone."""
        self.last_signs[watch.stint.member_id] = watch.last_sign_ms

    def forget_arrivals(self) -> None:
        """Another epoch begins that does not ask for them."""
        self._arrived = None

    def begin(self, before: EpochSpan | None) -> None:
        """The current epoch has just begun with all members: follow those that came since `before` began."""
        span = self._life.span
        if span is None:
            return
        span.untouched = len(self._life.watches)
        arrived = self._arrived
        if arrived is None:
            since = -1 if before is None else before.first_position.log_offset
            arrived = [
                member_id
                for member_id, watch in self._life.watches.items()
                if watch.stint.first_position.log_offset > since
            ]
        self._arrived = []
        for member_id in arrived:
            self.of(member_id)

    def of(self, member_id: str) -> MemberProgress | None:
        """A member's progress to the current epoch, from now on followed; None if the epoch did not begin with it.

        Call it before the member's watch takes over what a record shows.
        """
        span, watch = self._life.span, self._life.watches.get(member_id)
        if span is None:
            return None
        progress = span.progress.get(member_id)
        if progress is None and watch is not None and _is_untouched(span, watch):
            progress = span.progress[member_id] = self._untouched_progress(span, watch)
            span.untouched -= 1
        return progress

    def _untouched_progress(self, span: EpochSpan, watch: MemberWatch) -> MemberProgress:
        progress = self.start(watch.stint.member_id, span.first_position.record_timestamp_ms)
        progress.go_on(watch)
        progress.by_two_clocks = span.untouched_by_two_clocks
        return progress

    def complete(self, span: EpochSpan) -> None:
        """The epoch is over: follow those that others waited for, and if the log ends, all that have not reached it."""
        awaited = {each for progress in span.progress.values() for each in progress.waited_for}
        for member_id in self._life.watches if span.outcome == "open" else sorted(awaited):
            self.of(member_id)
        span.quiet = self._quiet(span)

    def to(self, span: EpochSpan) -> list[MemberProgress]:
        """Of the members of the current epoch or of the one before; of many without a record in it only some."""
        return [
            *span.progress.values(),
            *(self._quiet(span) if span is self._life.span else span.quiet),
        ]

    def _quiet(self, span: EpochSpan) -> list[MemberProgress]:
        if not span.untouched:
            return []
        is_long = self._life.rebalance is not None and self._life.rebalance.epochs > _QUIET_EPOCHS
        scanned = islice(self._life.watches.values(), _QUIET_SCANNED if is_long else None)
        quiet = (
            self._untouched_progress(span, watch)
            for watch in scanned
            if watch.stint.member_id not in span.progress and _is_untouched(span, watch)
        )
        return list(islice(quiet, _QUIET_MEMBERS if is_long else None))

    def start(self, member_id: str, started_at_ms: int | None) -> MemberProgress:
        """Start to follow a member's progress to an epoch, from its current assignment."""
        watch = self._life.watches.get(member_id)
        identity, partitions = Identity(), 0
        if watch is not None:
            identity, partitions = watch.stint.identity, watch.partitions
        who = identity.instance_id, identity.client_id, identity.client_host
        return MemberProgress(member_id, *who, started_at_ms, partitions)


def _is_untouched(span: EpochSpan, watch: MemberWatch) -> bool:
    """Whether a member that is not in the progress of the epoch belongs to it: it was there before the epoch began."""
    first = watch.stint.first_position.log_offset
    return span.protocol != GroupType.CLASSIC and first < span.first_position.log_offset
