"""Which groups a run has to replay, and from where: from their snapshots, or from the first record in bronze.

A group is affected if it has new records or offset commits, if new markers end its transactions, if its rows change at
a time that the log has reached, if a record of its partition was found to be lost, if something else is known about a
topic that its audit asked about, if a broker's log has lines about it, or if its snapshot is of another release or of
other thresholds. Nothing else is read.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.snapshots.snapshot import STATE_FORMAT
from rebalance_audit.lake.gold.outputs import REBUILT
from rebalance_audit.lake.gold.reducer import RESUMES
from rebalance_audit.lake.records.commit_packs import GROUP_RECORD
from rebalance_audit.lake.records.routing import (
    MARKER_OFFSET,
    decided_commits,
    group_id,
    is_commit,
    is_control,
    of_partition,
)
from rebalance_audit.lake.runs.progress import Progress
from rebalance_audit.lake.storage.spark_writer import LISTED_GROUPS
from rebalance_audit.lake.storage.stage import Stage

GROUP: Final = ("partition", "group_id")
RESUMED: Final = "resumed"
ELSEWHERE: Final = "elsewhere"
"""Marks groups with new records and with records in several partitions of the log: they are left out."""
AFTER: Final = "after"
DECIDED_AFTER: Final = "decided_after"
LOWEST: Final = (AFTER, DECIDED_AFTER)
FACTS: Final = ("is_other", "is_due", "has_committed", "is_lost")
"""What may be true of a group; of `facts_are_late` null means unknown."""


@dataclass(frozen=True, slots=True)
class NewRecords:
    """What has become known since the snapshots were written."""

    records: DataFrame
    """New group records with the columns GROUP_RECORD, including those whose key names no group."""
    gaps: Mapping[int, int]
    """Log partition -> lowest offset before which a loss was found that was not known."""
    topics: Collection[str]
    """Ids and names of the topics about which something else is known now."""
    log_end_ms: int | None
    rules: str
    """Digest of the thresholds, see `rules_digest`."""
    since: Progress
    """What the run that made the newest snapshots had: of these groups the audits know the commits up to its end."""
    broker_updates: DataFrame | None = None
    """(partition, group_id, is_late) of groups about which brokers' logs say something new; late: of audited times."""
    commits: DataFrame | None = None
    """New offset commits, or at least their offsets and columns of GROUP; None if there are none."""
    decided: DataFrame | None = None
    """(partition, group_id, offset, is_late) of earlier commits whose transactions new markers end; None without any.

    Late: perhaps another marker had ended it before.
    """


class AffectedGroups:
    """The groups that a run replays."""

    def __init__(
        self, stage: Stage, snapshots: DataFrame, new: NewRecords, rebuild: DataFrame | None = None
    ) -> None:
        """`snapshots` are the rows of one cluster; groups in `rebuild` are replayed from their first record."""
        self._snapshots = snapshots.withColumnRenamed("log_partition", "partition")
        self._new = new
        self._ends = {number: part.next_offset for number, part in new.since.partitions.items()}
        """Log partition -> offset after the last record that the last run had."""
        planned = stage.keep(self._planned(rebuild))
        self.groups = planned.where(F.col("mode") != ELSEWHERE)
        """Columns of GROUP and `mode`; `after` and `decided_after`: the first offsets from which the audit may lack
        commits, and those of decided transactions."""
        few = F.slice(F.collect_list("group_id"), 1, LISTED_GROUPS + 1).alias("groups")
        counted = planned.groupBy("mode", "partition").agg(
            F.count(F.lit(1)).alias("rows"), few, *[F.min(each).alias(each) for each in LOWEST]
        )
        found = counted.collect()
        self.left_out: DataFrame | None = None
        """Columns `group_id` and `partitions` of the groups that are left out; None without any."""
        self.records_left_out = 0
        """New records of these groups."""
        if any(row["mode"] == ELSEWHERE for row in found):
            elsewhere = planned.where(F.col("mode") == ELSEWHERE)
            self.left_out = elsewhere.select("group_id", "partitions").distinct()
            records = new.records.join(self.left_out, "group_id", "left_semi")
            self.records_left_out = records.count()
            found = [row for row in found if row["mode"] != ELSEWHERE]
        resumed = [row for row in found if row["mode"] == RESUMED]
        self.resumed: int = sum(row["rows"] for row in resumed)
        self.rebuilt: int = sum(row["rows"] for row in found if row["mode"] == REBUILT)
        groups = [group for row in resumed for group in row["groups"]]
        self._few = groups if 0 < self.resumed <= LISTED_GROUPS else None
        """The resumed groups, if they are few enough to be listed one by one."""
        self._lowest: dict[str, dict[int, int]] = {each: {} for each in LOWEST}
        """For each of them log partition -> the lowest of its groups."""
        for row in found:
            partition = row["partition"]
            for each, lowest in self._lowest.items():
                lowest[partition] = min(row[each], lowest.get(partition, row[each]))

    @property
    def count(self) -> int:
        """How many there are."""
        return self.resumed + self.rebuilt

    def rebuilt_groups(self) -> DataFrame:
        """The groups that are replayed from their first record, with the columns GROUP."""
        return self._of_mode(REBUILT)

    def among_commits(self, what: str = AFTER) -> Column:
        """A condition on offset commits that the audits of these groups may not have seen; `what` is one of LOWEST.

        Its literals let Delta skip files of other partitions and of earlier records.
        """
        among = F.lit(False)
        for partition, after in self._lowest[what].items():
            among |= (F.col("partition") == partition) & (F.col("offset") >= after)
        return among

    def commits(self, records: DataFrame, what: str = AFTER) -> DataFrame:
        """Those commits, among records of bronze."""
        recent = records.where(self.among_commits(what) & is_commit())
        recent = recent.withColumn("group_id", group_id())
        wanted = self.groups.select(*GROUP, "mode", what)
        found = recent.join(F.broadcast(wanted), [*GROUP])
        return found.where(F.col("offset") >= F.col(what))

    def decided_commits(self, records: DataFrame) -> DataFrame:
        """The commits whose transaction was committed since, as `routing.decided_commits`, among records of bronze."""
        markers = records.where(self.among_commits(DECIDED_AFTER) & is_control())
        found = decided_commits(self.commits(records, DECIDED_AFTER), markers)
        is_new = F.col(MARKER_OFFSET) >= F.coalesce(of_partition(self._ends), F.lit(0))
        return found.where(is_new | (F.col("mode") == REBUILT))

    def input(self, history: DataFrame) -> DataFrame:
        """What the reducer gets; `history` are all group records of bronze, read only if a group is rebuilt."""
        new = self._new.records.select(*GROUP_RECORD)
        unknown = new.where("group_id is null")
        resumed = self._of_mode(RESUMED)
        snapshots = self._snapshots
        if self._few is not None:
            # The literals let Delta skip files, and Parquet pages, of other groups.
            snapshots = snapshots.where(F.col("group_id").isin(self._few))
        states = resumed.join(
            snapshots.select(*GROUP, F.encode("state", "UTF-8").alias("value")),
            [*GROUP],
            "left",
        ).withColumn("offset", F.lit(RESUMES).cast("bigint"))
        given = (
            new.join(resumed, [*GROUP], "left_semi")
            .unionByName(states, allowMissingColumns=True)
            .unionByName(unknown)
        )
        if self.rebuilt:
            old = history.select(*GROUP_RECORD).join(
                F.broadcast(self.rebuilt_groups()), [*GROUP], "left_semi"
            )
            given = given.unionByName(old)
        return given.select(*GROUP_RECORD)

    def _of_mode(self, mode: str) -> DataFrame:
        return self.groups.where(F.col("mode") == mode).select(*GROUP)

    def _planned(self, rebuild: DataFrame | None) -> DataFrame:
        # What is known of each group, brought together by one shuffle: joins would take one each.
        facts = (
            reduce(partial(DataFrame.unionByName, allowMissingColumns=True), self._facts(rebuild))
            .groupBy(*GROUP)
            .agg(
                F.min("first_new").alias("first_new"),
                F.min("first_commit").alias("first_commit"),
                F.max("next_offset").alias("next_offset"),
                # Not every group has committed.
                F.greatest(F.max("next_offset"), F.max("next_commit_offset")).alias("after"),
                F.min("first_decided").alias("first_decided"),
                *[F.coalesce(F.bool_or(fact), F.lit(False)).alias(fact) for fact in FACTS],
                F.bool_or("facts_are_late").alias("facts_are_late"),
            )
            .where("first_new is not null or next_offset is not null or has_committed")
        )
        lost_from = of_partition(self._new.gaps)
        has_new_facts = F.col("facts_are_late").isNotNull()
        has_new = F.col("first_new").isNotNull() | F.col("has_committed")
        is_affected = (
            has_new | F.col("is_other") | F.col("is_due") | has_new_facts | lost_from.isNotNull()
        )
        is_late = F.lit(False)
        for fact in (
            F.col("first_new") < F.col("next_offset"),
            F.col("first_commit") < F.col("after"),
            lost_from < F.col("next_offset"),
            F.col("facts_are_late"),
        ):
            is_late |= F.coalesce(fact, F.lit(False))
        of_group = Window.partitionBy("group_id")
        # Hours of a group add up the commits of all partitions, and a snapshot knows those of one.
        in_several = F.count(F.lit(1)).over(of_group) > 1
        rebuild_it = (
            F.lit(not self._new.since.is_clean) | F.col("is_other") | is_late | F.col("is_lost")
        )
        mode = F.when(F.col("rebuild_it"), REBUILT).otherwise(RESUMED)
        # Offset commits alone make no history.
        has_records = F.col("first_new").isNotNull() | (F.col("next_offset") > 0)
        of_records = F.when(has_records, F.col("partition"))
        partitions = F.sort_array(F.collect_set(of_records).over(of_group))
        has_new_records = F.max(F.col("first_new").isNotNull()).over(of_group)
        is_elsewhere = F.col("has_new_records") & (F.size("partitions") > 1)
        after = F.coalesce(F.when(~F.col("rebuild_it"), F.col("after")), F.lit(0))
        return (
            facts.withColumns(
                {
                    "partitions": partitions,
                    "has_new_records": has_new_records,
                    "is_affected": F.max(is_affected).over(of_group),
                    "rebuild_it": rebuild_it | in_several,
                }
            )
            .where("is_affected")
            .select(
                *GROUP,
                F.when(is_elsewhere, ELSEWHERE).otherwise(mode).alias("mode"),
                after.alias(AFTER),
                F.least(after, F.col("first_decided")).alias(DECIDED_AFTER),
                "partitions",
            )
        )

    def _facts(self, rebuild: DataFrame | None) -> Iterator[DataFrame]:
        new = self._new
        yield self._snapshots.select(
            *GROUP,
            "next_offset",
            F.greatest("next_commit_offset", self._end_of_last_run()).alias("next_commit_offset"),
            (
                (F.col("state_format") != STATE_FORMAT)
                | (F.col("rules") != new.rules)
                | self._asked_again()
            ).alias("is_other"),
            self._is_due().alias("is_due"),
            *[
                F.lit(None).cast("bigint").alias(first)
                for first in ("first_new", "first_commit", "first_decided")
            ],
            *[
                F.lit(None).cast("boolean").alias(fact)
                for fact in ("has_committed", "is_lost", "facts_are_late")
            ],
        )
        named = new.records.where("group_id is not null")
        yield named.select(*GROUP, F.col("offset").alias("first_new"))
        if new.commits is not None:
            yield new.commits.select(
                *GROUP, F.col("offset").alias("first_commit"), F.lit(True).alias("has_committed")
            )
        if new.decided is not None:
            late = F.when(F.col("is_late"), True).alias("facts_are_late")
            first = F.col("offset").alias("first_decided")
            yield new.decided.select(*GROUP, first, F.lit(True).alias("has_committed"), late)
        if new.broker_updates is not None:
            yield new.broker_updates.select(*GROUP, F.col("is_late").alias("facts_are_late"))
        if rebuild is not None:
            yield rebuild.select(*GROUP, F.lit(True).alias("is_lost"))

    def _end_of_last_run(self) -> Column:
        made_then = F.col("run_id") == F.lit(self._new.since.run_id)
        return F.when(made_then, of_partition(self._ends))

    def _asked_again(self) -> Column:
        if not self._new.topics:
            return F.lit(False)
        changed = F.array(*[F.lit(topic) for topic in sorted(self._new.topics)])
        return F.coalesce(F.arrays_overlap("topics", changed), F.lit(False))

    def _is_due(self) -> Column:
        if self._new.log_end_ms is None:
            return F.lit(False)
        end = F.timestamp_millis(F.lit(self._new.log_end_ms))
        return F.coalesce(F.col("due_at") <= end, F.lit(False))
