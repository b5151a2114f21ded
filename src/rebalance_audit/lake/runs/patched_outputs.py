"""The tables of the reducer's outputs as one task has changed them, each to be committed when it is its turn."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from rebalance_audit.lake.gold.hour_facts import LOOKED_AT
from rebalance_audit.lake.gold.output_patches import OutputPatches, changed_hours, patched
from rebalance_audit.lake.gold.outputs import OUTPUTS, SNAPSHOTS
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.runs.replayed import Replayed
from rebalance_audit.lake.session.side_by_side import side_by_side
from rebalance_audit.lake.storage.sinks import FEW_CHANGES, Written

if TYPE_CHECKING:
    from rebalance_audit.lake.storage.table_patch import PatchableTable

FEW_SNAPSHOTS: Final = 2_000
"""Of some kilobytes each, that of a large group of some megabytes: a task holds them."""


class PatchedOutputs:
    """What the task did; nothing where Spark has to change the tables one by one."""

    def __init__(
        self,
        context: RunContext,
        replayed: Replayed,
        outputs: Collection[str],
        *,
        appended: Collection[str],
    ) -> None:
        """Let a task change the tables of these outputs, as far as it gets few rows and the tables are small.

        Of those that are `appended` to, the tables have no row with a key of the run. Hold it with `release`.
        """
        self._sink = context.sink
        groups = replayed.plan.groups.few_replaced
        few = [
            output
            for output in outputs
            if groups is not None
            and replayed.summary.rows(output)
            <= (FEW_SNAPSHOTS if output == SNAPSHOTS else FEW_CHANGES)
        ]
        found = side_by_side(
            lambda output: self._sink.patchable(OUTPUTS[output], appends=output in appended),
            few,
        )
        self._tables: dict[str, PatchableTable] = {
            output: table for output, table in zip(few, found, strict=True) if table
        }
        self._made: DataFrame | None = None
        self._patched = {}
        if self._tables:
            assert groups is not None
            constants = {"cluster": context.request.cluster, **context.of_snapshots}
            patches = OutputPatches(self._tables, constants, groups)
            self._made = patches.made_of(replayed.stream).persist(StorageLevel.MEMORY_AND_DISK)
            self._patched = patched(self._made)

    def commit(self, output: str) -> Written | None:
        """Commit the change of a table; None if the task did not make it, or made it of an older version."""
        if output not in self._patched:
            return None
        return self._sink.commit_patch(OUTPUTS[output], self._tables[output], self._patched[output])

    def changed_hours(self) -> DataFrame | None:
        """Group and hour of the rows that changed, for gold.group_hours; None if there are none."""
        if any(output in LOOKED_AT and done.rows for output, done in self._patched.items()):
            assert self._made is not None
            return changed_hours(self._made)
        return None

    def release(self) -> None:
        """Free what is held in memory; nothing of `changed_hours` can be read any more."""
        if self._made is not None:
            self._made.unpersist()
