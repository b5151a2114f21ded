"""gold.group_hours in an increment: only the hours to which something new belongs are made again.

Where tables are small one task makes them (`gold.hours_patch`), otherwise Spark does.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.gold.commit_hours import (
    commit_hours,
    continued_hours,
    with_following,
)
from rebalance_audit.lake.gold.group_hours import group_hours
from rebalance_audit.lake.gold.hour_codes import HOUR_MS, KEY
from rebalance_audit.lake.gold.hour_facts import FACTS, LOOKED_AT, OF_COMMITS
from rebalance_audit.lake.gold.hours_patch import HoursPatch
from rebalance_audit.lake.gold.outputs import OUTPUTS
from rebalance_audit.lake.gold.wanted_hours import Wanted, ends_of_hours
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.session.kept_rows import kept
from rebalance_audit.lake.session.side_by_side import side_by_side
from rebalance_audit.lake.silver.offset_commits import WrittenCommits
from rebalance_audit.lake.storage.key_range import KeyRange, range_columns, range_from
from rebalance_audit.lake.storage.local_rows import local_rows
from rebalance_audit.lake.storage.row_changes import patch_rows
from rebalance_audit.lake.storage.sinks import FEW_CHANGES, Written
from rebalance_audit.lake.storage.table_files import TableFiles
from rebalance_audit.tables.schemas import TableName

FEW_HOURS: Final = 100_000
"""Up to this many are broadcast: some MB in every task."""
FEW_COMMITS: Final = 1_000_000
"""Up to so many one task counts in the time in which Spark plans to."""
COMMIT_BYTES_MAX: Final = 64 << 20
"""Of files with some millions of commits, of which a task reads three columns."""


class HoursNews(NamedTuple):
    """What has become known since the hours were made."""

    changed: Sequence[DataFrame]
    """Group and hour of the rows that changed in other gold tables; the hour of a row that belongs to none is null."""
    seconds: Callable[[], DataFrame | None]
    """Of new commits, see `commit_seconds`; None if there are none."""
    commits: WrittenCommits | None
    """These commits."""
    from_ms: int | None
    """A moment before which none of them lies, epoch milliseconds; None if no new record has a time."""
    is_in_order: bool
    """Whether the new commits follow all that the table includes, and it includes none of them."""
    rebuilt: DataFrame | None
    """Groups whose hours are all made again; None for none."""
    few_rebuilt: Collection[str] | None
    """The same, if they are few enough to be listed one by one; empty for none."""
    log_end_ms: int | None


def patch_hours(context: RunContext, news: HoursNews) -> None:
    """Bring the table up to date; the other gold tables already are."""
    written = _patched_by_task(context, news)
    if written is not None:
        context.note(TableName.GROUP_HOURS, written)
        return
    known = context.of_cluster(TableName.GROUP_HOURS)
    rebuilt = None if news.rebuilt is None else news.rebuilt.select("group_id").distinct()
    to_make = _hours_to_make(news, known, rebuilt)
    if to_make is None and rebuilt is None:
        return
    of_rebuilt = None
    if rebuilt is not None:
        of_rebuilt = group_hours(
            lambda name: context.of_cluster(name).join(rebuilt, "group_id", "left_semi"),
            news.log_end_ms,
        )
    made = None if to_make is None else _made_again(context, news, to_make, known)
    written = None
    if news.few_rebuilt is not None and (to_make is None or to_make.hours <= FEW_CHANGES):
        parts = [] if of_rebuilt is None else [patch_rows(TableName.GROUP_HOURS, of_rebuilt)]
        if made is not None and to_make is not None:
            # Hours that have no row any more are to be removed.
            parts += [made, to_make.pairs.select(*KEY)]
        handed = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), parts)
        written = context.sink.patch_few(TableName.GROUP_HOURS, handed, news.few_rebuilt)
    if written is None:
        written = _patched(context, made, to_make, of_rebuilt, rebuilt)
    context.note(TableName.GROUP_HOURS, written)


def _patched_by_task(context: RunContext, news: HoursNews) -> Written | None:
    """Let one task do it; None, and the table is as it was, where it cannot."""
    files = None if news.commits is None else news.commits.by_tasks
    if news.rebuilt is not None or not news.is_in_order:
        return None
    if news.commits is not None and (files is None or files.rows > FEW_COMMITS):
        return None
    names = [TableName.GROUP_HOURS, *(OUTPUTS[output] for output in LOOKED_AT)]
    tables = [table for table in side_by_side(context.sink.patchable, names) if table is not None]
    if len(tables) < len(names):
        return None
    table, *sources = tables
    patch = HoursPatch(
        table,
        dict(zip(LOOKED_AT, sources, strict=True)),
        context.request.cluster,
        None if files is None else files.files,
        None if files is None else news.from_ms,
        news.log_end_ms,
    )
    changed = _together(context, news.changed)
    made = patch.made_of(changed)
    if made is not None and made.lacks_commits:
        patch = replace(patch, commits=_commits_from(context, patch.from_hour))
        made = None if patch.commits is None else patch.made_of(changed)
    if made is None or made.patched is None:
        return None
    return context.sink.commit_patch(TableName.GROUP_HOURS, table, made.patched)


def _together(context: RunContext, changed: Sequence[DataFrame]) -> DataFrame:
    """One frame, of one partition at least."""
    if not changed:
        return local_rows(context.spark, {name: FACTS[name] for name in KEY}, [(None, None)])
    return reduce(DataFrame.union, (each.select(*KEY) for each in changed))


def _commits_from(context: RunContext, hour: int | None) -> TableFiles | None:
    """The files with commits from an hour on, if they are few."""
    name = TableName.OFFSET_COMMITS
    version = context.lake.version(name)
    assert version is not None
    assert hour is not None
    begin = F.timestamp_millis(F.lit(hour * HOUR_MS))
    found = context.lake.table_files(
        name, version, context.request.cluster, F.col("timestamp") >= begin
    )
    if found is None or sum(Path(each).stat().st_size for each in found.paths) > COMMIT_BYTES_MAX:
        return None
    return found


def _patched(
    context: RunContext,
    made: DataFrame | None,
    to_make: "_HoursToMake | None",
    of_rebuilt: DataFrame | None,
    rebuilt: DataFrame | None,
) -> Written:
    if made is None or to_make is None:
        assert of_rebuilt is not None
        return context.sink.replace(TableName.GROUP_HOURS, of_rebuilt, F.lit(True), rebuilt)
    pairs = to_make.pairs.select(*KEY)
    return context.sink.patch(
        TableName.GROUP_HOURS,
        pairs.join(made, [*KEY], "left"),
        of_rebuilt,
        rebuilt,
        keys=pairs,
        key_range=to_make.key_range,
    )


def _made_again(
    context: RunContext, news: HoursNews, to_make: "_HoursToMake", known: DataFrame
) -> DataFrame:
    """The rows of the hours that still have one, as `Sink.patch` takes them."""
    of_commits = _of_commits(context, to_make, known)
    of_groups = to_make.key_range.condition()
    rows = group_hours(
        lambda name: context.of_cluster(name).where(of_groups),
        news.log_end_ms,
        to_make.wanted,
        of_commits,
    )
    return patch_rows(TableName.GROUP_HOURS, rows)


class _HoursToMake(NamedTuple):
    """The hours that are made again."""

    pairs: DataFrame
    """KEY, OF_COMMITS where new commits continue the hour, and `again`: whether its commits must be read again."""
    wanted: Wanted
    key_range: KeyRange
    has_again: bool
    hours: int


def _hours_to_make(
    news: HoursNews, known: DataFrame, rebuilt: DataFrame | None
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
    pairs, found = _looked_through(pairs)
    if found["low"] is None:
        return None
    if found["again"]:
        following = with_following(pairs.where("again").select(*KEY), known)
        more = following.select(*KEY, *_of_no_commits(), F.lit(True).alias("again"))
        pairs, found = _looked_through(_by_key(pairs.union(more)))
    wanted = Wanted(pairs.select(*KEY), found["low"], found["high"], found["apart"])
    return _HoursToMake(pairs, wanted, range_from(found), found["again"], found["rows"])


def _of_no_commits() -> list[Column]:
    return [F.lit(None).cast(kind).alias(name) for name, kind in OF_COMMITS.items()]


def _by_key(hours: DataFrame) -> DataFrame:
    """Each hour once: at most one of its rows says something of commits."""
    of_commits = [F.max(name).alias(name) for name in OF_COMMITS]
    return hours.groupBy(*KEY).agg(*of_commits, F.bool_or("again").alias("again"))


def _looked_through(pairs: DataFrame) -> tuple[DataFrame, dict[str, Any]]:
    # Held, since everything that follows reads it.
    pairs = kept(pairs)
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
