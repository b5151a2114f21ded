"""Offset commits of one partition over a stretch of the log, in a few numbers that can be joined in log order."""

from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.replay.changes import Position

Numbers: TypeAlias = tuple[int, int, int, int, int, int, int | None, int | None, bool]
"""The fields of a CommitSummary as a bare tuple: hundreds of thousands of them go from process to process."""

_STEADY: Final = 1.5
"""A rhythm is one of a timer, and told so, if its longest pause is at most this many times the mean."""

_TIMED: Final = 1.25
"""The same where it must be a timer."""

_EXACT: Final = 1.1
"""The same where not one commit was late."""

_new = tuple.__new__
"""Makes a named tuple without a call of its `__new__`."""


class CommitSummary(NamedTuple):
    """One or more commits of one group for one partition, without the offsets that they commit.

    Summaries of adjacent stretches join to that of both (`then`), wherever the log was cut: by byte ranges, by batches
    of Spark or by runs.
    """

    first_ms: int
    last_ms: int
    """Times of the first and the last commit record (epoch ms, the coordinator's clock)."""
    first_offset: int
    last_offset: int
    """Log offsets of these records."""
    commits: int
    longest_ms: int
    """Longest time between two successive commits; 0 for a single one."""
    pause_ms: int | None
    """Time between the last two commits; None for a single one."""
    leader_epoch: int | None
    is_transactional: bool
    """Of the last commit."""

    def then(self, later: "Numbers") -> "CommitSummary":
        """This stretch and a later one of the same partition as one."""
        first_ms, last_ms, _, last_offset, commits, longest_ms, pause_ms, epoch, flag = later
        between_ms = first_ms - self[1]
        longest_ms = max(longest_ms, between_ms)
        longest_ms = max(longest_ms, self[5])
        return _new(
            CommitSummary,
            (
                self[0],
                last_ms,
                self[2],
                last_offset,
                self[4] + commits,
                longest_ms,
                between_ms if pause_ms is None else pause_ms,
                epoch,
                flag,
            ),
        )

    @property
    def interval_ms(self) -> int | None:
        """Mean time between two commits; None for a single one, or if the clock was set back."""
        if self.commits == 1 or self.last_ms < self.first_ms:
            return None
        return (self.last_ms - self.first_ms) // (self.commits - 1)

    @property
    def due_ms(self) -> int | None:
        """Mean time between two commits before the last one, which may have come early; None for less than four."""
        if self.commits <= 3 or self.pause_ms is None or self.last_ms < self.first_ms:
            return None
        return (self.last_ms - self.first_ms - self.pause_ms) // (self.commits - 2)

    @property
    def is_timed(self) -> bool:
        """Whether no pause was much longer than the others, so that a timer made the commits; the last may be early."""
        return self.due_ms is not None and self.longest_ms <= _TIMED * self.due_ms

    @property
    def is_exact(self) -> bool:
        """The same where all pauses but the last are alike."""
        return self.due_ms is not None and self.longest_ms <= _EXACT * self.due_ms

    @property
    def is_steady(self) -> bool:
        """Whether the commits came as a timer makes them; two commits tell nothing."""
        mean_ms = self.interval_ms
        return self.commits > 2 and mean_ms is not None and self.longest_ms <= _STEADY * mean_ms


def summary_of(position: Position) -> CommitSummary:
    """A single commit record."""
    _, log_offset, at_ms, leader_epoch, _, is_transactional = position
    return CommitSummary(
        at_ms, at_ms, log_offset, log_offset, 1, 0, None, leader_epoch, is_transactional
    )


def summary_from(numbers: Numbers) -> CommitSummary:
    """The numbers with their names."""
    return _new(CommitSummary, numbers)
