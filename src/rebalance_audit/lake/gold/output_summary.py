"""How many rows the reducer made for each table, and the range of their keys."""

from collections import Counter
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.gold.output_rows import FILES, GONE, REBUILT
from rebalance_audit.lake.gold.outputs import OUTPUTS
from rebalance_audit.lake.gold.packed_rows import ENDS, ROWS, ranged_of
from rebalance_audit.lake.storage.data_files import TaskFile
from rebalance_audit.lake.storage.key_range import LISTED_GROUPS, KeyRange, range_from


class OutputSummary:
    """What came out of the reducer, found by one pass over its stream."""

    def __init__(self, stream: DataFrame, *, with_ranges: bool = True) -> None:
        """Reads the stream; without ranges every `key_range` is that of a whole table."""
        rows = F.coalesce(ROWS, F.lit(0))
        counted = stream.groupBy("table", (F.col("mark") == REBUILT).alias("is_rebuilt")).agg(
            F.sum(rows).alias("rows"),
            F.sum(F.when(F.col("mark") == GONE, rows).otherwise(0)).alias("gone"),
            F.collect_list(FILES).alias(FILES),
            *(_ranges() if with_ranges else ()),
        )
        self._rows: Counter[str] = Counter()
        self._gone: Counter[str] = Counter()
        self._files: dict[str, list[TaskFile]] = {}
        self._ranges: dict[str, KeyRange] = {}
        for row in counted.collect():
            output = row["table"]
            for written, *file in row[FILES]:
                self._files.setdefault(written, []).append(TaskFile(*file))
            self._rows[output] += row["rows"]
            self._gone[output] += row["gone"]
            if with_ranges and output in OUTPUTS and not row["is_rebuilt"]:
                self._ranges[output] = range_from(row.asDict(), ranged_of(output))

    def rows(self, output: str) -> int:
        """Rows of an output, including the keys of rows that are gone."""
        return self._rows[output] or sum(file.rows for file in self.files(output))

    def files(self, output: str) -> Sequence[TaskFile]:
        """Those that tasks have written, with all rows of an output; none if these are in the stream alone."""
        return self._files.get(output, ())

    def gone(self, output: str) -> int:
        """Keys of rows that are gone."""
        return self._gone[output]

    def key_range(self, output: str) -> KeyRange:
        """The range of the rows of resumed groups."""
        return self._ranges.get(output, KeyRange())


def _ranges() -> list[Column]:
    """The range of the keys of several batches, as `range_from` takes it."""
    ends = [(F.min if name.startswith("low") else F.max)(name).alias(name) for name in ENDS]
    groups = F.array_distinct(F.flatten(F.collect_list("groups")))
    few = F.slice(groups, 1, LISTED_GROUPS + 1).alias("groups")
    return [*ends, few, F.min("first").alias("first"), F.max("last").alias("last")]
