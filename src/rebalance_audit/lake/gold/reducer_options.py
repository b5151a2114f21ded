"""What every group's audit is given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.fact import BrokerFact
from rebalance_audit.audit.finding_rules import FindingRules
from rebalance_audit.audit.holes import Holes
from rebalance_audit.audit.options import DepartureRules
from rebalance_audit.lake.storage.data_files import DataFolder
from rebalance_audit.wire.topic_names import TopicNames

Gaps: TypeAlias = Mapping[int, Sequence[int]]
"""Log partition -> offsets, ascending, before which something of the partition could not be read."""


@dataclass(frozen=True, slots=True)
class ReducerOptions:
    """What every group's audit is given; it is sent to the workers."""

    names: TopicNames = field(default_factory=TopicNames)
    rules: DepartureRules = field(default_factory=DepartureRules)
    findings: FindingRules = field(default_factory=FindingRules)
    log_end_ms: int | None = None
    """Latest record time in all partitions of the log, epoch milliseconds."""
    gaps: Gaps = field(default_factory=dict)
    whole: frozenset[int] | None = None
    """Log partitions that lack no record; None if unknown."""
    holes: Mapping[int, Holes] = field(default_factory=dict)
    """Log partition -> where it lacks records; only partitions where that is known."""
    with_silver: bool = True
    """Whether rows of silver.group_records and of meta.snapshots are wanted."""
    broker_log: BrokerLog | None = None
    """What the brokers logged, by the records' clock."""
    has_end_offsets: bool = False
    """Whether end offsets of any partition were sampled; the samples come with the records."""
    constants: Mapping[str, Any] = field(default_factory=dict)
    """Columns that are the same in all rows of a run, such as the cluster."""
    progress_folder: DataFolder | None = None
    """Where tasks write rows of gold.progress, if the table has none; None where they leave with the others."""

    def is_whole(self, log_partition: int) -> bool | None:
        """Whether a partition lacks no record; None if unknown."""
        return None if self.whole is None else log_partition in self.whole

    def broker_facts(self, group_id: str, log_partition: int) -> Sequence[BrokerFact]:
        """What they logged about one group."""
        if self.broker_log is None:
            return ()
        return self.broker_log.facts_of(group_id, log_partition)
