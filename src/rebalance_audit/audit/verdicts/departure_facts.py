"""What the log shows about the end of one member: the only input of the departure model.

Values are plain numbers, so that they can wait in a snapshot until the log shows whether the client comes back.
"""

from typing import NamedTuple

from rebalance_audit.audit.commits.rhythm import CommitRhythm


class Phase(NamedTuple):
    """The join phase that a classic member missed."""

    longest_ms: int
    """How long it can last: the longest rebalance timeout in the group."""
    others_silent_ms: int | None
    """From the last commit of a member that stayed to the end of the phase; None if none of them ever committed."""
    others_rhythm: CommitRhythm | None
    """The rhythm of that member."""
    others_idle_commits: int
    """Commits without any new position that the member, or others with its client id, have been seen to make."""
    other_changes: int
    """Other members that came or went in the same phase."""
    skipped: int
    """Generations before it that left no record."""
    leaves_empty: bool
    """Whether no member is left."""
    client_joined: bool = False
    """Whether its client id joined in the same phase, from the same host, under another member id."""


class DepartureFacts(NamedTuple):
    """One end of one member. Times in ms before the moment at which the log shows the member gone."""

    gone_ms: int
    """That moment, epoch ms. Classic: the end of the join phase that the member missed."""
    is_classic: bool
    """Whether the group's leader assigns: the record shows the end of a join phase, not the end of the member."""
    is_static: bool
    sessions_ms: tuple[int, ...]
    """Its session timeout; several where the log does not hold it, each as likely."""
    is_session_known: bool
    poll_ms: int | None
    """Its rebalance timeout, which clients set to `max.poll.interval.ms`."""
    since_alive_ms: int | None
    """Since the last thing other than a commit that only a living member causes, and that renews its session.

    Classic: the end of its last join phase. Otherwise its last record. None if another coordinator saw it.
    """
    since_seen_ms: int
    """Since the last thing other than a commit that only a living member causes, by any coordinator's clock."""
    since_commit_ms: int | None
    """Since its last commit; None if it never committed, or clocks contradict each other.

    A single commit in a transaction does not count: the coordinator asks old producers for no member id.
    """
    commit_renews_session: bool
    """Whether that commit renewed its session."""
    same_coordinator: bool
    """Whether the coordinator that took that commit saw the member go."""
    rhythm: CommitRhythm | None
    """None if it committed too few times."""
    idle_commits: int
    """Commits without any new position that the member, or others with its client id, have been seen to make."""
    idle_in_group: int
    """Commits without any new position of all members of the group."""
    closed_with_commit: int
    closed_without_commit: int
    """Earlier ends in the group that were leaves: those right after a commit, and the others."""
    phase: Phase | None = None
    may_time_out: bool = True
    """Whether it can have owed anything that has to be done within its rebalance timeout."""
    kept_too_long: bool = False
    """Whether it kept partitions that it had to revoke for its rebalance timeout."""
    is_overdue: bool = False
    """Whether it had not answered a new target in time."""
    has_successor: bool = False
    """Whether its client id joined again, from the same host, while it was a member."""
    in_one_request: int = 0
    """Other members that the same write removed."""
    after_leave_ms: int | None = None
    """How long after another member that left."""
    gone_together: int = 0
    """Other members of the same group that the same generation lacks."""
    back_ms: int | None = None
    """How long after it was gone its client was back; None: it was not."""
    kept_id: bool = False
    """Whether it was back under its own member id, which clients keep until they are closed."""
    away_ms: int | None = None
    """For how long the log shows that it was not back; None if that is not known yet."""
    others_since_ms: int | None = None
    """Where there is no join phase: since the last commit of any other member; None if none ever committed."""

    @property
    def has_moved(self) -> bool:
        """Whether the coordinator moved since the member of a classic group was last seen."""
        return self.is_classic and self.since_alive_ms is None

    @property
    def client_joined(self) -> bool:
        """Whether its client joined in the join phase that it missed."""
        return self.phase is not None and self.phase.client_joined
