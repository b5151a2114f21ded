"""The columns of gold.group_hours that offset commits fill.

Commits are grouped by second. A *stretch* is the time from the last commit of a second to the first commit of the next
second that has any, over the whole group; it counts in the hour in which it ends. It is a gap if it lasts more than
LONG_STRETCH_MS and more than LONG_STRETCHES times the median of the stretches that end in the same hour. A silence of
more than SILENCE_DAYS, Kafka's default retention of offsets, is not a stretch: the group begins anew.

An hour that had already begun is continued from its row: the median matters only if a stretch is longer than
LONG_STRETCH_MS, and only then are the hour's commits read again.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.gold.wanted_hours import KEY, Wanted, hour_of
from rebalance_audit.lake.session.kept_rows import kept

LONG_STRETCH_MS: Final = 60_000
LONG_STRETCHES: Final = 10
SILENCE_DAYS: Final = 7
DAY_MS: Final = 86_400_000
OF_COMMITS: Final = {
    "commits": "bigint",
    "commit_gaps": "int",
    "commit_gap_ms_max": "bigint",
    "last_commit_at": "timestamp",
}
"""The columns and their types."""


def commit_hours(wanted: Wanted, commits: DataFrame, known: DataFrame | None = None) -> DataFrame:
    """KEY and OF_COMMITS of the hours with commits, from rows of silver.offset_commits.

    The last commit of each group before these hours is taken from `known`, rows of gold.group_hours.
    """
    at = F.col("timestamp")
    there = _committed(commits).where(wanted.between(at, at))
    seconds = _seconds(wanted.only(there.withColumn("hour", hour_of(at))))
    if known is not None:
        last = wanted.missing(_recent(wanted, known).select(*KEY, "last_commit_at"))
        seconds = seconds.unionByName(_as_seconds(last), allowMissingColumns=True)
    return _by_hour(_stretched(seconds))


def hours_of_commits(commits: DataFrame) -> DataFrame:
    """Group and hour of each row of silver.offset_commits that is a commit."""
    return _committed(commits).select("group_id", hour_of("timestamp").alias("hour")).distinct()


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


def continued_hours(new: DataFrame, known: DataFrame) -> DataFrame | None:
    """KEY, OF_COMMITS and `again` for the hours of new commits, whose offsets follow all known ones; None for none.

    `new` are rows of silver.offset_commits, `known` the rows of gold.group_hours without them. Where `again` is true,
    ignore the values and make the hour from its commits: new commits of the group have earlier times than known ones,
    or an hour that had begun has a stretch that may be a gap.
    """
    dated = _committed(new).withColumn("hour", hour_of("timestamp"))
    seconds = kept(_seconds(dated))
    wanted = Wanted.of(seconds)
    if wanted.low is None:
        return None
    recent = _recent(wanted, known)
    last = recent.groupBy("group_id").agg(F.max("last_commit_at").alias("last_commit_at"))
    group = Window.partitionBy("group_id")
    before = F.max(F.when(F.col("commits").isNull(), F.col("last_at"))).over(group)
    # Computed before the known rows are dropped.
    both = seconds.unionByName(_as_seconds(last), allowMissingColumns=True)
    dated_back = both.withColumn("is_late", F.col("first_at") < before)
    found = _by_hour(_stretched(dated_back), F.bool_or("is_late").alias("is_late"))
    there = recent.select(
        *KEY,
        F.col("commits").alias("commits_before"),
        F.col("commit_gap_ms_max").alias("longest_before"),
    )
    had_begun = F.col("commits_before").isNotNull()
    longest = F.greatest("commit_gap_ms_max", "longest_before")
    again = F.coalesce("is_late", F.lit(False)) | (
        had_begun & (F.coalesce(longest, F.lit(0)) > LONG_STRETCH_MS)
    )
    return found.join(there, [*KEY], "left").select(
        *KEY,
        (F.col("commits") + F.coalesce("commits_before", F.lit(0))).alias("commits"),
        F.when(had_begun, 0).otherwise(F.col("commit_gaps")).alias("commit_gaps"),
        longest.alias("commit_gap_ms_max"),
        "last_commit_at",
        F.bool_or(again).over(group).alias("again"),
    )


def _seconds(commits: DataFrame) -> DataFrame:
    """How many commits each second of a group has, and the times of the first and the last."""
    return commits.groupBy(*KEY, F.date_trunc("second", "timestamp").alias("second")).agg(
        F.count(F.lit(1)).alias("commits"),
        F.min("timestamp").alias("first_at"),
        F.max("timestamp").alias("last_at"),
    )


def _as_seconds(last: DataFrame) -> DataFrame:
    """The last commits of groups as seconds that count none."""
    return last.select(
        "group_id",
        F.date_trunc("second", "last_commit_at").alias("second"),
        F.col("last_commit_at").alias("last_at"),
    )


def _recent(wanted: Wanted, known: DataFrame) -> DataFrame:
    """The known hours with commits in which a stretch into the wanted hours can begin, and later ones."""
    ago = F.lit(wanted.low).cast("timestamp") - F.expr(f"interval {SILENCE_DAYS} days")
    return known.where((F.col("hour") >= hour_of(ago)) & (F.col("commits") > 0))


def _stretched(seconds: DataFrame) -> DataFrame:
    """The seconds that have commits, with the stretch that ends in each."""
    # Within a second the known commits come first: the stretch that ends in it is known too.
    order = Window.partitionBy("group_id").orderBy("second", F.col("commits").isNotNull())
    stretch = F.unix_millis("first_at") - F.unix_millis(F.lag("last_at").over(order))
    is_one = (stretch <= SILENCE_DAYS * DAY_MS) & (F.lag("second").over(order) < F.col("second"))
    return seconds.withColumn("stretch", F.when(is_one, stretch)).where("commits is not null")


def _by_hour(stretched: DataFrame, *more: Column) -> DataFrame:
    usual = F.percentile("stretch", F.lit(0.5)).over(Window.partitionBy(*KEY))
    is_long = (F.col("stretch") > LONG_STRETCH_MS) & (
        F.col("stretch") > LONG_STRETCHES * F.col("usual")
    )
    return (
        stretched.withColumn("usual", usual)
        .groupBy(*KEY)
        .agg(
            F.sum("commits").alias("commits"),
            F.count_if(is_long).cast("int").alias("commit_gaps"),
            F.max("stretch").alias("commit_gap_ms_max"),
            F.max("last_at").alias("last_commit_at"),
            *more,
        )
    )


def _committed(commits: DataFrame) -> DataFrame:
    """Commits whose time is known, whatever became of their transaction; tombstones are no commits."""
    return commits.where("not tombstone and timestamp is not null")
