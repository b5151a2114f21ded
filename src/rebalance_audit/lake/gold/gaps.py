"""Where something of a log could not be read and no group can be told to have lost it: every group may have."""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.gold.reducer import Gaps
from rebalance_audit.lake.records import routing
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_TYPES

LOSSES_MAX: Final = 10_000
"""Stretches of a partition that are told apart; of a log in ruins neighbours become one."""


def losses_without_group(small: DataFrame) -> DataFrame:
    """Records of the small side whose key does not tell whose they are, as `gaps_of` takes them."""
    lost = routing.group_records(small, None).where(F.col("group_id").isNull())
    return lost.select("partition", F.col("offset").alias("before_offset"))


def losses_in_quarantine(quarantine: DataFrame, *, damage_only: bool) -> DataFrame:
    """Damaged stretches in rows of silver.quarantine and, unless only these are wanted, records of unknown groups."""
    place = F.col("before_offset")
    if not damage_only:
        is_unknown = routing.group_id().isNull() & ~F.coalesce(
            routing.has_type(*OFFSET_COMMIT_TYPES), F.lit(False)
        )
        place = F.coalesce(
            place, F.when(F.col("source_file").isNull() & is_unknown, F.col("offset"))
        )
    places = quarantine.select("partition", place.alias("before_offset"))
    return places.where("before_offset is not null")


def gaps_of(places: DataFrame) -> Gaps:
    """Offsets, ascending by partition, in front of which a gap is to be noted.

    `places` has `partition` and `before_offset`, a row per loss. Where there are too many, a stretch of them counts as
    lost at its start and again behind its end.
    """
    ends = places.groupBy("partition").agg(
        F.min("before_offset").alias("low"),
        F.max("before_offset").alias("high"),
        F.count_distinct("before_offset").alias("places"),
    )
    wide = F.greatest(F.expr(f"(high - low) div {LOSSES_MAX}"), F.lit(1))
    stretch = F.when(F.col("places") > LOSSES_MAX, wide).otherwise(1)
    found = (
        places.join(F.broadcast(ends), "partition")
        .groupBy("partition", F.floor((F.col("before_offset") - F.col("low")) / stretch))
        .agg(F.min("before_offset").alias("first"), F.max("before_offset").alias("last"))
        .select("partition", "first", "last")
    )
    gaps: dict[int, set[int]] = {}
    for row in found.collect():
        gaps.setdefault(row["partition"], set()).update((row["first"], row["last"]))
    return {partition: sorted(offsets) for partition, offsets in gaps.items()}
