"""What the reducer makes rows of: an output for each table."""

from collections.abc import Mapping
from typing import Final

from rebalance_audit.audit.rows import GOLD_OF_GROUP, GROUP_HOURS, PROGRESS
from rebalance_audit.tables.schemas import TableName

GROUP_RECORDS: Final = "group_records"
QUARANTINE: Final = "quarantine"
SNAPSHOTS: Final = "snapshots"
FILES: Final = "files"
"""No table: the data files of PROGRESS that tasks have written, see `data_files.FILE`."""
OUTPUTS: Final[Mapping[str, str]] = {
    **{name: f"gold.{name}" for name in (*GOLD_OF_GROUP, GROUP_HOURS, PROGRESS)},
    GROUP_RECORDS: TableName.GROUP_RECORDS,
    QUARANTINE: TableName.QUARANTINE,
    SNAPSHOTS: TableName.SNAPSHOTS,
}
"""Name in the frame -> full name of the table."""
