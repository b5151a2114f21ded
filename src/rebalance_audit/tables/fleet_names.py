"""Names of groups in an answer about several clusters: a group id is unique only within its cluster."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

FleetTables: TypeAlias = Mapping[str, Sequence[Mapping[str, Any]]]
"""Gold table, without layer -> rows."""

FLEET_NAME_SQL: Final = "replace(replace(cluster, '~', '~0'), '/', '~1') || '/' || group_id"
"""`fleet_name` over the columns of a gold table, in DuckDB; null where the row is of no group."""


def fleet_name(cluster: str, group_id: str) -> str:
    """`blue/checkout`. A slash in the name of the cluster is ~1 and a tilde ~0 (RFC 6901), so that no two are alike."""
    return f"{cluster.replace('~', '~0').replace('/', '~1')}/{group_id}"


def cluster_and_group(name: str) -> tuple[str, str]:
    """The cluster and the group id that a `fleet_name` was made of."""
    cluster, _, group_id = name.partition("/")
    return cluster.replace("~1", "/").replace("~0", "~"), group_id


def with_fleet_names(tables: FleetTables) -> dict[str, list[dict[str, Any]]]:
    """The rows of a lake with each group id replaced by its `fleet_name`."""
    return {name: [_named(row) for row in rows] for name, rows in tables.items()}


def named_in_fleet(
    rows: Iterable[Mapping[str, Any]], group_ids: Collection[str]
) -> tuple[str, ...]:
    """The fleet names in these rows of the groups that were asked for by their ids, in each cluster that has one."""
    names = dict.fromkeys(row["group_id"] for row in rows)
    found = [(name, cluster_and_group(name)[1]) for name in names]
    return tuple(name for asked in group_ids for name, group_id in found if group_id == asked)


def _named(row: Mapping[str, Any]) -> dict[str, Any]:
    if row.get("group_id") is None:
        return dict(row)
    return {**row, "group_id": fleet_name(row["cluster"], row["group_id"])}
