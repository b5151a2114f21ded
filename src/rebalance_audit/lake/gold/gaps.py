"""Losses in a log that may concern any group of a partition, since what was lost is not known."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.gold.reducer_options import Gaps
from rebalance_audit.lake.records import routing
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_TYPES

LOSSES_MAX: Final = 10_000
"""Up to this many losses of a partition are kept separately; with more, neighbours are merged."""


def losses_without_group(small: DataFrame) -> DataFrame:
    """Records of the small side whose key does not name their group, as `gaps_of` takes them."""
    lost = routing.group_records(small, None).where(F.col("group_id").isNull())
    return lost.select("partition", F.col("offset").alias("before_offset"))


def losses_in_quarantine(quarantine: DataFrame, *, damage_only: bool) -> DataFrame:
    """Damaged stretches in rows of silver.quarantine and, unless `damage_only`, records of unknown groups."""
    before = F.col("before_offset")
    if not damage_only:
        is_unknown = routing.group_id().isNull() & ~F.coalesce(
            routing.has_type(*OFFSET_COMMIT_TYPES), F.lit(False)
        )
        before = F.coalesce(
            before, F.when(F.col("source_file").isNull() & is_unknown, F.col("offset"))
        )
    losses = quarantine.select("partition", before.alias("before_offset"))
    return losses.where("before_offset is not null")


def gaps_of(losses: DataFrame) -> Gaps:
    """Log partition -> offsets, ascending, before which there is a gap.

    `losses` has `partition` and `before_offset`, a row per loss. If there are too many, a stretch of them counts as a
    gap before its first and another before its last.
    """
    ends = losses.groupBy("partition").agg(
        F.min("before_offset").alias("low"),
        F.max("before_offset").alias("high"),
        F.count_distinct("before_offset").alias("losses"),
    )
    wide = F.greatest(F.expr(f"(high - low) div {LOSSES_MAX}"), F.lit(1))
    stretch = F.when(F.col("losses") > LOSSES_MAX, wide).otherwise(1)
    found = (
        losses.join(F.broadcast(ends), "partition")
        .groupBy("partition", F.floor((F.col("before_offset") - F.col("low")) / stretch))
        .agg(F.min("before_offset").alias("first"), F.max("before_offset").alias("last"))
        .select("partition", "first", "last")
    )
    gaps: dict[int, set[int]] = {}
    for row in found.collect():
        gaps.setdefault(row["partition"], set()).update((row["first"], row["last"]))
    return {partition: sorted(offsets) for partition, offsets in gaps.items()}
