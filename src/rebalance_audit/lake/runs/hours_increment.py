"""gold.group_hours in an increment: only the hours to which something new belongs are made again."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.gold.commit_hours import (
    commit_hours,
    continued_hours,
    with_following,
)
from rebalance_audit.lake.gold.group_hours import group_hours
from rebalance_audit.lake.gold.hour_codes import KEY
from rebalance_audit.lake.gold.hour_facts import OF_COMMITS
from rebalance_audit.lake.gold.wanted_hours import Wanted, ends_of_hours
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.storage.key_range import KeyRange, range_columns, range_from
from rebalance_audit.tables.schemas import TableName

FEW_HOURS: Final = 100_000
"""Up to this many are broadcast: some MB in every task."""


class HoursNews(NamedTuple):
    """What has become known since the hours were made."""

    changed: Sequence[DataFrame]
    """Group and hour of the rows that changed in other gold tables; the hour of a row that belongs to none is null."""
    seconds: Callable[[], DataFrame | None]
    """Of new commits, see `commit_seconds`; None if there are none."""
    from_ms: int | None
    """A moment before which none of them lies, epoch milliseconds; None if no new record has a time."""
    is_in_order: bool
    """Whether the new commits follow all that the table includes, and it includes none of them."""
    rebuilt: DataFrame | None
    """Groups whose hours are all made again; None for none."""
    log_end_ms: int | None


def patch_hours(context: RunContext, news: HoursNews) -> None:
    """Bring the table up to date; the other gold tables already are."""
    name = TableName.GROUP_HOURS
    known = context.of_cluster(name)
    rebuilt = None if news.rebuilt is None else news.rebuilt.select("group_id").distinct()
    to_make = _hours_to_make(context, news, known, rebuilt)
    rows, old = [], []
    if to_make is not None:
        rows.append(_made_again(context, news, to_make, known))
        pairs = to_make.pairs.select(*KEY)
        there = known.where(to_make.key_range.condition())
        old.append(there.join(pairs, [*KEY], "left_semi").select("cluster", *KEY))
    if rebuilt is not None:
        rows.append(
            group_hours(
                lambda table: context.of_cluster(table).join(rebuilt, "group_id", "left_semi"),
                news.log_end_ms,
            )
        )
        old.append(known.join(rebuilt, "group_id", "left_semi").select("cluster", *KEY))
    if not rows:
        return
    made = context.lake.stage.keep(reduce(DataFrame.unionByName, rows))
    # Among them are hours that have no row any more.
    context.note(name, context.sink.merge(name, made, reduce(DataFrame.unionByName, old)))


def _made_again(
    context: RunContext, news: HoursNews, to_make: "_HoursToMake", known: DataFrame
) -> DataFrame:
    """The rows of the hours that still have one."""
    of_commits = _of_commits(context, to_make, known)
    of_groups = to_make.key_range.condition()
    return group_hours(
        lambda name: context.of_cluster(name).where(of_groups),
        news.log_end_ms,
        to_make.wanted,
        of_commits,
    )


class _HoursToMake(NamedTuple):
    """The hours that are made again."""

    pairs: DataFrame
    """KEY, OF_COMMITS where new commits continue the hour, and `again`: whether its commits must be read again."""
    wanted: Wanted
    key_range: KeyRange
    has_again: bool


def _hours_to_make(
    context: RunContext, news: HoursNews, known: DataFrame, rebuilt: DataFrame | None
) -> _HoursToMake | None:
    """The hours to make again; None if there are none."""
    given = [
        each.where("hour is not null").select(*KEY, *_of_no_commits(), F.lit(False).alias("again"))
        for each in news.changed
    ]
    seconds = news.seconds()
    if seconds is not None and news.from_ms is not None:
        if news.is_in_order:
            given.append(continued_hours(seconds, known, news.from_ms))
        else:
            hours = seconds.select(*KEY).distinct()
            given.append(hours.select(*KEY, *_of_no_commits(), F.lit(True).alias("again")))
    if not given:
        return None
    pairs = _by_key(reduce(DataFrame.union, given))
    if rebuilt is not None:
        pairs = pairs.join(rebuilt, "group_id", "left_anti")
    pairs, found = _looked_through(context, pairs)
    if found["low"] is None:
        return None
    if found["again"]:
        following = with_following(pairs.where("again").select(*KEY), known)
        more = following.select(*KEY, *_of_no_commits(), F.lit(True).alias("again"))
        pairs, found = _looked_through(context, _by_key(pairs.union(more)))
    wanted = Wanted(pairs.select(*KEY), found["low"], found["high"], found["apart"])
    return _HoursToMake(pairs, wanted, range_from(found), found["again"])


def _of_no_commits() -> list[Column]:
    return [F.lit(None).cast(kind).alias(name) for name, kind in OF_COMMITS.items()]


def _by_key(hours: DataFrame) -> DataFrame:
    """Each hour once: at most one of its rows says something of commits."""
    of_commits = [F.max(name).alias(name) for name in OF_COMMITS]
    return hours.groupBy(*KEY).agg(*of_commits, F.bool_or("again").alias("again"))


def _looked_through(context: RunContext, pairs: DataFrame) -> tuple[DataFrame, dict[str, Any]]:
    # Staged, since everything that follows reads it.
    pairs = context.lake.stage.keep(pairs)
    again = F.bool_or("again").alias("again")
    rows = F.count(F.lit(1)).alias("rows")
    found = pairs.agg(rows, *ends_of_hours(), again, *range_columns()).first()
    assert found is not None
    if found["rows"] <= FEW_HOURS:
        # Spark does not know how few there are, and would shuffle both sides of every join.
        pairs = F.broadcast(pairs)
    return pairs, found.asDict()


def _of_commits(context: RunContext, to_make: _HoursToMake, known: DataFrame) -> DataFrame:
    """The columns OF_COMMITS for each of the hours."""
    names = [*KEY, *OF_COMMITS]
    goes_on = F.col("commits").isNotNull()
    not_again = to_make.pairs.where("not again")
    there = known.where(to_make.key_range.condition()).where("commits > 0").select(*names)
    parts = [
        not_again.where(goes_on).select(*names),
        there.join(not_again.where(~goes_on).select(*KEY), [*KEY], "left_semi"),
    ]
    if to_make.has_again:
        wanted = Wanted.of(to_make.pairs.where("again").select(*KEY))
        parts.append(
            commit_hours(wanted, context.of_cluster(TableName.OFFSET_COMMITS), known).select(*names)
        )
    return reduce(DataFrame.unionByName, parts)
