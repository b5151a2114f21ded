"""gold.group_hours: what each group went through in each hour, made from other gold tables and from the commits.

An hour has a row if an epoch began in it, if the group was or may have been not stable or a partition unowned during
part of it, or if offsets were committed. Only hours to which something new belongs are made again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Final, TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.rows import EPOCHS, GROUP_STATES, OWNERSHIP, REBALANCES
from rebalance_audit.lake.gold.commit_hours import commit_hours
from rebalance_audit.lake.gold.hour_codes import KEY
from rebalance_audit.lake.gold.hour_facts import (
    FACTS,
    LOOKED_AT,
    OF_COMMITS,
    FactsOf,
    hours_of_open,
    hours_touched,
)
from rebalance_audit.lake.gold.hour_rows import COLUMNS, hours_of_facts
from rebalance_audit.lake.gold.outputs import OUTPUTS
from rebalance_audit.lake.gold.wanted_hours import Wanted, hour_of
from rebalance_audit.tables.arrow_types import ddl_of_columns
from rebalance_audit.tables.schemas import TableName

Read: TypeAlias = Callable[[str], DataFrame | None]
"""Takes a table's full name and gives its rows of the cluster; None for silver.offset_commits if the run has none."""
_KEY_DDL: Final = ddl_of_columns({name: FACTS[name] for name in KEY})


def changed_hours(output: str, changes: DataFrame) -> DataFrame:
    """KEY of the hours to which rows of an output belong, as they were and as they are; `changes` is a change feed."""

    def hours(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from hours_touched(output, batch).to_batches()

    return changes.select(*LOOKED_AT[output]).mapInArrow(hours, _KEY_DDL)


def open_hours(rebalances: DataFrame, since_ms: int | None, log_end_ms: int | None) -> DataFrame:
    """KEY for rebalances that have not ended, see `hours_of_open`."""

    def hours(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from hours_of_open(batch, since_ms, log_end_ms).to_batches()

    return rebalances.select(*LOOKED_AT[REBALANCES]).mapInArrow(hours, _KEY_DDL)


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
    if of_commits is None and (commits := read(TableName.OFFSET_COMMITS)) is not None:
        of_commits = commit_hours(wanted, commits)
    end = _at(log_end_ms)
    facts = []
    for output in LOOKED_AT:
        rows = read(OUTPUTS[output])
        assert rows is not None
        rows = rows.where(wanted.between(*_ENDS[output](end))).select(*LOOKED_AT[output])
        if wanted.hours is not None and not wanted.are_close:
            groups = wanted.hours.select("group_id").distinct()
            rows = rows.join(groups, "group_id", "left_semi")
        make = partial(_facts_of_rows, output, FactsOf(log_end_ms, *wanted.numbers))
        facts.append(rows.mapInArrow(make, ddl_of_columns(FACTS)))
    return hours_of(facts, wanted, of_commits)


def hours_of(facts: Sequence[DataFrame], wanted: Wanted, of_commits: DataFrame | None) -> DataFrame:
    """The rows that facts add up to: one shuffle brings those of each group together."""
    parts = [*facts]
    if of_commits is not None:
        parts.append(of_commits.select(*KEY, *OF_COMMITS, F.lit(True).alias("makes_row")))
    if wanted.hours is not None:
        parts.append(wanted.hours.select(*KEY, F.lit(True).alias("is_wanted")))
    together = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), parts)
    by_group = together.select(*FACTS).repartition("group_id").sortWithinPartitions("group_id")
    make = partial(
        hours_of_facts, has_commits=of_commits is not None, of_wanted=wanted.hours is not None
    )
    return by_group.mapInArrow(make, ddl_of_columns(COLUMNS))


def _facts_of_rows(
    output: str, of: FactsOf, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield from of.facts(output, batch).to_batches()


def _ends_of_epoch(_end: Column) -> tuple[Column, Column]:
    return _began(""), _began("")


def _ends_of_rebalance(end: Column) -> tuple[Column, Column]:
    began = F.col("started_at")
    return _began_at_the_earliest(""), F.greatest(began, F.coalesce("ended_at", end, began))


def _ends_of_stretch(_end: Column) -> tuple[Column, Column]:
    return _back(F.col("from_at"), F.col("unowned_before_ms")), F.col("from_at")


def _ends_of_state(end: Column) -> tuple[Column, Column]:
    began = F.col("from_at")
    return began, F.greatest(began, F.coalesce("to_at", end, began))


_ENDS: Final = {
    EPOCHS: _ends_of_epoch,
    REBALANCES: _ends_of_rebalance,
    OWNERSHIP: _ends_of_stretch,
    GROUP_STATES: _ends_of_state,
}
"""From when to when a row may say something, so that Delta can skip files."""


def _began(prefix: str) -> Column:
    return F.coalesce(F.col(f"{prefix}started_at"), F.col(f"{prefix}converged_at"))


def _began_at_the_earliest(prefix: str) -> Column:
    """When a rebalance can have begun; where nothing tells, when it is known to have been going on."""
    began, ended = F.col(f"{prefix}started_at"), F.col(f"{prefix}ended_at")
    by_bound = _back(ended, F.col(f"{prefix}duration_max_ms"))
    return F.least(began, F.coalesce(by_bound, F.col(f"{prefix}started_at_earliest"), began))


def _back(at: Column, by_ms: Column) -> Column:
    return F.timestamp_millis(F.unix_millis(at) - by_ms)


def _at(moment_ms: int | None) -> Column:
    moment = F.lit(moment_ms).cast("bigint")
    return F.timestamp_millis(moment)
