"""The assignors that the coordinator runs, by the names that members select them by."""

from collections.abc import Callable, Mapping
from typing import Final

from rebalance_audit.coordinator.assignors import server_range, server_uniform
from rebalance_audit.coordinator.assignors.group_spec import GroupSpec
from rebalance_audit.replay.partitions import Partitions

SERVER_ASSIGNORS: Final[Mapping[str, Callable[[GroupSpec], Mapping[str, Partitions]]]] = {
    "uniform": server_uniform.assign,
    "range": server_range.assign,
}
"""Name in `group.consumer.assignors` -> function from a group's members and topics to the target of every member."""
