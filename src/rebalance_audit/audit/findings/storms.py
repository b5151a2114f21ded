"""Too much at once: storms of epochs, loops that no join or departure explains, series of expired sessions."""

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import field
from typing import NamedTuple, Self

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.finding import MEMBERS_LIMIT, AtLogEnd, Ending, Severity
from rebalance_audit.audit.findings.watcher import Trail, Watcher
from rebalance_audit.audit.findings.waves import deploy_waves_of
from rebalance_audit.audit.members.stint import Stint
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import Certainty, Evidence, RebalanceCause
from rebalance_audit.replay.changes import Position
from rebalance_audit.sentences.reason import CodedReason, because

UNMOVED_CAUSES = frozenset(
    {
        RebalanceCause.LEADER_REJOINED,
        RebalanceCause.SUBSCRIPTION_CHANGED,
        RebalanceCause.TOPIC_METADATA_CHANGED,
        RebalanceCause.REGEX_RESOLVED,
        RebalanceCause.ASSIGNOR_CHANGED,
        RebalanceCause.CLIENT_ASSIGNOR_REQUESTED,
        RebalanceCause.COOPERATIVE_FOLLOW_UP,
        RebalanceCause.ASSIGNMENT_ONLY,
    }
)
"""Causes that need no member to come or go."""


class _Began(NamedTuple):
    position: Position
    epoch: int
    cause: RebalanceCause
    members: int

    @classmethod
    def of(cls, span: EpochSpan) -> Self:
        """The beginning, with the epoch's primary cause."""
        cause = span.verdicts[0].cause if span.verdicts else RebalanceCause.UNKNOWN
        return cls(span.first_position, span.epoch, cause, span.members)

    def evidence(self) -> Evidence:
        """The record that shows the epoch's beginning."""
        return evidence_at(self.position, "epoch_by", epoch=self.epoch, cause=self.cause.text)


class RebalanceStorm(Watcher):
    """Counts epochs in a sliding window."""

    kind = "rebalance_storm"
    definition = (
        "At least {storm_epochs} epochs, and {storm_epochs_per_member} for each member, began within "
        "{storm_window_ms}, and the group did not grow by more than half as many members in that time. Epochs in a "
        "rollout (deploy_wave) do not count."
    )
    severity = Severity.WARNING
    at_log_end = AtLogEnd.ENDS

    _window: deque[_Began] = field(default_factory=deque)
    """The latest epochs; never more than make a storm of a group of this size."""
    _began: Position | None = None
    _last: Position | None = None
    _epochs: int = 0
    _needed: int = 0
    """How many epochs it took."""
    _causes: Counter[str] = field(default_factory=Counter)
    _trail: Trail = field(default_factory=Trail)

    def epoch_began(self, span: EpochSpan) -> None:
        """Begin, continue or end a storm."""
        at_ms = span.first_position.record_timestamp_ms
        latest = _Began.of(span)
        self._window.append(latest)
        if self._continues(at_ms) if self._began is not None else self._is_storm(at_ms, latest):
            first = self._window[0].position
            if self._began is None:
                self._began = first
                for earlier in self._window:
                    self._count(earlier)
            else:
                self._count(latest)
        elif self._began is not None:
            self._close(self._last)

    def _is_storm(self, at_ms: int, latest: _Began) -> bool:
        """Whether enough epochs for a group of this size began within the time; forgets those that are too many."""
        members = max(latest.members, self._window[0].members)
        needed = max(1, self.rules.storm_epochs, self.rules.storm_epochs_per_member * members)
        while len(self._window) > needed:
            self._window.popleft()
        first = self._window[0]
        # A group that starts has an epoch for each of its members, and that is no storm.
        is_starting = 2 * (latest.members - first.members) > len(self._window)
        in_time = at_ms - first.position.record_timestamp_ms <= self.rules.storm_window_ms
        self._needed = needed
        return len(self._window) == needed and in_time and not is_starting

    def _continues(self, at_ms: int) -> bool:
        """Whether epochs still come as fast as a small group's storm."""
        least = max(1, self.rules.storm_epochs)
        while len(self._window) > least:
            self._window.popleft()
        first_ms = self._window[0].position.record_timestamp_ms
        return at_ms - first_ms <= self.rules.storm_window_ms

    def ended(self, end: Ending) -> None:
        """A storm that still goes on when the log ends has no end time."""
        if self._last is not None and self._began is not None:
            over_ms = self._last.record_timestamp_ms + self.rules.storm_window_ms + 1
            self._close(None if end.hides(over_ms) else self._last)

    def _count(self, began: _Began) -> None:
        self._last = began.position
        self._epochs += 1
        self._causes[began.cause.text] += 1
        self._trail.add(began.evidence())

    def _close(self, end: Position | None) -> None:
        assert self._began is not None
        assert self._last is not None
        began_ms, last_ms = self._began.record_timestamp_ms, self._last.record_timestamp_ms
        rolled_out = sum(
            each.share(each.epochs, began_ms, last_ms)
            for each in deploy_waves_of(self.scene).between(began_ms, last_ms)
        )
        took_ms, causes = last_ms - began_ms, self._causes.most_common(3)
        if self._epochs - rolled_out >= self._needed:
            self.find(
                self._began,
                end.record_timestamp_ms if end else None,
                because("storm", epochs=self._epochs, took=took_ms, causes=causes),
                self._trail.evidence(),
            )
        self._began, self._epochs = None, 0
        self._causes.clear()
        self._trail = Trail()


class RebalanceLoop(Watcher):
    """Follows runs of epochs with one cause in which no member came or went."""

    kind = "rebalance_loop"
    definition = (
        "At least {loop_epochs} epochs in a row, and {loop_epochs_per_member} for each member that set one off, each "
        "within {loop_pause_ms} of the one before, without a member that joined or left and all "
        "with the same cause: the leader rejoins, subscriptions or topic metadata flap."
    )
    severity = Severity.WARNING
    at_log_end = AtLogEnd.ENDS

    _cause: RebalanceCause | None = None
    _began: Position | None = None
    _last_ms: int = 0
    _epochs: int = 0
    _trail: Trail = field(default_factory=Trail)
    _members: Counter[str] = field(default_factory=Counter)

    def epoch_began(self, span: EpochSpan) -> None:
        """Continue the run, or end it."""
        cause = span.verdicts[0].cause if span.verdicts else RebalanceCause.UNKNOWN
        at_ms = span.first_position.record_timestamp_ms
        unmoved = cause in UNMOVED_CAUSES and not span.members_joined and not span.members_left
        if (
            not unmoved
            or cause is not self._cause
            or at_ms - self._last_ms > self.rules.loop_pause_ms
        ):
            self._close(self._last_ms)
        if not unmoved:
            self._cause = None
            return
        if self._began is None:
            self._cause, self._began = cause, span.first_position
        self._last_ms = at_ms
        self._epochs += 1
        self._trail.add(_Began.of(span).evidence())
        member_id = span.verdicts[0].member_id
        if member_id is not None and (
            member_id in self._members or len(self._members) < self._members_kept()
        ):
            self._members[member_id] += 1

    def _members_kept(self) -> int:
        return max(100, len(self.scene.life.watches))

    def _is_loop(self) -> bool:
        """A change that is rolled out sets off one epoch for each member: that is no loop."""
        of_members = self.rules.loop_epochs_per_member * len(self._members)
        return self._epochs >= max(self.rules.loop_epochs, of_members)

    def ended(self, end: Ending) -> None:
        """A loop that still goes on when the log ends has no end time."""
        going_on = self._is_loop() and end.hides(self._last_ms + self.rules.loop_pause_ms + 1)
        self._close(None if going_on else self._last_ms)

    def _close(self, end_ms: int | None) -> None:
        if self._began is not None and self._is_loop():
            began_ms = self._began.record_timestamp_ms
            mean_ms = (self._last_ms - began_ms) // max(1, self._epochs - 1)
            members = [member_id for member_id, _ in self._members.most_common()]
            self.find(
                self._began,
                end_ms,
                [
                    because(
                        "loop",
                        epochs=self._epochs,
                        cause="" if self._cause is None else self._cause.text,
                        mean=mean_ms,
                    ),
                    *([because("set_off_by", members=members)] if members else ()),
                    *([because("mixed_subscriptions")] if self._is_mixed() else ()),
                ],
                self._trail.evidence(),
                members=members,
            )
        self._began, self._epochs = None, 0
        self._trail = Trail()
        self._members.clear()

    def _is_mixed(self) -> bool:
        subscriptions = {
            (watch.stint.identity.subscribed_topics, watch.stint.identity.subscribed_regex)
            for watch in self.scene.life.watches.values()
        }
        return len(subscriptions) > 1


class SessionExpiries(Watcher):
    """Counts expired sessions in a sliding window."""

    kind = "session_expiries"
    definition = (
        "At least {expiries} members' sessions, and {expiries_share_percent} % of the members, ran out within "
        "{expiries_window_ms}, not counting those in a rollout (deploy_wave), nor members that a new coordinator never "
        "saw (coordinator_moved). Without a broker's log "
        "(`--broker-log`) that is probable at best, and a departure that may have been a leave does not count: see "
        "`audit.consumer_session_timeout_ms`."
    )
    severity = Severity.WARNING
    at_log_end = AtLogEnd.ENDS

    _window: deque[tuple[Position, str, bool]] = field(default_factory=deque)
    """(Position, member id, whether it is proven); never more than a series needs."""
    _size: int = 0
    """Largest number of members since the first of these."""
    _began: Position | None = None
    _last: Position | None = None
    _expired: int = 0
    _proven: int = 0
    _least: int = 0
    """How many make it a series."""
    _members: list[str] = field(default_factory=list)
    _trail: Trail = field(default_factory=Trail)

    def members_changed(
        self, arrivals: Sequence[Stint], departures: Sequence[Row], position: Position
    ) -> None:
        """Begin, continue or end a series."""
        at_ms = position.record_timestamp_ms
        if self._last is not None and self._is_over(at_ms, self._last):
            self._close(self._last)
        for row in departures:
            if row["left_how"] != RebalanceCause.MEMBER_SESSION_EXPIRED.text:
                continue
            if row["last_sign_leader_epoch"] != position.leader_epoch:
                continue
            is_proven = row["left_certainty"] == Certainty.PROVEN.text
            needed = self._needed(len(self.scene.life.watches) + len(departures), at_ms)
            self._window.append((position, row["member_id"], is_proven))
            if self._began is not None:
                self._count(position, row["member_id"], is_proven)
                continue
            while len(self._window) > needed:
                self._window.popleft()
            if len(self._window) == needed:
                self._began, self._least = self._window[0][0], needed
                for earlier in self._window:
                    self._count(*earlier)

    def _needed(self, members: int, at_ms: int) -> int:
        """How many make a series in a group of this size; forgets those that are too long ago for one."""
        while self._window and self._is_over(at_ms, self._window[0][0]):
            self._window.popleft()
        self._size = max(members, self._size) if self._window else members
        of_members = -(-self._size * self.rules.expiries_share_percent // 100)
        return max(1, self.rules.expiries, of_members)

    def ended(self, end: Ending) -> None:
        """A series that may still go on when the log ends has no end time."""
        if self._last is not None:
            over_ms = self._last.record_timestamp_ms + self.rules.expiries_window_ms + 1
            self._close(None if end.hides(over_ms) else self._last)

    def _is_over(self, at_ms: int, last: Position) -> bool:
        return at_ms - last.record_timestamp_ms > self.rules.expiries_window_ms

    def _count(self, position: Position, member_id: str, is_proven: bool) -> None:
        self._last = position
        self._expired += 1
        self._proven += is_proven
        if len(self._members) < MEMBERS_LIMIT:
            self._members.append(member_id)
        code = "session_expired" if is_proven else "session_probably_expired"
        self._trail.add(evidence_at(position, code, member=member_id))

    def _close(self, end: Position | None) -> None:
        assert self._began is not None
        assert self._last is not None
        began_ms, last_ms = self._began.record_timestamp_ms, self._last.record_timestamp_ms
        took_ms = last_ms - began_ms
        facts = {"sessions": self._expired, "took": took_ms}
        reason = CodedReason("sessions_probably_expired", facts)
        if self._proven == self._expired:
            reason = CodedReason("sessions_expired", facts)
        elif self._proven:
            reason = CodedReason("sessions_partly_proven", facts | {"proven": self._proven})
        rolled_out = sum(
            each.share(each.killed, began_ms, last_ms)
            for each in deploy_waves_of(self.scene).between(began_ms, last_ms)
        )
        if self._expired - rolled_out >= self._least:
            self.find(
                self._began,
                end.record_timestamp_ms if end else None,
                reason,
                self._trail.evidence(),
                members=list(dict.fromkeys(self._members)),
            )
        self._began, self._last = None, None
        self._expired = self._proven = 0
        self._members = []
        self._trail = Trail()
