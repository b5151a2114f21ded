"""Findings that offset commits show: rows of gold.findings that the reducer, which sees no commits, cannot make."""

from collections.abc import Callable
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.finding_rules import FindingRules
from rebalance_audit.audit.findings.finding_kind import FindingKind
from rebalance_audit.audit.findings.kinds import OF_COMMITS
from rebalance_audit.audit.findings.of_commits import HangingTransaction, TopicGrowth
from rebalance_audit.audit.rows import FINDINGS as OUTPUT
from rebalance_audit.lake.gold.finding_rows import evidence, finding_rows
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.silver.offset_commits import OPEN
from rebalance_audit.sentences.words import duration
from rebalance_audit.tables.schemas import TableName

DAY_MS: Final = 86_400_000
OFFSET_COMMITS: Final = "offset commits"
KINDS_OF_COMMITS: Final = tuple(kind.kind for kind in OF_COMMITS)


class Days(NamedTuple):
    """A stretch of whole days (UTC), epoch milliseconds."""

    from_ms: int
    to_ms: int
    """The first moment after it."""

    def hold(self, at: str) -> Column:
        """Whether a moment lies in these days: a condition in literals, so that Delta can skip files."""
        begin, end = (F.timestamp_millis(F.lit(moment)) for moment in self)
        return (F.col(at) >= begin) & (F.col(at) < end)


def days_of(counts: RecordCounts) -> Days:
    """The days in which the records were written; the first day of 1970 if no record has a time."""
    first_ms, last_ms = counts.first_ms or 0, counts.last_ms or 0
    return Days(first_ms // DAY_MS * DAY_MS, (last_ms // DAY_MS + 1) * DAY_MS)


def is_of_records(output: str) -> Column:
    """Which rows of a gold table the reducer makes: all but those of gold.findings that commits show."""
    return ~_is_of_commits() if output == OUTPUT else F.lit(True)


def scope_of(days: Days | None) -> Column:
    """Which rows of gold.findings `commit_findings` makes for these days; None for all days."""
    if days is None:
        return _is_of_commits()
    growth = (F.col("kind") == TopicGrowth.kind) & days.hold("from_at")
    return (F.col("kind") == HangingTransaction.kind) | growth


def commit_findings(
    read: Callable[[str], DataFrame],
    keep: Callable[[DataFrame], DataFrame],
    rules: FindingRules,
    log_end_ms: int | None,
    days: Days | None = None,
    *,
    may_grow: bool = True,
    may_hang: bool = True,
) -> DataFrame | None:
    """Rows of gold.findings (without the cluster): all open transactions, and growth in some days or in all.

    `read` takes a table's full name and gives its rows of the cluster, `keep` stages a frame; `log_end_ms` is in epoch
    milliseconds. With `may_grow` false the log is known to have too few records for any growth, with `may_hang` false
    to have no commit in an open transaction. None if there can be no rows.
    """
    hanging = _hanging(read(TableName.OFFSET_COMMITS), rules, log_end_ms) if may_hang else None
    growth = _growth(read, keep, rules, days) if may_grow else None
    if hanging is None or growth is None:
        return growth if hanging is None else hanging
    return hanging.unionByName(growth)


def _is_of_commits() -> Column:
    return F.col("kind").isin(*KINDS_OF_COMMITS)


def _hanging(commits: DataFrame, rules: FindingRules, log_end_ms: int | None) -> DataFrame:
    record = F.struct("partition", "offset", F.col("timestamp").alias("at"))
    # Files have statistics of the state: one without open commits is not read.
    open_ones = commits.where((F.col("transaction_state") == OPEN) & F.col("timestamp").isNotNull())
    latest = F.timestamp_millis(F.lit(log_end_ms).cast("bigint") - rules.hanging_ms)
    found = (
        open_ones.groupBy("group_id", "producer_id")
        .agg(
            F.min(record).alias("first"),
            F.max(record).alias("last"),
            F.count(F.lit(1)).alias("commits"),
            F.array_sort(F.collect_set("topic")).alias("topics"),
        )
        .where(F.col("first.at") <= latest)
    )
    detail = F.format_string(
        f"A transaction of producer %d with %d offset commits has been open for at least {duration(rules.hanging_ms)}.",
        "producer_id",
        "commits",
    )
    return _rows(
        found,
        HangingTransaction,
        "committed in the open transaction",
        topics="topics",
        detail=detail,
    )


def _growth(
    read: Callable[[str], DataFrame],
    keep: Callable[[DataFrame], DataFrame],
    rules: FindingRules,
    days: Days | None,
) -> DataFrame | None:
    """None for no growth, the usual case."""
    within = F.lit(True) if days is None else days.hold("hour")
    hour = F.date_trunc("hour", "timestamp").alias("hour")
    others = read(TableName.GROUP_RECORDS).select(
        "group_id", hour, F.col("record_name").alias("type"), "partition", "offset", "timestamp"
    )
    commits = read(TableName.OFFSET_COMMITS).select(
        "group_id", hour, F.lit(OFFSET_COMMITS).alias("type"), "partition", "offset", "timestamp"
    )
    counted = (
        others.where(within).groupBy("group_id", "hour", "type").agg(F.count(F.lit(1)).alias("n"))
    )
    counted = counted.unionByName(
        # Counted already: the commits of a day need not be read again for each of its hours.
        read(TableName.GROUP_HOURS)
        .where(within)
        .select(
            "group_id", "hour", F.lit(OFFSET_COMMITS).alias("type"), F.col("commits").alias("n")
        )
    )
    grown = (
        counted.where((F.col("n") >= rules.growth_records) & F.col("group_id").isNotNull())
        .groupBy("group_id", "type", F.date_trunc("day", "hour").alias("day"))
        .agg(
            F.count(F.lit(1)).alias("hours"),
            F.sum("n").alias("records"),
            F.max("n").alias("most"),
            F.min("hour").alias("from_hour"),
            F.max("hour").alias("to_hour"),
        )
    )
    # Mostly empty: then nothing else is planned.
    grown = keep(grown)
    if grown.isEmpty():
        return None
    record = F.struct("partition", "offset", F.col("timestamp").alias("at"))
    ends = (
        others.unionByName(commits)
        .where(within)
        .join(F.broadcast(grown), ["group_id", "type"])
        .where((F.col("hour") == F.col("from_hour")) | (F.col("hour") == F.col("to_hour")))
        .groupBy("group_id", "type", "day")
        .agg(
            F.min_by(record, F.struct("timestamp", "offset")).alias("first"),
            F.max_by(record, F.struct("timestamp", "offset")).alias("last"),
        )
    )
    found = grown.join(ends, ["group_id", "type", "day"])
    detail = F.format_string(
        "It wrote %d records (%s) in %d %s of the day, at most %d in one hour.",
        "records",
        "type",
        "hours",
        F.when(F.col("hours") == 1, "hour").otherwise("hours"),
        "most",
    )
    fact = "written in such an hour"
    return _rows(found, TopicGrowth, fact, "type", to_at="last.at", detail=detail)


def _rows(
    found: DataFrame, kind: type[FindingKind], fact: str, *subject: str, **columns: Column | str
) -> DataFrame:
    """Rows of the table from rows with `group_id` and the structs `first` and `last`, each of a record.

    They have no incarnation: commits do not say to which one of the group they belong.
    """
    ends = F.array_distinct(F.array("first", "last"))
    shared: dict[str, Column | str] = {
        "group_id": "group_id",
        "log_partition": "first.partition",
        "from_at": "first.at",
        "from_offset": "first.offset",
        "evidence": F.transform(
            ends, lambda record: evidence(record["partition"], record, F.lit(fact))
        ),
    }
    identity = ("group_id", "first.partition", "first.offset", *subject)
    return finding_rows(found, kind, identity, shared | columns)
