"""The account of the offset commits of a log: hours, growth and open transactions of all its groups."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from rebalance_audit.audit.findings.of_commits import OpenTransactions
from rebalance_audit.audit.hours.commit_hours import LogCommitHours
from rebalance_audit.audit.hours.group_hours import HourCommits
from rebalance_audit.audit.hours.record_hours import LogGrowth
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.thresholds import FindingRules
from rebalance_audit.wire.generated.messages import LegacyOffsetCommitKey, OffsetCommitKey
from rebalance_audit.wire.records import Undecodable, decode_record

if TYPE_CHECKING:
    from rebalance_audit.segments.commits import Account


class LogCommits:
    """Adds up the stretches of a log."""

    def __init__(self) -> None:
        self._hours = LogCommitHours()
        self._growth = LogGrowth()
        self._open = OpenTransactions()

    def add(self, found: "Account") -> None:
        """The next stretch, in log order per partition."""
        self._hours.add(found.log_partition, found.groups, found.seconds)
        self._growth.add(found.log_partition, found.of, found.hours)
        for producer_id, key, log_offset, at_ms, _ in found.transactional:
            if key is None:
                self._open.ended(found.log_partition, producer_id)
                continue
            record = decode_record(key, None)
            if not isinstance(record, Undecodable) and isinstance(
                record.key, LegacyOffsetCommitKey | OffsetCommitKey
            ):
                place = found.log_partition, log_offset, at_ms
                self._open.committed(producer_id, record.key.group, record.key.topic, place)

    @cached_property
    def hours(self) -> Mapping[str, Mapping[int, HourCommits]]:
        """Group id -> hour since 1970 -> its commits, when everything was read."""
        return self._hours.hours()

    def findings(
        self, log_end_ms: int | None, rules: FindingRules, is_wanted: Callable[[str], bool]
    ) -> Iterator[Row]:
        """Rows of gold.findings of some groups; the log ends at `log_end_ms` (epoch ms)."""
        for row in (*self._growth.findings(rules), *self._open.findings(log_end_ms, rules)):
            if is_wanted(row["group_id"]):
                yield row
