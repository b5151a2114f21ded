"""Files of which a table's log lacks the minimum or maximum of a text.

Earlier releases left out the bounds of texts of 32 characters or more in files that tasks wrote, and delta-rs' Arrow
dataset skips such files: it takes a bound that is missing for one that nothing meets.
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

Delta's own writer, too, leaves out a maximum, where nothing sorts after the beginning of a text: to have it write such
a file again would change nothing.
"""


def files_without_bounds(folder: Path) -> list[str]:
    """The files of the Delta table in a folder, by their paths in it, that tasks wrote and that lack a bound.

    None of a table that delta-rs cannot read: tasks write no files into one with features that it does not know, and
    of a damaged one Spark says so. Raises LakeNotReadable for a log that names files outside of the table.
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
    """Of which files; of a column without statistics no reader expects bounds."""
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
