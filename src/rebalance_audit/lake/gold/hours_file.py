"""All rows of gold.group_hours of a short log, written by one task into the table's first file.

It has what the reducer has left in memory and the files of commits; `group_hours` takes two shuffles for the same.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame

from rebalance_audit.lake.gold.commit_seconds import seconds_in
from rebalance_audit.lake.gold.commit_stretches import HOURS, hours_of_seconds, seconds_in_order
from rebalance_audit.lake.gold.group_hours import facts_of_packed, packed_for_hours
from rebalance_audit.lake.gold.hour_facts import SCHEMA, facts_of_commits
from rebalance_audit.lake.gold.hour_rows import hours_made_of
from rebalance_audit.lake.storage.data_files import FILE_DDL, DataFiles
from rebalance_audit.lake.storage.table_files import TableFiles
from rebalance_audit.tables.arrow_types import schema_of_columns


@dataclass(frozen=True, slots=True)
class HoursFile:
    """Writes the file; it is sent to the task."""

    cluster: str
    commits: TableFiles | None
    """Files with all commits; None for none."""
    has_commits: bool
    """Whether commits were decoded: otherwise what hours say of them is null, not zero."""
    log_end_ms: int | None

    def told(self, stream: DataFrame, files: DataFiles) -> DataFrame:
        """What the task tells of the file, see FILE_DDL; `stream` has rows of groups with all their records."""

        def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return files.write(self._rows(batches).to_batches(), {"cluster": self.cluster})

        return packed_for_hours(stream).coalesce(1).mapInArrow(write, FILE_DDL)

    def _rows(self, batches: Iterable[pa.RecordBatch]) -> pa.Table:
        seconds = seconds_in_order(seconds_in(self.commits))
        made = pa.Table.from_batches([*hours_of_seconds(seconds)], schema_of_columns(HOURS))
        facts = [*facts_of_packed(batches, self.log_end_ms), facts_of_commits(made)]
        return hours_made_of(
            pa.concat_tables([SCHEMA.empty_table(), *facts]),
            has_commits=self.has_commits,
            of_wanted=False,
        )
