"""Whether a table is still as this program left it, judged by its log alone.

Every commit of this program names its run in `userMetadata`. What other programs commit may change rows on which a run
builds: a RESTORE, a DELETE, an append. Some of their commits change none: OPTIMIZE, VACUUM, properties.
"""

from collections.abc import Iterable
from typing import Final

from rebalance_audit.lake.storage.run_ids import OWN_COMMIT
from rebalance_audit.lake.storage.table_log import TableCommit

KEEPS_ROWS: Final = frozenset(
    {
        "ADD COLUMN",
        "ADD COLUMNS",
        "ADD CONSTRAINT",
        "CHANGE COLUMN",
        "CLUSTER BY",
        "COMPUTE STATS",
        "DROP CONSTRAINT",
        "OPTIMIZE",
        "REORG",
        "SET TBLPROPERTIES",
        "UNSET TBLPROPERTIES",
        "UPGRADE PROTOCOL",
        "VACUUM END",
        "VACUUM START",
    }
)
"""Delta's names of operations (`DeltaOperations`) after which a table has the rows that it had."""

APPENDS: Final = frozenset({"STREAMING UPDATE", "WRITE"})
"""Of a table with `delta.appendOnly`: whatever adds rows there adds them to those that the table has."""


def change_by_others(commits: Iterable[TableCommit], *, append_only: bool) -> str | None:
    """What the first commit of another program that may have changed rows did; None if there is none.

    New rows of an append-only table are no such change: runs and ingests look for them anyway.
    """
    harmless = KEEPS_ROWS | APPENDS if append_only else KEEPS_ROWS
    for commit in commits:
        if OWN_COMMIT.fullmatch(commit.user_metadata or ""):
            continue
        if commit.operation not in harmless:
            return f"was changed by another program (version {commit.version}: {commit.operation})"
    return None
