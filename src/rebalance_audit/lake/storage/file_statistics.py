"""What the log of a table on this machine says of its files, read without Spark: Delta takes three queries for it."""

import pyarrow as pa
import pyarrow.compute as pc


def may_have(folder: str, column: str, value: str) -> bool:
    """Whether a file of the Delta table in a folder may have a row with a text in a column, by its statistics.

    True also where nobody can tell: without the extra `readers`, for a damaged log, and where statistics are missing.
    """
    try:
        from deltalake import DeltaTable  # noqa: PLC0415 - as for `fast`, Spark does it without the extra
        from deltalake.exceptions import DeltaError  # noqa: PLC0415
    except ImportError:
        return True
    try:
        files = pa.table(DeltaTable(folder).get_add_actions(flatten=True))
    except (DeltaError, OSError):
        return True
    ends = [f"{end}.{column}" for end in ("min", "max")]
    if not set(ends) <= set(files.column_names):
        return len(files) > 0
    least, most = (files[name] for name in ends)
    lies_between = pc.and_(pc.less_equal(least, value), pc.greater_equal(most, value))
    return any(pc.fill_null(lies_between, True).to_pylist())
