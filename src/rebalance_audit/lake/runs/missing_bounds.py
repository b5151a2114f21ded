"""Rewrites files whose statistics lack the bounds of long texts, with the same rows and all statistics.

Each table by one commit that changes no data, which neither runs nor readers of the change feed take for new rows. See
`storage.files_without_bounds` for what is wrong with such files.
"""

from collections.abc import Collection
from contextlib import ExitStack
from typing import Final

from rebalance_audit.errors import LakeBusy
from rebalance_audit.lake.runs.lake_clusters import clusters_of
from rebalance_audit.lake.session.parallel_map import parallel_map
from rebalance_audit.lake.storage.commit_retry import outrun_on_conflict
from rebalance_audit.lake.storage.files_without_bounds import files_without_bounds
from rebalance_audit.lake.storage.lock import sole_run
from rebalance_audit.lake.storage.optimize import optimize
from rebalance_audit.lake.storage.table_definition import FILTERED_BY
from rebalance_audit.lake.storage.table_writer import Outrun
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.location import local_path
from rebalance_audit.tables.schemas import table_schemas

ORDERED_BY: Final = 3
"""By how many columns the rows of a table without clustering are ordered; each further one weakens the others."""


def lacks_bounds(lake: Lake, name: str) -> bool:
    """Whether a table of a lake on this machine has such files; elsewhere no release wrote any.

    Raises LakeNotReadable, also for a log that names files outside of the table.
    """
    folder = local_path(lake.table_path(name)) if lake.is_folder else None
    return folder is not None and bool(files_without_bounds(folder))


def tables_without_bounds(lake: Lake) -> list[str]:
    """Names of the tables that have such files. Raises as `lacks_bounds`."""
    names = sorted(table_schemas())
    found = parallel_map(lambda name: lacks_bounds(lake, name), names)
    return [name for name, lacks in zip(names, found, strict=True) if lacks]


def write_again_alone(lake: Lake, names: Collection[str], cluster: str, run_id: str) -> str:
    """Rewrite the files of tables unless runs of other clusters are active; returns a sentence for the user.

    The lock of `cluster` is held already.
    """
    try:
        with ExitStack() as held:
            for other in clusters_of(lake):
                if other != cluster:
                    held.enter_context(sole_run(lake.path, other, run_id))
            for name in names:
                with outrun_on_conflict():
                    write_again(lake, name)
    except (LakeBusy, Outrun):
        return (
            f"{_lacking(names)} Another run is writing to this lake, so a later run or `rebalance-audit maintain`"
            " will rewrite them."
        )
    return written_again(names)


def written_again(names: Collection[str]) -> str:
    """What was done, in a sentence for people."""
    return f"{_lacking(names)} They were rewritten with the same rows."


def to_write_again(names: Collection[str]) -> str:
    """What would be done."""
    return f"{_lacking(names)} They would be rewritten with the same rows."


def _lacking(names: Collection[str]) -> str:
    return f"Files of {', '.join(names)} lack statistics of long texts, so other tools may miss rows in them."


def write_again(lake: Lake, name: str) -> None:
    """Write the files of a table again by Delta's own writer; nothing else may write into the table meanwhile."""
    # Without an order, OPTIMIZE leaves a file alone that has no small ones beside it.
    columns = table_schemas()[name].column_names
    order = [column for column in FILTERED_BY if column in columns]
    optimize(lake.spark, lake.sql_name(name), order[:ORDERED_BY])
