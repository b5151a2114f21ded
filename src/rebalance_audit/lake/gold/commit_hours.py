"""The columns of gold.group_hours that offset commits fill.

Commits are counted by second (`commit_seconds`), and seconds by hour (`commit_stretches`). An hour that had already
begun is continued from its row: the median matters only if a stretch is longer than LONG_STRETCH_MS, and only then are
the hour's commits read again.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.gold.commit_seconds import seconds_of
from rebalance_audit.lake.gold.commit_stretches import (
    CONTINUED,
    HOURS,
    SECONDS,
    SILENCE_DAYS,
    continued,
    hours_of_seconds,
)
from rebalance_audit.lake.gold.hour_codes import KEY
from rebalance_audit.lake.gold.hour_facts import OF_COMMITS
from rebalance_audit.lake.gold.wanted_hours import Wanted, hour_of
from rebalance_audit.tables.arrow_types import ddl_of_columns


def commit_hours(wanted: Wanted, commits: DataFrame, known: DataFrame | None = None) -> DataFrame:
    """KEY and OF_COMMITS of the hours with commits, from rows of silver.offset_commits.

    The last commit of each group before these hours is taken from `known`, rows of gold.group_hours.
    """
    at = F.col("timestamp")
    there = commits.where(wanted.between(at, at)).withColumn("hour", hour_of(at))
    before = None
    if known is not None:
        before = wanted.missing(_recent(known, F.lit(wanted.low).cast("timestamp")))
    return _by_hour(seconds_of(wanted.only(there)), before).select(*KEY, *OF_COMMITS)


def all_hours(seconds: DataFrame) -> DataFrame:
    """The same of all hours, from the seconds of all commits."""
    return _by_hour(seconds).select(*KEY, *OF_COMMITS)


def with_following(hours: DataFrame, known: DataFrame) -> DataFrame:
    """The hours and, for each group, the next hour with commits: its first stretch begins in one of the hours.

    `known` are the rows of gold.group_hours; if records come in order there is no next hour.
    """
    later = known.where("commits > 0").select("group_id", F.col("hour").alias("later"))
    soon = F.col("hour") + F.expr(f"interval {SILENCE_DAYS} days")
    following = (
        hours.join(later, "group_id")
        .where((F.col("later") > F.col("hour")) & (F.col("later") <= soon))
        .groupBy(*KEY)
        .agg(F.min("later").alias("following"))
        .select("group_id", F.col("following").alias("hour"))
    )
    return hours.union(following).distinct()


def continued_hours(new: DataFrame, known: DataFrame, from_ms: int) -> DataFrame:
    """KEY, OF_COMMITS and `again` for the hours of new commits, whose offsets follow all known ones.

    `new` are the seconds of these (`commit_seconds`), none of them before `from_ms` (epoch milliseconds), `known` the
    rows of gold.group_hours without them. Where `again` is true, ignore the values and make the hour from its commits:
    new commits of the group have earlier times than known ones, or an hour that had begun has a stretch that may be a
    gap.
    """
    given = _given(new, _recent(known, F.timestamp_millis(F.lit(from_ms))))
    return given.mapInArrow(continued, ddl_of_columns(CONTINUED))


def _recent(known: DataFrame, low: Column) -> DataFrame:
    """Of the known hours with commits those in which a stretch into hours from `low` on can begin, and later ones."""
    ago = low - F.expr(f"interval {SILENCE_DAYS} days")
    return known.where((F.col("hour") >= hour_of(ago)) & (F.col("commits") > 0))


def _by_hour(seconds: DataFrame, known: DataFrame | None = None) -> DataFrame:
    """What `hours_of_seconds` makes of seconds, and of rows of gold.group_hours, in one task for each group."""
    return _given(seconds, known).mapInArrow(hours_of_seconds, ddl_of_columns(HOURS))


def _given(seconds: DataFrame, known: DataFrame | None) -> DataFrame:
    """What `hours_of_seconds` gets."""
    given = seconds
    if known is not None:
        given = seconds.unionByName(_as_seconds(known), allowMissingColumns=True)
    lacking = SECONDS.keys() - set(given.columns)
    given = given.withColumns({name: F.lit(None).cast(SECONDS[name]) for name in lacking})
    order = ("group_id", "second", F.col("commits").isNotNull())
    return given.select(*SECONDS).repartition("group_id").sortWithinPartitions(*order)


def _as_seconds(hours: DataFrame) -> DataFrame:
    return hours.select(
        *KEY,
        F.date_trunc("second", "last_commit_at").alias("second"),
        F.col("last_commit_at").alias("last_at"),
        F.col("commits").alias("commits_before"),
        F.col("commit_gap_ms_max").alias("longest_before"),
    )
