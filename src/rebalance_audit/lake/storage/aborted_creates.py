"""What is left of a table that was being made when its process died, or its disk was full.

Delta takes a folder that has anything in it for a table: after a kill between its making the log's folder and the first
commit in there `CREATE TABLE IF NOT EXISTS` would do nothing for ever, and every read would find no table. On object
stores there are no empty folders, and what is written there is there as a whole or not at all.
"""

import shutil
from pathlib import Path
from typing import Final

from rebalance_audit.location import is_catalog, local_path

LOG: Final = "_delta_log"
STAGED: Final = "_staged_commits"


def remove_aborted_create(table: str) -> None:
    """Remove the log's folder of a table without a version, if all that it has is what was being written.

    To be called under `lock.sole_table_maker`. Raises OSError.
    """
    path = None if is_catalog(table) else local_path(table)
    if path is None or not (path / LOG).is_dir():
        return
    if all(_is_uncommitted(found) for found in (path / LOG).iterdir()):
        shutil.rmtree(path / LOG)


def _is_uncommitted(found: Path) -> bool:
    """Whether it is a file that Delta would have renamed, or its folder for commits of catalogs, empty here."""
    return found.name.startswith(".") or (found.name == STAGED and not any(found.iterdir()))
