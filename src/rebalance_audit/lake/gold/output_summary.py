"""How many rows the reducer made for each table, and the range of their keys."""

from collections import Counter
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.gold.output_rows import FILES, GONE, REBUILT
from rebalance_audit.lake.gold.outputs import OUTPUTS, columns_of
from rebalance_audit.lake.storage.data_files import TaskFile
from rebalance_audit.lake.storage.key_range import (
    KeyRange,
    number_columns,
    range_columns,
    range_from,
    ranged_columns,
)
from rebalance_audit.tables.schemas import table_schemas


class OutputSummary:
    """What came out of the reducer, found by one pass over its stream."""

    def __init__(self, stream: DataFrame, *, with_ranges: bool = True) -> None:
        """Reads the stream; without ranges every `key_range` is that of a whole table."""
        ranged = {output: ranged_columns(table_schemas()[name]) for output, name in OUTPUTS.items()}
        most = max(map(len, ranged.values()))
        # A row has but one of the structs: what is not null is of its table.
        numbers = [
            F.coalesce(
                *[
                    F.col(f"{output}.{names[place]}")
                    for output, names in ranged.items()
                    if place < len(names)
                ]
            )
            for place in range(most)
        ]
        of_groups = [output for output in OUTPUTS if "group_id" in columns_of(output)]
        groups = F.coalesce(*[F.col(f"{output}.group_id") for output in of_groups])
        rows = stream.select(
            "table", "mark", FILES, groups.alias("group_id"), *number_columns(numbers)
        )
        counted = rows.groupBy("table", (F.col("mark") == REBUILT).alias("is_rebuilt")).agg(
            F.count(F.lit(1)).alias("rows"),
            F.count_if(F.col("mark") == GONE).alias("gone"),
            F.collect_list(FILES).alias(FILES),
            *(range_columns(most) if with_ranges else ()),
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
            if with_ranges and not row["is_rebuilt"]:
                self._ranges[output] = range_from(row.asDict(), ranged[output])

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
