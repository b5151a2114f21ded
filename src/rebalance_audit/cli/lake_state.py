"""`state --lake`: the groups of a lake at a moment. Importing this imports Arrow and delta-rs."""

from rebalance_audit.cli.unknown_group import require_known
from rebalance_audit.local.state import State
from rebalance_audit.readers import group as lake_group
from rebalance_audit.readers.state import state_from_lake


def lake_state(lake: str, cluster: str, group_ids: tuple[str, ...], at_ms: int | None) -> State:
    """The groups as they stood; raises LakeNotReadable, and click.BadParameter for a group that no record names."""
    found = state_from_lake(lake, cluster, group_ids, at_ms)
    if not found.known.issuperset(group_ids):
        require_known(group_ids, found.known | lake_group.group_ids(lake, cluster))
    return State(found.groups, found.last_ms, found.undecodable)
