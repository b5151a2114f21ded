"""The rounds of `watch`: read what is new, and hand on what is known of each group that changed."""

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rebalance_audit.cli.live_source import LiveSource
from rebalance_audit.cli.times import clock_ms, rounds
from rebalance_audit.garbage import collecting_less
from rebalance_audit.live_cluster.poller import EndOffsetPoller
from rebalance_audit.local.live.live_audit import GroupUpdate, LiveAudit
from rebalance_audit.report.lag_text import GroupLag, group_lags
from rebalance_audit.sentences import words
from rebalance_audit.steps import OnProgress
from rebalance_audit.wire.segments.folder import SourceNotReadable

if TYPE_CHECKING:
    from collections.abc import Mapping


class LagRounds:
    """Takes a new sample whenever there is one."""

    def __init__(self, poller: EndOffsetPoller, on_progress: OnProgress) -> None:
        """`on_progress` is called when the cluster does not answer, and when not everything is sampled."""
        self._poller = poller
        self._on_progress = on_progress
        self._taken = -1
        self._reported = ""
        self.of_group: Mapping[str, GroupLag] = {}
        """By group id, those that have committed what members own."""

    def take(self, audit: LiveAudit) -> bool:
        """Whether there was a new sample; the poller gets the partitions to sample next."""
        poller = self._poller
        problem = self._problem()
        if problem and problem != self._reported:
            self._on_progress(problem)
        self._reported = problem
        if poller.count == self._taken:
            return False
        is_first = self._taken < 0
        self._taken = poller.count
        positions = [*audit.committed_positions()]
        poller.want({(each.topic, each.topic_partition) for _, each in positions})
        if is_first and not poller.count:
            return False
        self.of_group = {
            group.group_id: group for group in group_lags(positions, poller.end_offsets())
        }
        return True

    def _problem(self) -> str:
        if self._poller.problem:
            return f"End offsets are not sampled: {self._poller.problem}"
        if left_out := self._poller.left_out:
            return f"{left_out:,} partitions are not sampled: source.kafka.sampled_partitions_max"
        return ""


ROUND_S: Final = 0.25
"""A rebalance is reported within two of these, plus the time to read."""
NAMES_S: Final = 1.0
"""Between two looks whether topics have come that have no name yet."""
OPEN_S: Final = 5.0
"""Between two looks at groups that rebalance and have no new record."""


class Watch:
    """A live log and its audit."""

    def __init__(self, source: LiveSource, audit: LiveAudit, on_progress: OnProgress) -> None:
        """`on_progress` is called with progress updates, and when the source does not answer."""
        self._source = source
        self._audit = audit
        self._on_progress = on_progress
        self._problem = ""
        self._reported: set[str] = set()
        """Problems of the present outage that were reported: a client may alternate between two."""
        self.unread_since_ms: int | None = None
        """Since when the log cannot be read (epoch ms); None while it can."""
        self._open_due = 0.0
        self._names_due = 0.0
        self._nameless: frozenset[bytes] = frozenset()
        """Topics that the source could not name when it was asked."""
        self.is_at_end = False
        """Whether everything that was in the log at the start has been read."""

    def updates(self, asked: threading.Event) -> Iterator[list[GroupUpdate]]:
        """One item a round, until `asked` is set. Raises SourceNotReadable."""
        for _ in rounds(ROUND_S, None, asked):
            yield from self._round(asked)

    def _round(self, asked: threading.Event) -> Iterator[list[GroupUpdate]]:
        log, audit = self._source.log, self._audit
        with collecting_less():
            while True:
                for log_partition, found in log.read():
                    if asked.is_set():
                        return
                    audit.take(log_partition, found)
                    for sentence in audit.left_out():
                        self._on_progress(sentence)
                    full = list(audit.full())
                    if full:
                        yield full
                self._report_problem()
                self.is_at_end = self.is_at_end or log.is_at_end
                if self.is_at_end or asked.is_set() or self._problem:
                    break
                self._on_progress(f"Read {audit.records:,} records")
        if self.is_at_end:
            self._learn_names()
        yield list(audit.updates(with_open=self._is_open_due())) if self.is_at_end else []

    @property
    def reads(self) -> bool:
        """Whether the log can be read at present."""
        return not self._problem

    def _is_open_due(self) -> bool:
        """Whether it is time to look again at groups that rebalance: some findings come with time alone."""
        now = time.monotonic()
        if now < self._open_due:
            return False
        self._open_due = now + OPEN_S
        return True

    def _report_problem(self) -> None:
        problem, before = self._source.log.problem, self._problem
        self._problem = problem
        now_ms = clock_ms()
        if problem and not before:
            self.unread_since_ms = now_ms
            self._on_progress(self._lost(problem))
        elif problem and problem not in self._reported:
            self._on_progress(f"Still waiting for the log: {problem}")
        elif before and not problem:
            assert self.unread_since_ms is not None
            lasted = words.duration(now_ms - self.unread_since_ms)
            self._on_progress(
                f"The log can be read again after {lasted}; reading goes on where it was"
            )
            self.unread_since_ms = None
        self._reported = self._reported | {problem} if problem else set()

    def _lost(self, problem: str) -> str:
        """The first sentence of an outage: what was read before, and what becomes of it."""
        if self._audit.log_end_ms is None:
            return f"Waiting for the log: {problem}"
        read = words.counted(self._audit.records, "record")
        until = words.utc(self._audit.log_end_ms)
        return (
            f"The log cannot be read any more: {problem}. Read before: {read}, up to {until}."
            " Waiting; reading goes on from there"
        )

    def _learn_names(self) -> None:
        now = time.monotonic()
        if now < self._names_due:
            return
        self._names_due = now + NAMES_S
        unnamed = self._audit.unnamed
        if unnamed <= self._nameless:
            return
        self._nameless = unnamed
        try:
            self._audit.learn_names(self._source.more_names())
        except SourceNotReadable as error:
            self._on_progress(f"Names of topics are not known for now: {error}")
