"""Rows of the reducer brought into their tables by one task, where the tables are small: see `storage.table_patch`.

An increment changes a dozen tables by a few rows each. One by one, each takes three queries or more, which cost more
than the rows do.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.members import merge_stints
from rebalance_audit.audit.rows import FINDINGS, MEMBERS
from rebalance_audit.lake.gold.commit_findings import KINDS_OF_COMMITS
from rebalance_audit.lake.gold.hour_codes import KEY
from rebalance_audit.lake.gold.hour_facts import FACTS, LOOKED_AT, hours_touched
from rebalance_audit.lake.gold.output_rows import GONE
from rebalance_audit.lake.gold.outputs import QUARANTINE, SNAPSHOTS
from rebalance_audit.lake.gold.packed_rows import PACKED, batches_in
from rebalance_audit.lake.storage.table_patch import (
    PatchableTable,
    PatchedTable,
    TablePatch,
)
from rebalance_audit.tables.arrow_types import ddl_of_columns, schema_of_columns, table_with

OUTSIDE_OF_GROUPS: Final = frozenset({QUARANTINE, SNAPSHOTS})
"""Rows of these replace those with their keys alone."""


MADE: Final = {"output": "string", "told": "string", **{name: FACTS[name] for name in KEY}}
"""What the task makes: what it did to the table of an `output`, as JSON, or KEY of hours of rows that changed."""


@dataclass(frozen=True, slots=True)
class OutputPatches:
    """The tables that the task changes; it is sent there."""

    tables: Mapping[str, PatchableTable]
    """By the name of the output."""
    constants: Mapping[str, Any]
    """Columns that are the same in all rows of a run, of whichever table has them."""
    replaced: frozenset[str]
    """Groups of which the tables are to have the rows of this run alone."""

    def made_of(self, stream: DataFrame) -> DataFrame:
        """What the task tells: see `patched` and `changed_hours`. Whoever reads it first makes the task write."""
        ours = stream.where(F.col("table").isin([*self.tables]))
        columns = ours.select("table", "mark", PACKED)
        return columns.coalesce(1).mapInArrow(self._make, ddl_of_columns(MADE))

    def _make(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        patches = {output: self._patch(output) for output in self.tables}
        for batch in batches:
            given = zip(*(batch[name].to_pylist() for name in ("table", "mark")), strict=True)
            for (output, mark), rows in zip(given, batches_in(batch[PACKED]), strict=True):
                patch = patches[output]
                (patch.drop if mark == GONE else patch.put)(rows)
        schema = schema_of_columns(MADE)
        for output, patch in patches.items():
            told, changed = patch.close()
            line = {"output": output, "told": json.dumps(told)}
            yield from table_with(schema, 1, line).to_batches()
            for rows in changed if output in LOOKED_AT else ():
                touched = hours_touched(output, rows)
                hours = {"output": output, **{name: touched[name] for name in KEY}}
                yield from table_with(schema, len(touched), hours).to_batches()

    def _patch(self, output: str) -> TablePatch:
        table = self.tables[output]
        constants = {
            name: value for name, value in self.constants.items() if name in table.files.columns
        }
        if output in OUTSIDE_OF_GROUPS:
            # A snapshot says up to where it is known: it always differs.
            return TablePatch(table, constants, compares=output != SNAPSHOTS)
        return TablePatch(
            table,
            constants,
            merge=merge_stints if output == MEMBERS else None,
            replaced=self.replaced,
            spared=("kind", KINDS_OF_COMMITS) if output == FINDINGS else None,
        )


def patched(made: DataFrame) -> dict[str, PatchedTable]:
    """What the task did to the table of each output."""
    rows = made.where("told is not null").select("output", "told").collect()
    return {output: PatchedTable.from_told(json.loads(told)) for output, told in rows}


def changed_hours(made: DataFrame) -> DataFrame:
    """Group and hour of the rows that changed, for gold.group_hours."""
    return made.where("told is null").select(*KEY)
