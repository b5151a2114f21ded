"""How often a member commits, and what a group's clients have been seen to do with commits.

Nothing is assumed of a client library: a habit counts as far as the log has shown it.
"""

from collections.abc import Iterable
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


SAMPLES: Final = 64
"""Number of pauses that are remembered, the most recent ones: bounds memory and follows a changed configuration."""
SAMPLES_OF_A_ROUND: Final = 8
"""Number of partitions of one generation that give a sample: members of one application commit alike."""
SHORTEST_MS: Final = 200
"""Shorter pauses belong to one batch of commits."""
USUAL: Final = 0.8
"""The share of pauses that are at most as long as the usual one: early commits must not shorten it."""
SHOWS_TIMER: Final = 4
ON_TIME: Final = 1.03
"""A timer's pauses differ by no more than this from one another."""


@dataclass(slots=True)
class UsualPause:
    """The usual pause between two commits for one partition, in ms by the coordinator's clock."""

    _pauses_ms: list[int] = field(default_factory=list)

    def learn(self, round_summaries: Iterable[CommitSummary]) -> None:
        """Take over the pauses of one generation."""
        self._pauses_ms = (self._pauses_ms + _shown(round_summaries))[-SAMPLES:]

    def usual_ms(self, round_summaries: Iterable[CommitSummary] = ()) -> int | None:
        """The usual pause of the generations so far, and of one more; None if none shows a pause."""
        pauses = sorted((self._pauses_ms + _shown(round_summaries))[-SAMPLES:])
        return pauses[min(len(pauses) - 1, int(len(pauses) * USUAL))] if pauses else None

    def timer_ms(self) -> int | None:
        """The interval on which the members commit by a timer; None if most pauses do not agree on one."""
        pauses = sorted(self._pauses_ms)
        if len(pauses) < SHOWS_TIMER:
            return None
        short, long = (pauses[int(len(pauses) * share)] for share in (1 - USUAL, USUAL))
        return short if long <= ON_TIME * short else None

    def forget(self) -> None:
        """The group is gone."""
        self._pauses_ms = []


def _shown(summaries: Iterable[CommitSummary]) -> list[int]:
    most = sorted(summaries, key=lambda each: (-each.commits, each.first_offset))
    pauses = [_pause(each) for each in most[:SAMPLES_OF_A_ROUND]]
    return [pause for pause in pauses if pause is not None and pause >= SHORTEST_MS]


def _pause(summary: CommitSummary) -> int | None:
    """The mean pause but for the last one, which a rebalance may have cut short."""
    if summary.pause_ms is None or summary.last_ms < summary.first_ms:
        return None
    if summary.commits == 2:
        return summary.pause_ms
    return (summary.last_ms - summary.first_ms - summary.pause_ms) // (summary.commits - 2)
