"""Where the partitions of a log lack records: the ranges of offsets between its records that have none."""

from collections import defaultdict
from collections.abc import Collection

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.holes import RANGES_MAX, Holes, holes_of


def holes_in(offsets: DataFrame, partitions: Collection[int]) -> dict[int, Holes]:
    """Partition -> the ranges without a record between its rows, which have the columns partition and offset.

    The driver collects about RANGES_MAX rows of each partition: the longest stretches without a missing offset.
    """
    if not partitions:
        return {}
    by_offset = Window.partitionBy("partition").orderBy("offset")
    by_length = Window.partitionBy("partition").orderBy(F.desc_nulls_first("records"))
    ranges = (
        offsets.where(F.col("partition").isin(sorted(partitions)))
        .select("partition", (F.lag("offset").over(by_offset) + 1).alias("first"), "offset")
        .where("first < offset")
        .select(
            "partition",
            "first",
            F.col("offset").alias("end"),
            F.lead("first").over(Window.partitionBy("partition").orderBy("first")).alias("next"),
        )
        .withColumn("lowest", F.min("first").over(Window.partitionBy("partition")))
        .withColumn("records", F.col("next") - F.col("end"))
        .withColumn("place", F.row_number().over(by_length))
        .where(F.col("place") <= RANGES_MAX + 1)
    )
    kept = defaultdict(list)
    for row in ranges.select("partition", "lowest", "end", "next").collect():
        kept[row["partition"]].append(row)
    found = dict.fromkeys(partitions, Holes())
    for number, rows in kept.items():
        rows.sort(key=lambda row: row["end"])
        # Each row ends one range and has the start of the next one.
        firsts = [rows[0]["lowest"], *(row["next"] for row in rows[:-1])]
        found[number] = holes_of(zip(firsts, (row["end"] for row in rows), strict=True))
    return found
