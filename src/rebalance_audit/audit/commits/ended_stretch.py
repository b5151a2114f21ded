"""What the commits of one owner show about a partition that it no longer has."""

from typing import NamedTuple

from rebalance_audit.audit.commits.summary import NO_POSITION, CommitSummary
from rebalance_audit.audit.rows import Row, duration_ms


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
