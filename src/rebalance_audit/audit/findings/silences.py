"""Silent members: series of expired sessions, and whole groups from which a new coordinator never heard."""

from collections import deque
from collections.abc import Sequence
from dataclasses import field

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.findings.ending import Ending
from rebalance_audit.audit.findings.finding import MEMBERS_LIMIT, Severity
from rebalance_audit.audit.findings.finding_kind import AtLogEnd
from rebalance_audit.audit.findings.watcher import AfterMove, Trail, Watcher
from rebalance_audit.audit.findings.waves import deploy_waves_of
from rebalance_audit.audit.members.stint import Stint
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause
from rebalance_audit.replay.changes import GroupType, MemberAssigned, Position
from rebalance_audit.replay.groups.slot import Group, type_of
from rebalance_audit.sentences.reason import CodedReason, because


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


class GroupNotServed(AfterMove):
    """Follows a consumer group from a move of its coordinator until a member is heard from, or all are gone."""

    kind = "group_not_served"
    definition = (
        "The coordinator of a consumer group with two members or more changed (the log's leader epoch rose), and all "
        "were removed without one record that a living member causes: the new broker does not "
        "serve the consumer protocol (`group.version` is not set, or its release is too old), "
        "or clients and broker went down together."
    )
    severity = Severity.WARNING
    changes = (MemberAssigned,)

    _gone: list[str] = field(default_factory=list)

    def members_changed(
        self, arrivals: Sequence[Stint], departures: Sequence[Row], position: Position
    ) -> None:
        """A member that joins, or has committed, is served; one that goes may be the first of all to go."""
        heard = any(row["last_sign_leader_epoch"] == self._leader_epoch for row in departures)
        if arrivals or heard:
            self._moved = None
        if self._moved is not None and departures:
            self._gone += [row["member_id"] for row in departures]
            self._trail.add(evidence_at(position, "members_gone", members=len(departures)))

    def changed(self, change: MemberAssigned, group: Group) -> None:
        """Only a living member's heartbeat writes an assignment record that is not a tombstone."""
        if not change.released:
            self._moved = None

    def wrote(self, position: Position, group: Group) -> None:
        """Whether any member is left."""
        super().wrote(position, group)
        if self._moved is None or self._members:
            return
        if self._members_before >= 2 and type_of(group) is GroupType.CONSUMER:
            self.find(
                self._moved,
                position.record_timestamp_ms,
                because(
                    "not_served",
                    old=self._old_epoch,
                    new=self._moved.leader_epoch,
                    members=self._members_before,
                ),
                self._trail.evidence(),
                members=self._gone,
            )
        self._moved = None

    def moves_on(self) -> None:
        """Members that went before this move do not count."""
        self._gone = []
