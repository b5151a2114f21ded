"""What Python workers find on this machine, task for task."""

import os
import sys
import zipimport
from collections.abc import Iterable, Iterator

from pyspark.sql import SparkSession


def test_a_task_reads_no_archive_and_waits_for_no_acknowledgement(spark: SparkSession) -> None:
    """Python reads archives on its path again with each task; the kernel holds small writes to the loopback back."""

    def found(_: Iterable[int]) -> Iterator[tuple[list[str], str]]:
        importers = sys.path_importer_cache.values()
        archives = [each.archive for each in importers if isinstance(each, zipimport.zipimporter)]
        yield archives, os.environ.get("PYTHON_UNIX_DOMAIN_ENABLED", "").lower()

    numbers = spark.sparkContext.parallelize([0, 1], 2)
    assert numbers.mapPartitions(found).collect() == [([], "true")] * 2
