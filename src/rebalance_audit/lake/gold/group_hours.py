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
    HOURS_MAX,
    LOOKED_AT,
    OF_COMMITS,
    FactsOf,
    hours_of_open,
)
from rebalance_audit.lake.gold.hour_rows import COLUMNS, hours_of_facts
from rebalance_audit.lake.gold.output_rows import NEW, REBUILT
from rebalance_audit.lake.gold.outputs import OUTPUTS
from rebalance_audit.lake.gold.packed_rows import PACKED, batches_in
from rebalance_audit.lake.gold.task_facts import HOUR_FACTS
from rebalance_audit.lake.gold.wanted_hours import Wanted, hour_of
from rebalance_audit.tables.arrow_types import ddl_of_columns
from rebalance_audit.tables.schemas import TableName

Read: TypeAlias = Callable[[str], DataFrame | None]
"""Takes a table's full name and gives its rows of the cluster; None for silver.offset_commits if the run has none."""
_KEY_DDL: Final = ddl_of_columns({name: FACTS[name] for name in KEY})


def footprint_of(output: str) -> Callable[[str], Column] | None:
    """The hours to which a row of a gold table belongs, as an expression; None for tables that hours do not use.

    The same as `hour_facts.hours_touched`.
    """
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


def open_hours(stream: DataFrame, since_ms: int | None, log_end_ms: int | None) -> DataFrame:
    """KEY for new rebalances of the reducer's stream that have not ended, see `hours_of_open`."""

    def hours(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for rows in batches_in(batch[PACKED]):
                yield from hours_of_open(rows, since_ms, log_end_ms).to_batches()

    packed = stream.where((F.col("table") == REBALANCES) & F.col("mark").isin(REBUILT, NEW))
    return packed.select(PACKED).mapInArrow(hours, _KEY_DDL)


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


def group_hours_of_stream(
    stream: DataFrame, log_end_ms: int | None, of_commits: DataFrame | None
) -> DataFrame:
    """The same for all hours, of the rows that the reducer made of groups with all their records."""

    def facts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for found in facts_of_packed(batches, log_end_ms):
            yield from found.to_batches()

    made = packed_for_hours(stream).mapInArrow(facts, ddl_of_columns(FACTS))
    return hours_of([made], Wanted(), of_commits)


def packed_for_hours(stream: DataFrame) -> DataFrame:
    """What `facts_of_packed` gets of the reducer's stream: rows of groups with all their records, or facts of them."""
    wanted = F.col("table").isin(*LOOKED_AT, HOUR_FACTS) & (F.col("mark") == REBUILT)
    return stream.where(wanted).select("table", PACKED)


def facts_of_packed(
    batches: Iterable[pa.RecordBatch], log_end_ms: int | None
) -> Iterator[pa.Table]:
    """Facts of rows of the reducer's stream, in a task."""
    of = FactsOf(log_end_ms)
    for batch in batches:
        outputs = batch["table"].to_pylist()
        for output, rows in zip(outputs, batches_in(batch[PACKED]), strict=True):
            yield pa.table(rows) if output == HOUR_FACTS else of.facts(output, rows)


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


def _hours(began: Column, ended: Column) -> Column:
    """All hours that a stretch of time touches; of an absurdly long one the first HOURS_MAX."""
    first = hour_of(began)
    last = F.least(hour_of(ended), first + F.expr(f"interval {HOURS_MAX} hours"))
    return F.when(first <= last, F.sequence(first, last, F.expr("interval 1 hour")))


def _back(at: Column, by_ms: Column) -> Column:
    return F.timestamp_millis(F.unix_millis(at) - by_ms)


def _at(moment_ms: int | None) -> Column:
    moment = F.lit(moment_ms).cast("bigint")
    return F.timestamp_millis(moment)
