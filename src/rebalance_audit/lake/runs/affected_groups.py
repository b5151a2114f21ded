"""Which groups a run has to replay, and from where: from their snapshots, or from the first record in bronze.

A group is affected if it has new records, if the log has reached the moment at which its rows change without any, or
may change by offset commits and there are new ones, if a
record of its partition was found to be lost, if the answer about a topic that its audit asked for has changed, if a
broker's log with lines about it was given, or if another program or other thresholds made its snapshot. Everything else
stays as it is, unread.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.snapshots.snapshot import STATE_FORMAT
from rebalance_audit.errors import LakeNotReadable, two_histories
from rebalance_audit.lake.gold.output_rows import REBUILT
from rebalance_audit.lake.gold.reducer import INPUT, RESUMES
from rebalance_audit.lake.records.routing import group_id, is_commit
from rebalance_audit.lake.session.kept_rows import kept
from rebalance_audit.lake.storage.key_range import LISTED_GROUPS

GROUP: Final = ("partition", "group_id")
RESUMED: Final = "resumed"
ELSEWHERE: Final = "elsewhere"
"""Marks groups with new records that have others in another partition of the log: they cannot be replayed."""


@dataclass(frozen=True, slots=True)
class News:
    """What has become known since the snapshots were made."""

    records: DataFrame
    """New group records with the columns INPUT, including those whose key names no group."""
    gaps: Mapping[int, int]
    """Log partition -> lowest offset before which a loss was found that was not known."""
    topics: Collection[str]
    """Ids and names of the topics about which something else is known now."""
    log_end_ms: int | None
    rules: str
    """Digest of the thresholds, see `rules_digest`."""
    is_clean: bool
    """Whether one run wrote both the snapshots and gold."""
    broker_news: DataFrame | None = None
    """(partition, group_id, is_late) of groups about which brokers' logs say something new; late: of audited times."""
    commits: DataFrame | None = None
    """New offset commits, or at least their columns of GROUP; None if there are none."""


class AffectedGroups:
    """The groups that a run replays."""

    def __init__(self, snapshots: DataFrame, news: News, rebuild: DataFrame | None = None) -> None:
        """`snapshots` are the rows of one cluster; groups in `rebuild` are replayed from their first record.

        Raises LakeNotReadable for a group in two partitions of the log.
        """
        self._snapshots = snapshots.withColumnRenamed("log_partition", "partition")
        self._news = news
        groups = self._planned()
        if rebuild is not None:
            lost = rebuild.select(*GROUP).withColumn("lost", F.lit(True))
            mode = F.when(F.col("lost"), REBUILT).otherwise(F.col("mode"))
            groups = groups.join(lost, [*GROUP], "left").withColumn("mode", mode).drop("lost")
        elsewhere = self._elsewhere()
        marked = elsewhere.select(*GROUP, F.lit(ELSEWHERE).alias("mode"))
        self.groups = kept(groups.unionByName(marked))
        """Columns of GROUP, and `mode`."""
        few = F.slice(F.collect_list("group_id"), 1, LISTED_GROUPS + 1).alias("groups")
        counted = self.groups.groupBy("mode").agg(F.count(F.lit(1)).alias("rows"), few)
        found = {row["mode"]: row for row in counted.collect()}
        if ELSEWHERE in found:
            group = elsewhere.first()
            assert group is not None
            partitions = [group["partition"], group["other_partition"]]
            raise LakeNotReadable(two_histories(group["group_id"], partitions))
        self.resumed: int = found[RESUMED]["rows"] if RESUMED in found else 0
        self.rebuilt: int = found[REBUILT]["rows"] if REBUILT in found else 0
        self._few: list[str] | None = None
        """The resumed groups, if they are few enough to be listed one by one."""
        if 0 < self.resumed <= LISTED_GROUPS:
            self._few = found[RESUMED]["groups"]
        self.few_rebuilt: frozenset[str] | None = frozenset()
        """The groups that are replayed from their first record, if they are few enough."""
        if self.rebuilt:
            groups = found[REBUILT]["groups"]
            self.few_rebuilt = frozenset(groups) if self.rebuilt <= LISTED_GROUPS else None

    @property
    def count(self) -> int:
        """How many there are."""
        return self.resumed + self.rebuilt

    def rebuilt_groups(self) -> DataFrame:
        """The groups that are replayed from their first record, with the columns GROUP."""
        return self._of_mode(REBUILT)

    def commits(self, records: DataFrame) -> DataFrame:
        """The offset commits of these groups that their audits may not have seen, among records of bronze."""
        # `greatest` passes over nulls: not every group has committed.
        next_offset = F.greatest("next_offset", "next_commit_offset").alias("next_offset")
        known = F.when(F.col("mode") == RESUMED, F.col("next_offset"))
        wanted = self.groups.join(
            self._snapshots.select(*GROUP, next_offset), [*GROUP], "left"
        ).select(*GROUP, F.coalesce(known, F.lit(0)).alias("after"))
        lowest = wanted.groupBy("partition").agg(F.min("after").alias("after")).collect()
        # The literals let Delta leave out files of other partitions, and of earlier records.
        within = F.lit(False)
        for row in lowest:
            within |= (F.col("partition") == row["partition"]) & (F.col("offset") >= row["after"])
        recent = records.where(within & is_commit()).withColumn("group_id", group_id())
        found = recent.join(F.broadcast(wanted), [*GROUP])
        return found.where(F.col("offset") >= F.col("after"))

    def input(self, history: DataFrame) -> DataFrame:
        """What the reducer gets; `history` are all group records of bronze, read only if a group is rebuilt."""
        news = self._news.records.select(*INPUT)
        unknown = news.where("group_id is null")
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
            news.join(resumed, [*GROUP], "left_semi")
            .unionByName(states, allowMissingColumns=True)
            .unionByName(unknown)
        )
        if self.rebuilt:
            old = history.select(*INPUT).join(
                F.broadcast(self.rebuilt_groups()), [*GROUP], "left_semi"
            )
            given = given.unionByName(old)
        return given.select(*INPUT)

    def _of_mode(self, mode: str) -> DataFrame:
        return self.groups.where(F.col("mode") == mode).select(*GROUP)

    def _elsewhere(self) -> DataFrame:
        """Groups with new records and, in `other_partition`, with a snapshot or new records of another partition."""
        new = self._news.records.where("group_id is not null").select(*GROUP).distinct()
        known = self._snapshots.select(*GROUP).unionByName(new)
        others = known.withColumnRenamed("partition", "other_partition")
        return new.join(others, "group_id").where("partition != other_partition")

    def _planned(self) -> DataFrame:
        news = self._news
        new = (
            news.records.where("group_id is not null")
            .groupBy(*GROUP)
            .agg(F.min("offset").alias("first_new"))
        )
        known = self._snapshots.select(
            *GROUP,
            "next_offset",
            "state_format",
            "rules",
            "topics",
            self._is_due("due_at").alias("is_due"),
            self._is_due("due_with_commits_at").alias("is_due_with_commits"),
        )
        if news.commits is None:
            known = known.withColumn("committed", F.lit(None).cast("boolean"))
        else:
            committed = news.commits.select(*GROUP).distinct()
            known = known.join(committed.withColumn("committed", F.lit(True)), [*GROUP], "left")
        if news.broker_news is None:
            known = known.withColumn("is_late", F.lit(None).cast("boolean"))
        else:
            known = known.join(F.broadcast(news.broker_news), [*GROUP], "left")
        lost_from = self._lost_from()
        is_other = (
            (F.col("state_format") != STATE_FORMAT)
            | (F.col("rules") != news.rules)
            | self._asked_again()
        )
        is_told = F.col("is_late").isNotNull()
        is_due = F.col("is_due") | (F.col("is_due_with_commits") & F.col("committed").isNotNull())
        is_affected = F.col("first_new").isNotNull() | is_other | is_due | is_told
        is_late = (F.col("first_new") < F.col("next_offset")) | (lost_from < F.col("next_offset"))
        is_late = F.coalesce(is_late, F.lit(False)) | F.coalesce("is_late", F.lit(False))
        rebuild = F.lit(not news.is_clean) | F.coalesce(is_other, F.lit(False)) | is_late
        return (
            known.join(new, [*GROUP], "full")
            .where(is_affected | lost_from.isNotNull())
            .select(*GROUP, F.when(rebuild, REBUILT).otherwise(RESUMED).alias("mode"))
        )

    def _lost_from(self) -> Column:
        if not self._news.gaps:
            return F.lit(None).cast("bigint")
        pairs = [F.lit(number) for item in self._news.gaps.items() for number in item]
        return F.try_element_at(F.create_map(*pairs), F.col("partition")).cast("bigint")

    def _asked_again(self) -> Column:
        if not self._news.topics:
            return F.lit(False)
        changed = F.array(*[F.lit(topic) for topic in sorted(self._news.topics)])
        return F.coalesce(F.arrays_overlap("topics", changed), F.lit(False))

    def _is_due(self, moment: str) -> Column:
        if self._news.log_end_ms is None:
            return F.lit(False)
        end = F.timestamp_millis(F.lit(self._news.log_end_ms))
        return F.coalesce(F.col(moment) <= end, F.lit(False))
