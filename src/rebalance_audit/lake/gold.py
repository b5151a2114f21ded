"""From the reducer's stream to the rows of each table."""

from collections.abc import Mapping
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.audit.members import FROM_FIRST_STINT
from rebalance_audit.audit.members import KEY as MEMBER_KEY
from rebalance_audit.audit.rows import (
    CONVERGENCE,
    EPOCHS,
    FINDINGS,
    GROUP_STATES,
    MEMBERS,
    OWNERSHIP,
    REBALANCE_CAUSES,
    REBALANCES,
)
from rebalance_audit.lake.output_rows import columns_of

BEGINS_AT: Final[Mapping[str, str]] = {
    EPOCHS: "started_at",
    REBALANCE_CAUSES: "at",
    CONVERGENCE: "started_at",
    REBALANCES: "started_at",
    MEMBERS: "first_seen_at",
    OWNERSHIP: "from_at",
    GROUP_STATES: "from_at",
    FINDINGS: "from_at",
}
"""Gold table -> the column that says when a row begins: a window of time takes rows by it."""
STINTS: Final = "stints"


def rows_of(stream: DataFrame, output: str) -> DataFrame:
    """The rows of one output (without the cluster)."""
    rows = stream.where(F.col("table") == output).select(f"{output}.*")
    return merge_stints(rows) if output == MEMBERS else rows


def merge_stints(stints: DataFrame) -> DataFrame:
    """One row per member id from its stints, as `audit.members.merge_stints` does."""
    order = F.struct("log_partition", "first_offset")
    from_latest = [
        name for name in columns_of(MEMBERS) if name not in {*MEMBER_KEY, *FROM_FIRST_STINT, STINTS}
    ]
    return (
        stints.groupBy(*MEMBER_KEY)
        .agg(
            F.min_by(F.struct(*FROM_FIRST_STINT), order).alias("first"),
            F.max_by(F.struct(*from_latest), order).alias("latest"),
            F.sum(STINTS).cast("int").alias(STINTS),
        )
        .select(*MEMBER_KEY, "first.*", "latest.*", STINTS)
    )


def in_window(output: str, from_ms: int | None, to_ms: int | None) -> Column:
    """Whether a row of a gold table begins in [from_ms, to_ms); a row whose beginning is unknown is in no window."""
    begins = F.col(BEGINS_AT[output])
    condition = F.lit(True)
    if from_ms is not None:
        condition &= begins >= F.timestamp_millis(F.lit(from_ms))
    if to_ms is not None:
        condition &= begins < F.timestamp_millis(F.lit(to_ms))
    return condition
