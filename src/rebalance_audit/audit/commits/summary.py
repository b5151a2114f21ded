"""Offset commits of one partition over a stretch of the log, in a few numbers that can be joined in log order."""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.audit.rows import Row, duration_ms
from rebalance_audit.replay.changes import Position

Numbers: TypeAlias = tuple[
    int, int, int, int, int, int, int | None, int | None, bool, int, int, int
]
"""The fields of a CommitSummary as a bare tuple: hundreds of thousands of them go from process to process."""
Summaries: TypeAlias = Mapping[bytes, Numbers]
"""Key of the commit records, as it is in the log -> what they were, see CommitSummary."""

_STEADY: Final = 1.5
"""Commits are steady if their longest pause is at most this many times the mean."""
_SHOWS_TIMER: Final = 4
_ON_TIME: Final = 1.03
"""A timer's commits come so punctually: their longest pause is at most this many times the mean."""

POSITION_AT: Final = 2
"""Where a commit's value has its offset, a big-endian int64 after the version, in every version of the value."""
POSITION_END: Final = 10
VALUE_BYTES_MIN: Final = 20
"""Of version 0 or 2 without metadata: version, offset, length of the metadata, time."""
VALUE_VERSION_MAX: Final = 4
NO_POSITION: Final = -1
"""Stands for the offset of a value that is too short to have one."""

_new = tuple.__new__
"""Makes a named tuple without a call of its `__new__`."""


class CommitSummary(NamedTuple):
    """One or more commits of one group for one partition.

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
    first_position: int
    last_position: int
    """The offsets that the first and the last one commit."""
    unchanged: int
    """Commits that repeat the offset of the one before."""

    def then(self, later: "Numbers") -> "CommitSummary":
        """This stretch and a later one of the same partition as one."""
        first_ms, last_ms, _, last_offset, commits, longest_ms, pause_ms, epoch, flag = later[:9]
        first_position, last_position, unchanged = later[9:]
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
                self[9],
                last_position,
                self[11] + unchanged + (self[10] == first_position != NO_POSITION),
            ),
        )

    @property
    def interval_ms(self) -> int | None:
        """Mean time between two commits; None for a single one, or if the clock was set back."""
        if self.commits == 1 or self.last_ms < self.first_ms:
            return None
        return (self.last_ms - self.first_ms) // (self.commits - 1)

    @property
    def timer_ms(self) -> int | None:
        """The interval of a timer that the commits came on, the last one aside; None if they do not show one."""
        if self.commits < _SHOWS_TIMER or self.pause_ms is None:
            return None
        mean_ms = (self.last_ms - self.first_ms - self.pause_ms) // (self.commits - 2)
        return mean_ms if max(mean_ms, self.pause_ms) * _ON_TIME >= self.longest_ms else None

    @property
    def has_moved(self) -> bool:
        """Whether the commits show that something was consumed."""
        return self.first_position != self.last_position

    @property
    def is_steady(self) -> bool:
        """Whether the commits came on a timer; two commits are no evidence."""
        mean_ms = self.interval_ms
        return self.commits > 2 and mean_ms is not None and self.longest_ms <= _STEADY * mean_ms


def position_in(value: bytes) -> int:
    """The offset that a commit's value commits; NO_POSITION of a value too short for one."""
    if len(value) < POSITION_END:
        return NO_POSITION
    return int.from_bytes(value[POSITION_AT:POSITION_END], signed=True)


def summary_of(position: Position, committed: int) -> CommitSummary:
    """A single commit record, which commits the offset `committed`."""
    _, log_offset, at_ms, leader_epoch, _, is_transactional = position
    single = (at_ms, at_ms, log_offset, log_offset, 1, 0, None, leader_epoch, is_transactional)
    return CommitSummary(*single, committed, committed, 0)


def most_commits(summaries: Iterable[CommitSummary]) -> CommitSummary:
    """That of the partition with most commits."""
    return max(summaries, key=lambda each: (each.commits, each.last_ms, each.pause_ms or 0))


def summary_from(numbers: Numbers) -> CommitSummary:
    """The numbers with their names."""
    return _new(CommitSummary, numbers)


class LastCommit(NamedTuple):
    """The latest commit for a partition that a member owned at that moment.

    A commit record does not name the member. But in a group with members the coordinator takes a commit outside of a
    transaction only from a member of the current generation or epoch (`validateOffsetCommit` of ClassicGroup and
    ConsumerGroup), and clients commit what they own.
    """

    position: Position
    topic: str
    topic_partition: int


class EndedStretch(NamedTuple):
    """What commits show about a partition's time with one owner."""

    summary: CommitSummary | None
    """The owner's commits; None if there are none."""
    before_ms: int | None
    """Last commit of the owner before; None if it has none, or is not in the log."""
    is_whole: bool | None = None
    """Whether the log partition lacks no record; None if unknown."""

    @property
    def first_ms(self) -> int | None:
        """The owner's first commit; None if there is none, or if compaction may have taken earlier ones.

        Compaction that takes a commit takes all earlier ones for the partition as well.
        """
        if self.summary is None or (self.is_whole is False and self.before_ms is None):
            return None
        return self.summary.first_ms

    @property
    def uncommitted_ms(self) -> int | None:
        """Time without a commit between two owners at work, by the coordinator's clock; None if it is not known."""
        first_ms = None if self.summary is None else self.summary.first_ms
        return duration_ms(self.before_ms, first_ms)

    @property
    def unknown_because(self) -> str | None:
        """Why that time is not known."""
        if self.summary is None:
            return "no_commit"
        if self.before_ms is None:
            return "no_commit_before"
        return "clocks" if self.summary.first_ms < self.before_ms else None


def commit_columns(ended: EndedStretch | None, *, gap: bool, is_open: bool) -> Row:
    """The columns of gold.ownership on commits; `ended`: None if the topic has no name.

    Those of an open stretch wait for its end: commits alone do not call for an audit.
    """
    first_ms = last_ms = uncommitted_ms = None
    first_position = last_position = NO_POSITION
    if is_open or gap:
        unknown: str | None = "open" if is_open else "gap"
    elif ended is None:
        unknown = "no_topic_name"
    else:
        unknown = ended.unknown_because
        if ended.summary is not None:
            first_ms, last_ms = ended.first_ms, ended.summary.last_ms
            uncommitted_ms = ended.uncommitted_ms
            last_position = ended.summary.last_position
            if first_ms is not None:
                first_position = ended.summary.first_position
    return {
        "first_committed_at": first_ms,
        "last_committed_at": last_ms,
        "uncommitted_before_ms": uncommitted_ms,
        "uncommitted_before_unknown": unknown,
        "first_committed_offset": None if first_position == NO_POSITION else first_position,
        "last_committed_offset": None if last_position == NO_POSITION else last_position,
    }
