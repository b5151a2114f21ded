"""What happened to the log and its coordinator, and groups that are no longer in use."""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.finding import AtLogEnd, Ending, Severity
from rebalance_audit.audit.findings.watcher import Trail, Watcher
from rebalance_audit.audit.members.stint import Stint
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.replay.changes import GroupStateChanged, GroupType, MemberAssigned, Position
from rebalance_audit.replay.groups import Group, type_of
from rebalance_audit.sentences.reason import because

_OF_ITS_OWN: Final = frozenset(
    {RebalanceCause.MEMBER_LEFT.text, RebalanceCause.MEMBER_REMOVED_BY_ADMIN.text}
)
"""Ends that no move of a coordinator brings about."""


class AfterMove(Watcher):
    """Watches the leader epoch of the log partition: when it rises, a new coordinator writes."""

    _leader_epoch: int | None = None
    _moved: Position | None = None
    """First record of the new coordinator, as long as the move matters."""
    _old_epoch: int = 0
    _members_before: int = 0
    _members: int = 0
    """Number of members as of the last write."""
    _trail: Trail = field(default_factory=Trail)

    def write_comes(self, position: Position) -> None:
        """Detect a move before the write that may show its consequences."""
        self.see(position)

    def wrote(self, position: Position, group: Group) -> None:
        """Detect a move; the first write of a group was not announced."""
        self.see(position)
        self._members = len(group.members)

    def see(self, position: Position) -> None:
        """Detect a move: the new coordinator's first record, or the earliest of its commits that is known."""
        leader_epoch = position.leader_epoch
        if leader_epoch is None:
            return
        before, self._leader_epoch = self._leader_epoch, leader_epoch
        if before is None or leader_epoch <= before:
            return
        self.moves_on()
        commits = [
            watch.last_commit.position
            for watch in self.scene.life.watches.values()
            if watch.last_commit is not None
            and watch.last_commit.position.leader_epoch == leader_epoch
        ]
        first = min((position, *commits), key=lambda each: each.log_offset)
        self._moved, self._old_epoch = first, before
        self._members_before = self._members
        self._trail = Trail()
        self._trail.add(evidence_at(first, "leader_epoch", new=leader_epoch, old=before))

    def moves_on(self) -> None:
        """The previous move is over, because another one follows."""


class CoordinatorMoved(AfterMove):
    """Watches what happens to the group right after its coordinator moved."""

    kind = "coordinator_moved"
    definition = (
        "The coordinator of the group changed (the log's leader epoch rose), and within {coordinator_window_ms} "
        "of its first record at least {coordinator_share_percent} % of the members were gone or got new ids that the "
        "new coordinator never saw alive, and that did not leave; a warning where it took two or more, and at least "
        "half of them."
    )
    severity = Severity.INFO
    other_severity = Severity.WARNING

    _gone: set[str] = field(default_factory=set)
    _last_ms: int = 0

    def members_changed(
        self, arrivals: Sequence[Stint], departures: Sequence[Row], position: Position
    ) -> None:
        """Count the members that went soon after the move."""
        if self._moved is None:
            return
        lost = [
            row["member_id"]
            for row in departures
            if row["last_sign_leader_epoch"] != self._leader_epoch
            and row["left_how"] not in _OF_ITS_OWN
        ]
        if lost:
            self._last_ms = position.record_timestamp_ms
            self._gone.update(lost)
            self._trail.add(evidence_at(position, "members_gone", members=len(lost)))

    def ended(self, end: Ending) -> None:
        """Report what was seen so far."""
        self._close()

    def see(self, position: Position) -> None:
        """Detect a move; events too long after one are not attributed to it."""
        moved, at_ms = self._moved, position.record_timestamp_ms
        if (
            moved is not None
            and at_ms - moved.record_timestamp_ms > self.rules.coordinator_window_ms
        ):
            self._close()
        super().see(position)

    def moves_on(self) -> None:
        """Report what was seen so far."""
        self._close()

    def _close(self) -> None:
        moved, gone, trail = self._moved, self._gone, self._trail
        self._moved, self._gone, self._trail = None, set(), Trail()
        if moved is None or not gone or not self._members_before:
            return
        lost = min(len(gone), self._members_before)
        if 100 * lost < self.rules.coordinator_share_percent * self._members_before:
            return
        most = lost > 1 and 2 * lost >= self._members_before
        self.find(
            moved,
            self._last_ms,
            (
                because(
                    "coordinator_moved",
                    old=self._old_epoch,
                    new=moved.leader_epoch,
                    window=self.rules.coordinator_window_ms,
                    gone=lost,
                    members=self._members_before,
                ),
                because("move_is_likely_cause" if most else "move_may_be_cause"),
            ),
            trail.evidence(),
            members=sorted(gone),
            other=most,
        )


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


class LogGap(Watcher):
    """Collects the epochs before which records are missing."""

    kind = "log_gap"
    definition = (
        "Records of the group are missing between two epochs that the log has: compaction or damage took them. A "
        "log that begins in the middle of a group's life does not count."
    )
    severity = Severity.INFO

    _trail: Trail = field(default_factory=Trail)
    _began: Position | None = None
    _last_ms: int = 0
    _epoch: int | None = None

    def epoch_began(self, span: EpochSpan) -> None:
        """Note an epoch with a gap, unless it is the first one in the log."""
        before, self._epoch = self._epoch, span.epoch
        if not span.gap or before is None:
            return
        if self._began is None:
            self._began = span.first_position
        self._last_ms = span.first_position.record_timestamp_ms
        self._trail.add(
            evidence_at(span.first_position, "follows_epoch", epoch=span.epoch, before=before)
        )

    def ended(self, end: Ending) -> None:
        """One finding for all gaps of a life."""
        if self._began is not None:
            self.find(
                self._began,
                self._last_ms,
                because("log_gap", places=self._trail.length),
                self._trail.evidence(),
            )


class DeadGroup(Watcher):
    """Follows since when the group has been empty."""

    kind = "dead_group"
    definition = "The group has had no members for at least {dead_ms} when the log ends."
    changes = (GroupStateChanged,)
    severity = Severity.INFO
    at_log_end = AtLogEnd.APPEARS

    _since: Position | None = None

    def changed(self, change: GroupStateChanged, group: Group) -> None:
        """Note when the group became empty."""
        if group.members:
            self._since = None
        elif self._since is None:
            self._since = change.position

    def ended(self, end: Ending) -> None:
        """Only the log's end shows how long the group has been empty."""
        since = self._since
        if since is None or not end.is_open:
            return
        if end.reached(since.record_timestamp_ms + self.rules.dead_ms):
            self.find(
                since,
                None,
                because("dead_group", ms=self.rules.dead_ms),
                (evidence_at(since, "group_empty"),),
            )
