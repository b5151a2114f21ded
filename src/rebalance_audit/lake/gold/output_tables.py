"""From what the reducer made to the rows of each table."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.hours.group_hours import HOUR_MS
from rebalance_audit.audit.members.stint import FROM_FIRST_STINT
from rebalance_audit.audit.members.stint import KEY as MEMBER_KEY
from rebalance_audit.audit.rows import GROUP_HOURS, MEMBERS
from rebalance_audit.lake.gold.output_rows import NEW, REBUILT
from rebalance_audit.lake.storage.stage import StagedTables
from rebalance_audit.tables.schemas import TableName, table_schemas

STINTS: Final = "stints"


def rebuilt_rows_of(staged: StagedTables, output: str) -> DataFrame:
    """The rows of one table of groups that were replayed from their first record."""
    rows = staged.of(output, REBUILT).frame
    return merge_stint_frames(rows) if output == MEMBERS else rows


def rows_of(staged: StagedTables, output: str) -> DataFrame:
    """The rows of one output, without the keys that are gone."""
    return staged.of(output, REBUILT, NEW).frame


def merge_stint_frames(stints: DataFrame) -> DataFrame:
    """One row per member id from its stints, as `audit.members.merge_stints` does."""
    order = F.struct("log_partition", "first_offset")
    from_latest = _of_latest()
    return (
        stints.groupBy(*MEMBER_KEY)
        .agg(
            F.min_by(F.struct(*FROM_FIRST_STINT), order).alias("first"),
            F.max_by(F.struct(*from_latest), order).alias("latest"),
            F.sum(STINTS).cast("int").alias(STINTS),
        )
        .select(*MEMBER_KEY, "first.*", "latest.*", STINTS)
    )


def continue_stints(stints: DataFrame, known: DataFrame) -> DataFrame:
    """Rows of gold.members from the stints of resumed groups and from the rows that the table has.

    As `audit.members.merge_stints`: a stint that a row already includes counts once, and its latest stint may continue.
    """
    names = table_schemas()[TableName.MEMBERS].column_names
    order = F.struct("log_partition", "first_offset")
    latest = _of_latest()
    of_known = F.struct(*names).alias("known")
    present = known.select(*MEMBER_KEY, of_known)
    joined = stints.join(present, [*MEMBER_KEY], "left")
    is_new = F.col("first_offset") > F.coalesce("known.latest_offset", F.lit(-1))
    merged = joined.groupBy(*MEMBER_KEY).agg(
        F.first("known").alias("known"),
        F.min_by(F.struct(*FROM_FIRST_STINT), order).alias("first"),
        F.max_by(F.struct(*latest), order).alias("latest"),
        F.count_if(is_new).alias("more"),
    )
    continues = F.coalesce(
        F.col("latest.latest_offset") >= F.col("known.latest_offset"), F.lit(True)
    )
    # The first stint itself may have gone on, if the last run ended within the write that began it.
    is_first = F.col("known").isNull() | F.col("first.first_offset").eqNullSafe(
        F.col("known.first_offset")
    )
    return merged.select(
        *MEMBER_KEY,
        *[
            F.when(is_first, F.col(f"first.{name}")).otherwise(F.col(f"known.{name}")).alias(name)
            for name in FROM_FIRST_STINT
        ],
        *[
            F.when(continues, F.col(f"latest.{name}")).otherwise(F.col(f"known.{name}")).alias(name)
            for name in latest
        ],
        (F.coalesce(f"known.{STINTS}", F.lit(0)) + F.col("more")).cast("int").alias(STINTS),
    )


def _of_latest() -> list[str]:
    """The columns of gold.members that say how its latest stint was."""
    names = table_schemas()[TableName.MEMBERS].column_names
    return [
        name for name in names if name not in {"cluster", *MEMBER_KEY, *FROM_FIRST_STINT, STINTS}
    ]


def in_window(output: str, from_ms: int | None, to_ms: int | None) -> Column:
    """Whether a row of a gold table begins in [from_ms, to_ms), epoch milliseconds; one of unknown time never does.

    Of rows of hours: whether any part of the hour is in the window.
    """
    column = table_schemas()[f"gold.{output}"].begins_at
    assert column is not None, output
    if output == GROUP_HOURS and from_ms is not None:
        from_ms = from_ms // HOUR_MS * HOUR_MS
    return begins_within(column, from_ms, to_ms)


def begins_within(column: str, from_ms: int | None, to_ms: int | None) -> Column:
    """Whether a column's moment is in [from_ms, to_ms), epoch milliseconds."""
    condition = F.lit(True)
    if from_ms is not None:
        condition &= F.col(column) >= F.timestamp_millis(F.lit(from_ms))
    if to_ms is not None:
        condition &= F.col(column) < F.timestamp_millis(F.lit(to_ms))
    return condition
