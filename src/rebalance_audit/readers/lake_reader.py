"""The tables of a lake for Python programs, without Spark. Importing this imports nothing heavy."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from rebalance_audit.audit.rows import DEPLOYS
from rebalance_audit.errors import BadRequest, LakeNotReadable, UnknownGroup, require_known
from rebalance_audit.moment_text import MomentLike, moment_ms
from rebalance_audit.tables.rows import GoldRows, Rows, schema_of

if TYPE_CHECKING:
    from rebalance_audit.replay.state import State
    from rebalance_audit.report.explained import Explained


class LakeReader(GoldRows):
    """The tables of a lake, of one cluster or of all. Each table is read at its first use, as it is then."""

    def __init__(self, path: str, cluster: str | None) -> None:
        self.path = path
        self.cluster = cluster
        """None: the rows of all clusters."""

    def table(self, name: str) -> Rows:
        """The rows of any table by its full name, as `gold.group_hours` or `silver.offset_commits`.

        Rows are read into memory at their first use: limit large tables with `where` before. Raises BadRequest for a
        table that there is not; reading raises LakeNotReadable.
        """
        import pyarrow.compute as pc  # noqa: PLC0415 - the package must start fast
        import pyarrow.dataset as ds  # noqa: PLC0415

        from rebalance_audit.readers.tables import LakeRows  # noqa: PLC0415

        everything = pc.scalar(value=True)
        wanted = everything if self.cluster is None else ds.field("cluster") == self.cluster
        return LakeRows(self.path, schema_of(name), wanted)

    def has(self, name: str) -> bool:
        """Whether the lake has a table, by its full name: one that only gold was written into has no bronze."""
        from rebalance_audit.readers.tables import table_exists  # noqa: PLC0415 - imports Arrow

        return table_exists(self.path, name)

    def clusters(self) -> list[str]:
        """Names of the clusters that a run was about, sorted. Raises LakeNotReadable."""
        from rebalance_audit.readers.tables import RUNS, clusters  # noqa: PLC0415 - imports Arrow

        return clusters(self.path, RUNS)

    def state(self, at: MomentLike | None = None, groups: Collection[str] = ()) -> "State":
        """The groups as they were at a moment, or as the newest record has left them, replayed from bronze.

        `groups`: only these. Raises LakeNotReadable, also if the lake has several clusters and none was chosen,
        UnknownGroup, and BadRequest for an unreadable time.
        """
        from rebalance_audit.readers.state import lake_state  # noqa: PLC0415 - imports Arrow

        lake = self._with_group(next(iter(groups))) if len(groups) == 1 else self
        return lake_state(self.path, lake.one_cluster(), groups, moment_ms(at))

    def of_cluster(self, cluster: str | None) -> "LakeReader":
        """The rows of one cluster; these where none is named.

        Raises BadRequest or LakeNotReadable for one that is not known.
        """
        if cluster is None or cluster == self.cluster:
            return self
        if self.cluster is not None:
            raise BadRequest(f"There is no cluster {cluster!r} here; there is {self.cluster!r}.")
        return open_lake(self.path, cluster)

    def _with_group(self, group_id: str) -> "LakeReader":
        """The rows of the only cluster that has this group, else these."""
        from rebalance_audit.readers.gold import clusters_with, group_ids  # noqa: PLC0415 - imports Arrow

        if self.cluster is not None:
            return self
        having = clusters_with(self.path, group_id)
        if len(having) > 1:
            raise BadRequest(
                f"Group {group_id!r} is in {len(having)} clusters ({', '.join(having)}): name one of them."
            )
        if not having:
            raise UnknownGroup(group_id, group_ids(self.path, None))
        return LakeReader(self.path, having[0])

    def explain(
        self, group_id: str, *, epoch: int | None = None, at: MomentLike | None = None
    ) -> "Explained":
        """Why a group rebalanced, how long it took, who held it up, and what is not known, in sentences.

        About the group as a whole, one epoch (generation) by its number, or the epoch of a time. Printed it is text,
        in a notebook it is formatted. Raises UnknownGroup, LakeNotReadable, and BadRequest for an epoch or a time that
        the log does not have, or a group that several clusters have if none was chosen.
        """
        from rebalance_audit.report.explained import explained  # noqa: PLC0415 - imports Rich

        lake = self._with_group(group_id)
        return explained(
            lake.rows_of_group(group_id),
            group_id,
            epoch,
            moment_ms(at),
            lake.log_end_ms(),
        )

    def rows_of_group(self, group_id: str) -> dict[str, list[dict[str, Any]]]:
        """Gold table -> the rows of one group. Raises UnknownGroup, LakeNotReadable, and BadRequest as `explain`."""
        from rebalance_audit.readers import gold  # noqa: PLC0415 - imports Arrow

        cluster = self._with_group(group_id).one_cluster()
        found = gold.group_tables(self.path, cluster, group_id)
        deploys = gold.stored_deploys(self.path, cluster, [group_id])
        if deploys is not None:
            found[DEPLOYS] = deploys
        if not found["group_states"]:
            require_known([group_id], gold.group_ids(self.path, cluster))
        return found

    def log_end_ms(self) -> int | None:
        """Time of the last record that the tables know, in epoch milliseconds; None where no run noted it."""
        from rebalance_audit.readers.gold import log_end_ms  # noqa: PLC0415 - imports Arrow

        return log_end_ms(self.path, self.one_cluster())

    def one_cluster(self) -> str:
        """The cluster, or the only one that there is. Raises LakeNotReadable if there are several."""
        if self.cluster is not None:
            return self.cluster
        found = self.clusters()
        if len(found) != 1:
            raise LakeNotReadable(
                f"{self.path} has {len(found)} clusters ({', '.join(found)}): open it with the name of one."
            )
        return found[0]

    def __repr__(self) -> str:
        return f"<lake {self.path}, {'all clusters' if self.cluster is None else self.cluster}>"


def open_lake(path: object, cluster: str | None = None) -> LakeReader:
    """The tables that `rebalance-audit run` writes: a folder, or a URL such as `s3://bucket/lake`.

    `cluster`: only the rows of this cluster. Raises LakeNotReadable without a lake, or without a run of the
    cluster in it.
    """
    from rebalance_audit.readers.tables import RUNS, open_table, require_cluster  # noqa: PLC0415 - imports Arrow

    lake = LakeReader(str(path), cluster)
    if cluster is None:
        open_table(lake.path, RUNS)
    else:
        require_cluster(lake.path, cluster)
    return lake
