"""Rows of the reducer that become files of their tables in the very task that makes them: see `storage.data_files`.

So it is where a table has no rows yet and takes the reducer's as they are: nothing has to be compared or brought
together. Otherwise each row would go to the JVM, be held there, and be read by one query for each table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from rebalance_audit.audit.rows import (
    CONVERGENCE,
    EPOCHS,
    GROUP_STATES,
    OWNERSHIP,
    REBALANCE_CAUSES,
    REBALANCES,
)
from rebalance_audit.lake.gold.hour_facts import FactsOf
from rebalance_audit.lake.gold.outputs import GROUP_RECORDS, OUTPUTS, SNAPSHOTS
from rebalance_audit.lake.gold.task_facts import TaskFacts
from rebalance_audit.lake.storage.data_files import DataFiles, FileInTask, TaskFile
from rebalance_audit.tables.schemas import table_schemas

AS_THEY_ARE: Final = (
    EPOCHS,
    REBALANCE_CAUSES,
    CONVERGENCE,
    REBALANCES,
    OWNERSHIP,
    GROUP_STATES,
    GROUP_RECORDS,
    SNAPSHOTS,
)
"""Not those whose rows others join: stints of a member id in another task, unreadable commits; and findings only where
commits can show none."""
ROW_GROUP_BYTES: Final = 8 << 20
"""A task holds as much of each file, of which it may write two for each table."""


@dataclass(frozen=True, slots=True)
class OutputFiles:
    """Which tables' files tasks write; it is sent to them."""

    tables: Mapping[str, DataFiles]
    """By the name of the output."""
    constants: Mapping[str, Any]
    """Columns that are the same in all rows of a run, of whichever table has them."""
    facts_of: FactsOf | None = None
    """Makes facts of hours where rows are in files alone, see `task_facts`; None where the stream has them as well."""


NO_FILES: Final = OutputFiles({}, {})


class TaskOutputs:
    """The files of one task."""

    def __init__(self, wanted: OutputFiles) -> None:
        """Nothing is written yet."""
        self._wanted = wanted
        self._files: dict[tuple[str, bool], FileInTask] = {}
        self.facts = None if wanted.facts_of is None else TaskFacts(wanted.facts_of)

    def __contains__(self, output: str) -> bool:
        return output in self._wanted.tables

    def add(self, output: str, rows: pa.RecordBatch) -> None:
        """Write rows, those that may still change into a file of their own: see `clustering`. Raises OSError."""
        ends = table_schemas()[OUTPUTS[output]].open_while_null
        if ends is None:
            self._add(output, rows, goes_on=False)
            return
        self._add(output, rows.filter(rows[ends].is_null()), goes_on=True)
        self._add(output, rows.filter(rows[ends].is_valid()), goes_on=False)

    def _add(self, output: str, rows: pa.RecordBatch, *, goes_on: bool) -> None:
        if not rows.num_rows:
            return
        file = self._files.get((output, goes_on))
        if file is None:
            table = self._wanted.tables[output]
            constants = {
                name: value
                for name, value in self._wanted.constants.items()
                if name in table.columns
            }
            file = self._files[output, goes_on] = table.begin(constants, ROW_GROUP_BYTES)
        file.add(rows)

    def close(self) -> Iterator[tuple[str, TaskFile]]:
        """What was written: an output, and a file with rows of it. No row follows. Raises OSError."""
        for (output, _), file in self._files.items():
            written = file.close()
            if written is not None:
                yield output, written

    def discard(self) -> None:
        """Leave nothing."""
        for file in self._files.values():
            file.discard()
