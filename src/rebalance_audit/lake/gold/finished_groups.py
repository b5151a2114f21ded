"""The ends of groups in a task: rows of gold.progress, made for many groups at once, and of meta.snapshots."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import orjson
import pyarrow as pa

from rebalance_audit.audit.progress.group_progress import HELD, GroupProgress
from rebalance_audit.audit.progress.minutes import Picked, ProgressMinutes
from rebalance_audit.audit.rows import PROGRESS, Row
from rebalance_audit.lake.gold.group_memory import Memory
from rebalance_audit.lake.gold.output_rows import GONE, REBUILT, OutputRows, output_columns
from rebalance_audit.lake.gold.outputs import FILES, SNAPSHOTS
from rebalance_audit.lake.storage.data_files import DataFile, DataFolder
from rebalance_audit.tables.arrow_types import column_of

OWNER_BYTES: Final = 500
HELD_GROUP_BYTES: Final = HELD * np.dtype(np.int64).itemsize * 7
"""Groups are finished when their events and states have so many bytes."""


class _Finished(NamedTuple):
    """A group whose rows of gold.progress are not made yet."""

    progress: GroupProgress
    mark: str
    snapshot: Row
    """Its row of meta.snapshots but for the state."""
    state: dict[str, bytes] | None
    """The fields of `Memory`, to which those of the progress come; None of a group that cannot be resumed."""


class FinishedGroups:
    """Holds groups until there are enough of them."""

    def __init__(
        self, rows: OutputRows, folder: DataFolder | None, constants: Mapping[str, Any]
    ) -> None:
        """Few rows go to `rows`. Those of gold.progress go into a data file in their table's `folder`.

        Without a folder, as where the table may have rows of the same groups, they are in the batches of `take`.
        `constants` has the columns that are the same in all rows.
        """
        self._rows = rows
        self._types = output_columns()[PROGRESS]
        same = {name: constants[name] for name in self._types if name in constants}
        self._file = None if folder is None else DataFile(folder, same)
        self._held: list[_Finished] = []
        self._bytes = 0

    def add(self, progress: GroupProgress, mark: str, snapshot: Row, memory: Memory | None) -> None:
        """Take a group whose progress is settled; `memory` without the progress."""
        state = None if memory is None else memory.fields_as_json()
        self._held.append(_Finished(progress, mark, snapshot, state))
        self._bytes += progress.events.nbytes + OWNER_BYTES * len(progress.owners)
        self._bytes += sum(map(len, (state or {}).values()))

    def full(self) -> bool:
        """Whether `take` should follow."""
        return self._bytes >= HELD_GROUP_BYTES

    def take(self) -> Iterator[pa.RecordBatch]:
        """Finish the groups."""
        held, self._held, self._bytes = self._held, [], 0
        if not held:
            return
        changes = ProgressMinutes([each.progress for each in held]).changes()
        cells = {name: self._column(name, column) for name, column in changes.columns.items()}
        if self._file is None:
            marks = pa.array([each.mark for each in held]).take(pa.array(changes.groups))
            yield from self._rows.batches(PROGRESS, marks, cells)
        else:
            self._file.write(pa.RecordBatch.from_pydict(cells))
        for group, row in changes.bounded:
            self._rows.add(PROGRESS, held[group].mark, row)
        for _, key in changes.gone:
            self._rows.add(PROGRESS, GONE, key)
        for progress, mark, row, state in held:
            if state is None or progress.is_lost:
                self._rows.add(SNAPSHOTS, GONE, row)
            else:
                fields = {name: orjson.Fragment(text) for name, text in state.items()}
                whole = orjson.dumps(fields | {"progress": progress.state()})
                self._rows.add(SNAPSHOTS, mark, row | {"state": whole.decode()})

    def end(self) -> Iterator[pa.RecordBatch]:
        """Finish the last groups of the task, and its file."""
        yield from self.take()
        if self._file is not None:
            for described in self._file.described():
                for row in described.to_pylist():
                    self._rows.add(FILES, REBUILT, row)

    def _column(self, name: str, column: Any) -> pa.Array:
        if isinstance(column, Picked):
            return column_of(self._types[name], column.values).take(pa.array(column.places))
        return column_of(self._types[name], column)
