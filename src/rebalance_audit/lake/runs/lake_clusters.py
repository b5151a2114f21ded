"""The clusters that runs of a lake were about."""

from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import TableName


def clusters_of(lake: Lake) -> list[str]:
    """Their names, sorted; none in a lake without runs. Raises LakeNotReadable."""
    if lake.version(TableName.RUNS) is None:
        return []
    return sorted(
        row[0] for row in lake.read(TableName.RUNS).select("cluster").distinct().collect()
    )
