"""What offset commits show, transactions and counts: rows that need every commit, not only what groups do with them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.findings.finding import ID_DIGITS, AtLogEnd, FindingKind, Severity
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.thresholds import FindingRules
from rebalance_audit.sentences.render import advice_for, reason_text
from rebalance_audit.sentences.words import counted, duration

OFFSET_COMMITS: Final = "offset commits"
"""Their type in a finding of growth; other records have the name of theirs."""


class EndRecords(NamedTuple):
    """The first and the last of some records: partition of the log, offset and time (epoch ms)."""

    first: tuple[int, int, int]
    last: tuple[int, int, int]


class HangingTransaction(FindingKind):
    """A transaction that is never ended."""

    kind = "hanging_transaction"
    definition = (
        "Offsets were committed in a transaction that has neither been committed nor aborted for at least "
        "{hanging_ms} when the log ends; until then clients that ask for stable offsets of these partitions get none."
    )
    severity = Severity.CRITICAL
    at_log_end = AtLogEnd.APPEARS

    @classmethod
    def row(
        cls,
        group_id: str,
        ends: EndRecords,
        rules: FindingRules,
        *,
        producer_id: int | None,
        commits: int,
        topics: Sequence[str],
    ) -> Row:
        """The row of a transaction that has been open for `rules.hanging_ms`."""
        detail = (
            f"A transaction of producer {producer_id} with {commits} offset commits has been open for at least"
            f" {duration(rules.hanging_ms)}."
        )
        fact = "committed in the open transaction"
        return _row(cls, group_id, ends, fact, detail=detail, topics=sorted(topics))


class _OpenCommits:
    """The offset commits of a group in an open transaction."""

    def __init__(self, first: tuple[int, int, int]) -> None:
        self.first = self.last = first
        self.commits = 0
        self.topics: set[str] = set()


class OpenTransactions:
    """The offset commits of a log in transactions that no marker has ended so far."""

    def __init__(self) -> None:
        """None yet."""
        self._open: dict[tuple[int, int], dict[str, _OpenCommits]] = defaultdict(dict)

    def committed(
        self, producer_id: int, group_id: str, topic: str, record: tuple[int, int, int]
    ) -> None:
        """A commit in the transaction of a producer; `record`: partition of the log, offset and time (epoch ms)."""
        found = self._open[record[0], producer_id].setdefault(group_id, _OpenCommits(record))
        found.last = record
        found.commits += 1
        found.topics.add(topic)

    def ended(self, log_partition: int, producer_id: int) -> None:
        """The producer's marker."""
        self._open.pop((log_partition, producer_id), None)

    def findings(self, log_end_ms: int | None, rules: FindingRules) -> Iterator[Row]:
        """A row for each group and producer with a commit that was open for so long when the log ended (epoch ms)."""
        for (_, producer_id), of_group in self._open.items():
            for group_id, found in of_group.items():
                if log_end_ms is not None and found.first[2] <= log_end_ms - rules.hanging_ms:
                    yield HangingTransaction.row(
                        *(group_id, EndRecords(found.first, found.last), rules),
                        producer_id=producer_id,
                        commits=found.commits,
                        topics=[*found.topics],
                    )


class TopicGrowth(FindingKind):
    """A group that fills the log."""

    kind = "topic_growth"
    definition = (
        "The group wrote at least {growth_records} records of one type in an hour, offset commits or others. One "
        "finding for each day and type, about all such hours of the day."
    )
    severity = Severity.INFO

    @classmethod
    def row(
        cls,
        group_id: str,
        ends: EndRecords,
        record_type: str,
        *,
        hours: int,
        records: int,
        most: int,
    ) -> Row:
        """The row of a day; `most`: records of its busiest hour."""
        detail = (
            f"It wrote {records} records ({record_type}) in {counted(hours, 'hour')} of the day, at most {most} in one"
            " hour."
        )
        fact = "written in such an hour"
        return _row(cls, group_id, ends, fact, record_type, detail=detail, to_at=ends.last[2])


def _row(
    kind: type[FindingKind],
    group_id: str,
    ends: EndRecords,
    fact: str,
    *subject: str,
    **columns: Any,
) -> Row:
    """A row without an incarnation: commits do not say to which one of the group they belong."""
    log_partition, log_offset, at_ms = ends.first
    identity = (kind.kind, group_id, str(log_partition), str(log_offset), *subject)
    return {
        "finding_id": sha256("/".join(identity).encode()).hexdigest()[:ID_DIGITS],
        "kind": kind.kind,
        "severity": kind.severity.value,
        "group_id": group_id,
        "incarnation": None,
        "log_partition": log_partition,
        "from_at": at_ms,
        "to_at": None,
        "from_offset": log_offset,
        "member_ids": [],
        "topics": [],
        "advice": reason_text(advice_for(kind.kind)),
        "evidence": [
            {"partition": partition, "offset": offset, "at": at, "fact": fact}
            for partition, offset, at in dict.fromkeys(ends)
        ],
        "reason": None,
        "facts": None,
        **columns,
    }
