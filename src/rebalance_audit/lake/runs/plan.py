"""The plan of a run: the records and groups that it replays, and the rows that it replaces.

A rebuild and an increment each make one (`rebuild`, `increment`); replaying it (`replayed`) and writing the results
(`writer`) is the same for both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.lake.gold.reducer_options import Gaps
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.runs.progress import Progress
from rebalance_audit.lake.session.pieces import parallelism
from rebalance_audit.lake.silver.offset_commits import WrittenCommits
from rebalance_audit.lake.storage.stage import StagedTables
from rebalance_audit.wire.topic_names import TopicNames

FEW_GROUP_RECORDS: Final = 20_000
"""One task for each core is enough. With more of them, as a shuffle has, an uneven share of the groups does less harm;
but each writes files of its own, some sixteen in a first run."""
RECORDS_OF_A_TASK: Final = 500
"""A task replays so many in half a second; fewer are not worth starting one."""
COMMITS_OF_A_RECORD: Final = 200
"""So many offset commits take as long as one group record."""


@dataclass(frozen=True, slots=True)
class ReplayedGroups:
    """The groups that a run replays."""

    records: DataFrame | None
    """What the reducer gets, with the columns INPUT; None if no group is replayed."""
    resumed: int
    """Groups that are resumed from a snapshot."""
    rebuilt: int
    """Groups that are replayed from their first record."""
    groups: DataFrame | None = None
    """All of them, with a column `group_id`; None for every group of the log."""
    replaced: DataFrame | None = None
    """Those of them whose rows in the tables become the new ones, with a column `group_id`; None for none."""
    tasks: int | None = None
    """How many tasks replay them; None for as many as a shuffle has."""
    records_left_out: int = 0
    """New records of groups that have records in several partitions of the log, which are not replayed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run replays and writes. The offset commits are in their table already."""

    small: DataFrame
    """The records that the run accounts for, without offset commits; held in memory while the plan is carried out."""
    counts: RecordCounts
    """Of the records that the run accounts for: all of them in a rebuild, the new ones in an increment."""
    group_records: int
    """Records among them that the reducer gets: each ends up decoded or in quarantine."""
    groups: ReplayedGroups
    commits: WrittenCommits | None
    """None if there are none, or if only gold is written."""
    unreadable: DataFrame | None
    """Rows of silver.quarantine besides those that the reducer makes; None if there are none."""
    damaged_stretches: int
    """How many of these are parts of segment files with an unknown number of records."""
    gaps: Gaps
    known: Progress
    """What is known of the whole log, also if the run covers a part of it."""
    names: TopicNames
    log_end_ms: int | None
    """Largest record time of the whole log, epoch milliseconds."""
    since: Progress | None
    """Where an increment resumes; None for a rebuild."""
    reached: Progress | None
    """Where the next run can resume; None if this one does not cover all groups and all times."""
    is_small: bool
    """Queries are over before compiled code has paid for itself, see `small_queries`."""
    revise: "Revise"

    def may_grow(self, growth_records: int) -> bool:
        """Whether the log has as many records as must be of one group and one hour for a finding of growth."""
        known = [] if self.reached is None else self.reached.partitions.values()
        return max(self.counts.records, sum(part.records for part in known)) >= growth_records

    @property
    def may_hang(self) -> bool:
        """Whether there may be commits of open transactions: an increment does not know those of earlier runs."""
        return self.since is not None or self.counts.has_transactions


def few_tasks(spark: SparkSession, given: int) -> int | None:
    """How many tasks replay so many records and states of groups; None if they are not few."""
    if given > FEW_GROUP_RECORDS:
        return None
    return min(-(-given // RECORDS_OF_A_TASK) or 1, parallelism(spark))


Revise: TypeAlias = Callable[[StagedTables], Plan | None]
"""Takes what the reducer made of a plan; returns a better plan if that shows that this one rests on too little."""


def is_final(staged: StagedTables) -> None:
    """The plan needs no revision."""
