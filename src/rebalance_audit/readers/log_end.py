"""Until when a lake knows the log. Importing this imports Arrow and delta-rs."""

import pyarrow.compute as pc
import pyarrow.dataset as ds

from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.readers.tables import open_table


def log_end_ms(lake: str, cluster: str) -> int | None:
    """Time of the last record that the gold tables know (epoch ms); None where no run noted it."""
    try:
        progress = open_table(lake, "meta.progress")
    except LakeNotReadable:
        return None
    known = progress.to_table(["last_record_at"], filter=ds.field("cluster") == cluster)
    last = pc.max(known.column("last_record_at")).as_py()
    return None if last is None else int(last.timestamp() * 1000)
