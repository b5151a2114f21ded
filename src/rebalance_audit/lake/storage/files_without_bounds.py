"""Files for which a table's log lacks the minimum or maximum of a text.

Earlier releases left out the bounds of texts of 32 characters or more in files that tasks wrote, and delta-rs' Arrow
dataset skips such files: it takes a missing bound for one that no row meets.
"""

from functools import reduce
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType

from rebalance_audit.delta_folder import check_files, check_log, names_sidecars

TEXT: Final = PrimitiveType("string")
OF_TASKS: Final = "parquet-cpp-arrow"
"""Arrow's name in the files that it writes.

Delta's own writer leaves out a maximum too, where nothing sorts after the beginning of a text: rewriting such a file
would change nothing.
"""


def files_without_bounds(folder: Path) -> list[str]:
    """Paths, relative to the folder of a Delta table, of files that tasks wrote and that lack a bound.

    Empty for a table that delta-rs cannot read: tasks wrote none with features that it does not know, and Spark reports
    a damaged one. Raises LakeNotReadable for a log that names files outside of the table.
    """
    check_log(folder)
    if names_sidecars(folder):
        return []
    try:
        table = DeltaTable(folder)
        files = pa.table(table.get_add_actions(flatten=True))
        texts = [field.name for field in table.schema().fields if field.type == TEXT]
    except (DeltaError, OSError):
        return []
    names = [unquote(path) for path in files["path"].to_pylist()]
    check_files(str(folder), folder, names)
    lacking = reduce(pc.or_, (_lacks_bound(files, text) for text in texts)).to_pylist()
    return [
        name
        for name, lacks in zip(names, lacking, strict=True)
        if lacks and _is_of_tasks(folder / name)
    ]


def _lacks_bound(files: pa.Table, column: str) -> pa.ChunkedArray | pa.Array:
    """Which files do; no reader expects bounds of a column without statistics."""
    nulls = f"null_count.{column}"
    if nulls not in files.column_names:
        return pa.repeat(pa.scalar(False), len(files))
    has_text = pc.fill_null(pc.less(files[nulls], files["num_records"]), False)
    known = [f"{end}.{column}" for end in ("min", "max")]
    if not set(known) <= set(files.column_names):
        return has_text
    return pc.and_not(has_text, pc.and_(*(files[name].is_valid() for name in known)))


def _is_of_tasks(path: Path) -> bool:
    """Also False for a file that is gone or damaged: whoever needs it says so."""
    try:
        return str(pq.read_metadata(path).created_by).startswith(OF_TASKS)
    except (OSError, pa.ArrowException):
        return False
