"""gold.group_hours: what each group went through in each hour, made from other gold tables and from the commits.

An hour has a row if an epoch began in it, if the group was or may have been not stable or a partition unowned during
part of it, or if offsets were committed. Only hours to which something new belongs are made again.
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.rows import EPOCHS, GROUP_STATES, OWNERSHIP, REBALANCES
from rebalance_audit.lake.gold.commit_hours import OF_COMMITS, commit_hours
from rebalance_audit.lake.gold.wanted_hours import KEY, Wanted, hour_of
from rebalance_audit.tables.schemas import TableName

HOUR_MS: Final = 3_600_000
HOURS_MAX: Final = 9_000
"""A year and some days: a clock that is wrong by a thousand years must not make a million rows."""

Read: TypeAlias = Callable[[str], DataFrame | None]
"""Takes a table's full name and gives its rows of the cluster; None for silver.offset_commits if the run has none."""


def footprint_of(output: str) -> Callable[[str], Column] | None:
    """The hours to which a row of a gold table belongs, as an expression; None for tables that hours do not use."""
    return FOOTPRINTS.get(output)


def _of_epoch(row: str) -> Column:
    return F.array(hour_of(_began(f"{row}.")))


def _of_rebalance(row: str) -> Column:
    began, ended = F.col(f"{row}.started_at"), F.col(f"{row}.ended_at")
    return F.when(
        began.isNotNull(), _hours(_began_at_the_earliest(f"{row}."), F.coalesce(ended, began))
    )


def _of_stretch(row: str) -> Column:
    gap = F.col(f"{row}.unowned_before_ms")
    until = F.col(f"{row}.from_at")
    return F.when(gap > 0, _hours(_back(until, gap), until))


def _of_state(row: str) -> Column:
    return F.array(hour_of(F.col(f"{row}.from_at")))


FOOTPRINTS: Final = {
    EPOCHS: _of_epoch,
    REBALANCES: _of_rebalance,
    OWNERSHIP: _of_stretch,
    GROUP_STATES: _of_state,
}

FOOTPRINT_COLUMNS: Final = {
    EPOCHS: ("started_at", "converged_at"),
    REBALANCES: ("started_at", "ended_at", "duration_max_ms", "started_at_earliest"),
    OWNERSHIP: ("from_at", "unowned_before_ms"),
    GROUP_STATES: ("from_at",),
}
"""The columns that they look at, beside the group."""


def hours_of_open(rebalances: DataFrame, since_ms: int | None, log_end_ms: int | None) -> DataFrame:
    """Group and hour of rebalances that have not ended: all hours from the log's earlier end to its present end."""
    end = _at(log_end_ms)
    since = F.col("started_at") if since_ms is None else F.greatest("started_at", _at(since_ms))
    going_on = rebalances.where("ended_at is null and started_at is not null")
    return going_on.select(
        "group_id", F.explode(_hours(since, F.greatest(since, end))).alias("hour")
    )


def reaches_window(from_ms: int | None, to_ms: int | None) -> Column:
    """Whether any of the `hour` lies in [from_ms, to_ms), epoch milliseconds."""
    condition = F.lit(True)
    if from_ms is not None:
        condition &= F.col("hour") >= hour_of(F.timestamp_millis(F.lit(from_ms)))
    if to_ms is not None:
        condition &= F.col("hour") < F.timestamp_millis(F.lit(to_ms))
    return condition


def group_hours(
    read: Read,
    log_end_ms: int | None,
    wanted: Wanted | None = None,
    of_commits: DataFrame | None = None,
) -> DataFrame:
    """Rows of gold.group_hours (without the cluster).

    For the wanted hours, with the columns that `of_commits` has for them (see `commit_hours`); without these, for all.
    `log_end_ms` is in epoch milliseconds.
    """
    wanted = wanted or Wanted()
    end = _at(log_end_ms)

    def table(name: str) -> DataFrame:
        found = read(name)
        assert found is not None
        return found

    # Rows of all tables by group and hour, brought together by one shuffle: joins would take one each.
    facts = [
        _epoch_facts(wanted, table(TableName.EPOCHS)),
        _rebalance_facts(wanted, table(TableName.REBALANCES), end),
        _unowned_facts(wanted, table(TableName.OWNERSHIP)),
    ]
    if of_commits is None and (commits := read(TableName.OFFSET_COMMITS)) is not None:
        of_commits = commit_hours(wanted, commits)
    has_commits = of_commits is not None
    if of_commits is not None:
        facts.append(of_commits.select(*KEY, F.lit(False).alias("is_state"), *OF_COMMITS))
    states = table(TableName.GROUP_STATES)
    if wanted.hours is not None:
        # If the hours are known they need not be found first.
        facts.append(_state_facts(wanted, states, wanted.hours, end))
    if wanted.are_close:
        assert wanted.hours is not None
        facts.append(wanted.hours.select(*KEY, *[F.lit(True).alias(mark) for mark in MARKS]))
    rows = (
        reduce(partial(DataFrame.unionByName, allowMissingColumns=True), facts)
        .groupBy(*KEY)
        .agg(
            *_of_epochs(),
            *_of_rebalances(),
            *[F.sum("unowned_ms").alias(name) for name in UNOWNED_BOUNDS],
            # One row for each hour.
            *[F.max(name).alias(name) for name in OF_COMMITS if has_commits],
            *(_of_states() if wanted.hours is not None else ()),
            F.bool_and("is_state").alias("has_states_alone"),
            *([F.bool_or("is_wanted").alias("is_wanted")] if wanted.are_close else []),
        )
    )
    if wanted.are_close:
        rows = rows.where("is_wanted")
    if wanted.hours is None:
        there = _state_facts(wanted, states, rows, end).groupBy(*KEY).agg(*_of_states())
        rows = rows.join(there, [*KEY], "left")
    else:
        rows = rows.where("not has_states_alone")
    zero = F.lit(0)
    if not has_commits:
        zero = F.lit(None)
        for name, kind in OF_COMMITS.items():
            rows = rows.withColumn(name, F.lit(None).cast(kind))
    bounds = {
        name: F.coalesce(F.col(name), F.lit(0)) + F.coalesce(f"{name}_classic", F.lit(0))
        for name in UNOWNED_BOUNDS
    }
    least_name, _, most_name = UNOWNED_BOUNDS
    for of_what in ("epoch", "rebalance"):
        is_bounded = ~F.coalesce(f"{of_what}_unowned_unbounded", F.lit(False))
        bounds[most_name] = F.when(is_bounded, bounds[most_name])
    exactly = F.when(bounds[least_name] == bounds[most_name], bounds[least_name])
    not_stable_most = F.when(
        ~F.coalesce("not_stable_unbounded", F.lit(False)),
        F.coalesce("not_stable_max_ms", F.lit(0)),
    )
    gap = F.greatest(*[F.coalesce(f"{part}_gap", F.lit(False)) for part in ("epoch", "rebalance")])
    return rows.select(
        *KEY,
        # A group that only commits has no record of its protocol; simple consumers use the classic one.
        F.coalesce("protocol", F.lit("classic")).alias("protocol"),
        *[F.coalesce(name, F.lit(0)).alias(name) for name in COUNTED],
        F.coalesce("not_stable_min_ms", F.lit(0)).alias("not_stable_ms"),
        not_stable_most.alias("not_stable_max_ms"),
        exactly.alias("unowned_partition_ms"),
        *[value.alias(name) for name, value in bounds.items()],
        "members_max",
        "convergence_ms_max",
        "primary_cause",
        F.coalesce("commits", zero).alias("commits"),
        F.coalesce("commit_gaps", zero).alias("commit_gaps"),
        "commit_gap_ms_max",
        "last_commit_at",
        F.when(gap, "gap").otherwise("complete").alias("completeness"),
    )


OF_EPOCHS: Final = ("partitions_moved", "members_joined", "members_left")
COUNTED: Final = (
    "rebalances",
    "epochs",
    "not_stable_min_ms",
    "not_stable_estimate_ms",
    *OF_EPOCHS,
)
MARKS: Final = ("is_state", "is_wanted")
"""What an hour says that is to be made, as a fact among others: as a state it makes no row by itself."""
UNOWNED_BOUNDS: Final = (
    "unowned_partition_min_ms",
    "unowned_partition_estimate_ms",
    "unowned_partition_max_ms",
)


def _epoch_facts(wanted: Wanted, epochs: DataFrame) -> DataFrame:
    began = _began("")
    found = wanted.only(
        epochs.where(wanted.between(began, began)).withColumn("hour", hour_of(began))
    )
    # Records of classic generations tell nothing about single partitions; their bounds count where the epoch does.
    classic = F.col("protocol") == "classic"
    least = F.coalesce("unowned_partition_min_ms", "unowned_partition_ms", F.lit(0))
    most = F.col("unowned_partition_max_ms")
    values = (least, F.coalesce("unowned_partition_estimate_ms", least), most)
    return found.select(
        *KEY,
        F.lit(False).alias("is_state"),
        F.lit(1).alias("epoch"),
        *OF_EPOCHS,
        "convergence_ms",
        "primary_cause",
        *[
            F.when(classic, value).alias(f"{name}_classic")
            for name, value in zip(UNOWNED_BOUNDS, values, strict=True)
        ],
        most.isNull().alias("epoch_unowned_unbounded"),
        (F.col("completeness") == "gap").alias("epoch_gap"),
    )


def _of_epochs() -> list[Column]:
    causes = F.collect_list("primary_cause")
    # The most frequent cause; among equally frequent ones the first in the alphabet.
    ranked = F.transform(
        F.array_distinct(causes),
        lambda cause: F.struct(
            (-F.size(F.filter(causes, lambda other: other == cause))).alias("often"),
            cause.alias("cause"),
        ),
    )
    return [
        F.count("epoch").cast("int").alias("epochs"),
        *[F.sum(name).cast("int").alias(name) for name in OF_EPOCHS],
        F.max("convergence_ms").alias("convergence_ms_max"),
        F.array_min(ranked)["cause"].alias("primary_cause"),
        *[F.sum(f"{name}_classic").alias(f"{name}_classic") for name in UNOWNED_BOUNDS],
        F.bool_or("epoch_unowned_unbounded").alias("epoch_unowned_unbounded"),
        F.bool_or("epoch_gap").alias("epoch_gap"),
    ]


def _rebalance_facts(wanted: Wanted, rebalances: DataFrame, end: Column) -> DataFrame:
    began = F.col("started_at")
    # Clocks of two coordinators may differ, but nothing ends before it began.
    ended = F.greatest(began, F.coalesce("ended_at", end, began))
    earliest = _began_at_the_earliest("")
    there = rebalances.where("started_at is not null").where(wanted.between(earliest, ended))
    known_ms = F.unix_millis(ended) - F.unix_millis(began)
    bounded = (F.col("protocol") != "classic") | F.coalesce(
        F.col("duration_max_ms").isNotNull(), F.lit(False)
    )
    spread = wanted.only(
        there.select(
            "group_id",
            "completeness",
            began.alias("began"),
            ended.alias("ended"),
            earliest.alias("earliest"),
            F.coalesce(_back(F.col("ended_at"), F.col("duration_estimate_ms")), began).alias(
                "estimated"
            ),
            # A cooperative rebalance may have been stable between its two halves.
            (known_ms - F.least(known_ms, F.coalesce("duration_min_ms", known_ms))).alias("spare"),
            (~(bounded | F.col("started_at_earliest").isNotNull())).alias("unbounded"),
            F.col("unowned_partition_max_ms").isNull().alias("unowned_unbounded"),
            F.explode(_hours(earliest, ended, wanted)).alias("hour"),
        )
    )
    least = F.greatest(F.lit(0), _share("began", "ended") - F.col("spare"))
    return spread.select(
        *KEY,
        F.lit(False).alias("is_state"),
        (hour_of("began") == F.col("hour")).alias("rebalance_began"),
        least.alias("not_stable_min_ms"),
        F.greatest(least, _share("estimated", "ended")).alias("not_stable_estimate_ms"),
        _share("earliest", "ended").alias("not_stable_max_ms"),
        F.col("unbounded").alias("not_stable_unbounded"),
        F.col("unowned_unbounded").alias("rebalance_unowned_unbounded"),
        (F.col("completeness") == "gap").alias("rebalance_gap"),
    )


def _of_rebalances() -> list[Column]:
    durations = ("not_stable_min_ms", "not_stable_estimate_ms", "not_stable_max_ms")
    told = ("not_stable_unbounded", "rebalance_unowned_unbounded", "rebalance_gap")
    return [
        F.count_if("rebalance_began").cast("int").alias("rebalances"),
        # Rebalances do not overlap, but their bounds may. `least` would pass over the null of an hour without any.
        *[
            F.when(F.count(name) > 0, F.least(F.sum(name), F.lit(HOUR_MS))).alias(name)
            for name in durations
        ],
        *[F.bool_or(name).alias(name) for name in told],
    ]


def _unowned_facts(wanted: Wanted, ownership: DataFrame) -> DataFrame:
    """Where every step is a record; stretches of classic groups have no topic id."""
    began = _back(F.col("from_at"), F.col("unowned_before_ms"))
    there = ownership.where("unowned_before_ms > 0 and topic_id is not null").where(
        wanted.between(began, F.col("from_at"))
    )
    spread = wanted.only(
        there.select(
            "group_id",
            began.alias("began"),
            F.col("from_at").alias("ended"),
            F.explode(_hours(began, F.col("from_at"), wanted)).alias("hour"),
        )
    )
    return spread.select(
        *KEY, F.lit(False).alias("is_state"), _share("began", "ended").alias("unowned_ms")
    )


def _state_facts(wanted: Wanted, states: DataFrame, hours: DataFrame, end: Column) -> DataFrame:
    began = F.col("from_at")
    ended = F.greatest(began, F.coalesce("to_at", end, began))
    there = states.where(wanted.between(began, ended)).select(
        "group_id",
        "protocol",
        "members",
        F.struct("incarnation", "from_offset").alias("latest"),
        began.alias("began"),
        ended.alias("ended"),
    )
    if wanted.are_close:
        touched = wanted.clipped(hour_of("began"), hour_of("ended"))
        found = there.withColumn("hour", F.explode(touched))
    else:
        at = (F.col("began") < F.col("hour") + F.expr("interval 1 hour")) & (
            F.col("ended") >= F.col("hour")
        )
        found = hours.select(*KEY).join(there, "group_id").where(at)
    return found.select(*KEY, F.lit(True).alias("is_state"), "protocol", "members", "latest")


def _of_states() -> list[Column]:
    """The protocol at the end of the hour, and the largest number of members in it."""
    return [
        F.max_by("protocol", "latest").alias("protocol"),
        F.max("members").alias("members_max"),
    ]


def _began(prefix: str) -> Column:
    return F.coalesce(F.col(f"{prefix}started_at"), F.col(f"{prefix}converged_at"))


def _began_at_the_earliest(prefix: str) -> Column:
    """When a rebalance can have begun; where nothing tells, when it is known to have been going on."""
    began, ended = F.col(f"{prefix}started_at"), F.col(f"{prefix}ended_at")
    by_bound = _back(ended, F.col(f"{prefix}duration_max_ms"))
    return F.least(began, F.coalesce(by_bound, F.col(f"{prefix}started_at_earliest"), began))


def _hours(began: Column, ended: Column, wanted: Wanted | None = None) -> Column:
    """All hours that a stretch of time touches, or the wanted ones; of an absurdly long one the first HOURS_MAX."""
    last = F.least(hour_of(ended), hour_of(began) + F.expr(f"interval {HOURS_MAX} hours"))
    return (wanted or Wanted()).clipped(hour_of(began), last)


def _share(began: str, ended: str) -> Column:
    """Milliseconds of the row's hour that lie within [began, ended)."""
    start = F.unix_millis("hour")
    return F.greatest(
        F.lit(0),
        F.least(F.unix_millis(ended), start + HOUR_MS) - F.greatest(F.unix_millis(began), start),
    )


def _back(at: Column, by_ms: Column) -> Column:
    return F.timestamp_millis(F.unix_millis(at) - by_ms)


def _at(moment_ms: int | None) -> Column:
    moment = F.lit(moment_ms).cast("bigint")
    return F.timestamp_millis(moment)
