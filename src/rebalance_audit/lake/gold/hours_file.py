"""All rows of gold.group_hours, where few facts make them, written by one task into the table's first file.

It has what the reducer has left in memory and the files of commits; `group_hours` takes two shuffles for the same.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame

from rebalance_audit.lake.gold.commit_seconds import few_seconds_in
from rebalance_audit.lake.gold.commit_stretches import HOURS, hours_of_seconds, seconds_in_order
from rebalance_audit.lake.gold.group_hours import facts_of_packed, packed_for_hours
from rebalance_audit.lake.gold.hour_facts import SCHEMA, facts_of_commits
from rebalance_audit.lake.gold.hour_rows import hours_made_of
from rebalance_audit.lake.storage.data_files import FILE_DDL, DataFiles
from rebalance_audit.lake.storage.table_files import TableFiles
from rebalance_audit.tables.arrow_types import schema_of_columns

QUICK_COMMITS: Final = 20_000_000
"""One task counts them by second in four seconds; two cores and two shuffles take longer."""
FEW_FACTS: Final = 200_000
"""One task adds them up in a second, and holds some 60 MB."""
FEW_SECONDS: Final = 1_000_000
"""In which some group commits: the task holds and sorts them, in some 250 MB."""


@dataclass(frozen=True, slots=True)
class HoursFile:
    """Writes the file; it is sent to the task."""

    cluster: str
    commits: TableFiles | None
    """Files with all commits; None for none."""
    commits_given: int
    """How many commits these files have, or some more."""
    has_commits: bool
    """Whether commits were decoded: otherwise what hours say of them is null, not zero."""
    log_end_ms: int | None
    seconds_max: int

    def told(self, stream: DataFrame, files: DataFiles) -> DataFrame:
        """What the task tells of the file, see FILE_DDL; `stream` has rows of groups with all their records, or facts.

        It notes whether it made the hours: there is no file if groups committed in more seconds than it may hold.
        """

        def write(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            seconds = few_seconds_in(self.commits, self.seconds_max, self.commits_given)
            is_made = seconds is not None
            rows = [] if seconds is None else self._rows(batches, seconds).to_batches()
            return files.write(rows, {"cluster": self.cluster}, lambda: is_made)

        return packed_for_hours(stream).coalesce(1).mapInArrow(write, FILE_DDL)

    def _rows(self, batches: Iterable[pa.RecordBatch], seconds: pa.Table) -> pa.Table:
        in_order = seconds_in_order(seconds)
        made = pa.Table.from_batches([*hours_of_seconds(in_order)], schema_of_columns(HOURS))
        facts = [*facts_of_packed(batches, self.log_end_ms), facts_of_commits(made)]
        return hours_made_of(
            pa.concat_tables([SCHEMA.empty_table(), *facts]),
            has_commits=self.has_commits,
            of_wanted=False,
        )
