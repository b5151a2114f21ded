"""A log that comes in pieces: Delta tables with a part of the records of a bronze, as a source."""

from pathlib import Path
from random import Random

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.records.routing import offset_of
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.sources.source_spec import parse_source


class Pieces:
    """Cuts the bronze of a finished lake."""

    def __init__(self, spark: SparkSession, lake: Path, folder: Path, seed: int) -> None:
        """The pieces go into a folder."""
        self._records = spark.read.format("delta").load(f"{lake}/bronze/records").drop("cluster")
        self._folder = folder
        self._random = Random(seed)
        self._count = 0
        found = self._records.groupBy("partition").agg(
            F.array_sort(F.collect_list("offset")).alias("offsets"),
            F.min(F.when(F.col("is_control"), F.col("offset"))).alias("marker"),
        )
        self._partitions = {row["partition"]: row for row in found.collect()}

    def until(self, share: float) -> Source:
        """About that share of each partition, cut at any record; some partitions not at all.

        A partition with transactions is cut at its first marker, so that its commits are undecided.
        """
        cuts = {}
        for number, row in self._partitions.items():
            offsets = row["offsets"]
            around = share + self._random.uniform(-0.2, 0.2)
            cut = offsets[int(len(offsets) * min(max(around, 0.0), 0.99))]
            cuts[number] = cut if row["marker"] is None else min(cut, row["marker"])
        return self.of(F.col("offset") < offset_of(cuts))

    def holes(self, share: float) -> Source:
        """That share of all records, anywhere."""
        chosen = F.pmod(F.xxhash64("partition", "offset", F.lit(self._random.random())), F.lit(100))
        return self.of(chosen < 100 * share)

    def of(self, condition: Column) -> Source:
        """The records that meet a condition."""
        self._count += 1
        path = str(self._folder / f"piece-{self._count}")
        self._records.where(condition).write.format("delta").save(path)
        return parse_source(f"delta:{path}")
