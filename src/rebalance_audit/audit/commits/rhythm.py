"""How often a member commits, and what a group's clients have been seen to do with commits.

Nothing is assumed of a client library: a habit counts as far as the log has shown it.
"""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rebalance_audit.audit.commits.summary import CommitSummary

_CLIENTS_MAX: Final = 256
"""Client ids whose habits are kept apart; those of further ones count together, to bound memory."""
_OTHERS: Final = ""


SHOWS_RHYTHM: Final = 3
"""So many commits for one partition show how often a member commits."""


class CommitRhythm(NamedTuple):
    """How often a member committed the partition that it committed most often; all times in ms."""

    commits: int
    interval_ms: int
    """Mean time between two commits; 0 for a single one."""
    longest_ms: int
    """Longest time between two commits; 0 for a single one."""
    pause_ms: int | None
    """Time between its last two commits in its last generation; None without two."""


def rhythm_of(usual: CommitSummary | None, recent: CommitSummary | None) -> CommitRhythm | None:
    """By the commits since the last generation if there are three, else by all since it has the partition."""
    shown = usual if recent is None or recent.commits < SHOWS_RHYTHM else recent
    if shown is None:
        return None
    pause_ms = None if recent is None else recent.pause_ms
    return CommitRhythm(shown.commits, shown.interval_ms or 0, shown.longest_ms, pause_ms)


@dataclass(slots=True)
class CommitHabits:
    """What the clients of one group have been seen to do."""

    idle: dict[str, int] = field(default_factory=dict)
    """Client id -> commits without any new position, at least."""
    closed_with_commit: int = 0
    closed_without_commit: int = 0
    """Leaves right after a commit, and the others."""

    def note_idle(self, client_id: str, commits: int) -> None:
        """A member made so many commits without any new position."""
        if client_id not in self.idle and len(self.idle) >= _CLIENTS_MAX:
            client_id = _OTHERS
        self.idle[client_id] = self.idle.get(client_id, 0) + commits

    def idle_commits(self, client_id: str) -> int:
        """Commits without any new position that clients with this id made, at least."""
        return self.idle.get(client_id, 0)

    @property
    def idle_in_group(self) -> int:
        """Commits without any new position that all clients made, at least."""
        return sum(self.idle.values())

    def note_leave(self, *, with_commit: bool) -> None:
        """A member left, with a commit right before or without."""
        self.closed_with_commit += with_commit
        self.closed_without_commit += not with_commit
