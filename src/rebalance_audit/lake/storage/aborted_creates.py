"""What remains of a table if its process died, or its disk was full, while the table was being created.

Delta takes any folder that is not empty for a table: after a kill between creating the log's folder and the first
commit, `CREATE TABLE IF NOT EXISTS` would do nothing, and every read would find no table. Object stores have no empty
folders, and a file there is complete or does not exist.
"""

import shutil
from pathlib import Path
from typing import Final

from rebalance_audit.location import is_catalog, local_path

LOG: Final = "_delta_log"
STAGED: Final = "_staged_commits"


def remove_aborted_create(table: str) -> None:
    """Remove the log's folder of a table without a version, if it has only files that were still being written.

    To be called under `lock.sole_table_maker`. Raises OSError.
    """
    path = None if is_catalog(table) else local_path(table)
    if path is None or not (path / LOG).is_dir():
        return
    if all(_is_uncommitted(found) for found in (path / LOG).iterdir()):
        shutil.rmtree(path / LOG)


def _is_uncommitted(found: Path) -> bool:
    """Whether it is a file that Delta would have renamed, or its folder for commits of catalogs, still empty."""
    return found.name.startswith(".") or (found.name == STAGED and not any(found.iterdir()))
