"""What the page shows, asked of the gold tables by `schemas/questions`: DuckDB over delta-rs, without Spark.

The tables are those of a lake or of an audit in memory. Every question has a bounded answer, however long the history:
sums over all groups, and the rows of a few. Times come as epoch milliseconds. A row belongs to the window if it begins
in it; states and findings belong if they overlap it.
"""

from collections.abc import Callable, Sequence
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from rebalance_audit.audit.rows import GOLD_OF_GROUP, GROUP_STATES, PROGRESS, Row
from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.moments import FIRST_MS, LAST_MS
from rebalance_audit.readers.gold_sql import CAME_LATER, OFFLINE, make_figures, make_table
from rebalance_audit.tables.arrow_types import arrow_schema, in_millis
from rebalance_audit.tables.fleet_names import FLEET_NAME_SQL
from rebalance_audit.tables.schemas import GOLD_TABLES, table_schemas
from rebalance_audit.tables.views import question_sql, quoted

_MOMENTS: Final = {
    # When a classic generation began is not in the log; the end of its join phase is.
    "epochs": "coalesce(started_at, converged_at)",
    "rebalances": "coalesce(started_at, ended_at)",
    "group_states": "from_at",
    "findings": "from_at",
    "ownership": "from_at",
    "convergence": "coalesce(started_at, reached_at)",
    "progress": "minute",
}
"""Table -> the moment that decides on its rows."""

_ENDS: Final = {"group_states": "to_at", "findings": "to_at"}
"""Table -> end of the rows that belong to a window they overlap; null where they have none yet."""


def _opened(open_gold: Callable[[str], pa.Table | ds.Dataset], name: str) -> pa.Table | ds.Dataset:
    """A table; without rows if it is one that a lake may lack until its next run."""
    try:
        return open_gold(name)
    except LakeNotReadable:
        if name not in CAME_LATER:
            raise
        return arrow_schema(table_schemas()[name]).empty_table()


def _narrowed(name: str, cluster: str | None, from_ms: int, to_ms: int) -> dict[str, str]:
    """A table as the questions see it: its clusters, one window, `at_ms` for the moment that decides."""
    inside = "true"
    if name in _ENDS:
        inside = f"at_ms < {to_ms} and coalesce(epoch_ms({_ENDS[name]}), {LAST_MS}) >= {from_ms}"
    elif name in _MOMENTS:
        inside = f"(at_ms is null or at_ms >= {from_ms} and at_ms < {to_ms})"
    columns = "*"
    if cluster is None:
        columns = f"* replace ({FLEET_NAME_SQL} as group_id)"
    else:
        inside = f"cluster = {quoted(cluster)} and {inside}"
    moment = _MOMENTS.get(name, "null::timestamptz")
    return {"columns": f"{columns}, epoch_ms({moment}) as at_ms", "where": inside}


class ReportRows:
    """The answers about one cluster, or about all as a fleet, in a window."""

    def __init__(
        self,
        open_gold: Callable[[str], pa.Table | ds.Dataset],
        cluster: str | None,
        from_ms: int | None = None,
        to_ms: int | None = None,
    ) -> None:
        """`open_gold`: a table by its full name, as `gold.epochs`; its rows are read by the questions.

        `cluster`: None for all, in which case each group id is a `fleet_name`.

        Raises what `open_gold` raises.
        """
        self._sql = duckdb.connect(":memory:", config=dict(OFFLINE))
        self._sql.execute("create schema gold")
        window = FIRST_MS if from_ms is None else from_ms, LAST_MS if to_ms is None else to_ms
        for name in (*GOLD_OF_GROUP, PROGRESS):
            table = _opened(open_gold, f"gold.{name}")
            make_table(self._sql, f"gold.{name}", table, **_narrowed(name, cluster, *window))
            if name == GROUP_STATES:
                # The present state of a group does not depend on the window.
                at_all = _narrowed(name, cluster, FIRST_MS, LAST_MS)
                make_table(self._sql, f"gold.{name}", table, "gold.all_states", **at_all)
        make_figures(self._sql, GOLD_TABLES)

    def ask(self, question: str, **values: object) -> list[Row]:
        """The rows that answer a question of `schemas/questions`; `values`: its parameters."""
        found = self._sql.sql(question_sql(question), params=values).to_arrow_table()
        rows: list[Row] = in_millis(found).to_pylist()
        return rows

    def of_groups(self, question: str, group_ids: Sequence[str], limit: int) -> list[Row]:
        """The same of a question about some groups; at most `limit` rows for each."""
        return self.ask(question, group_ids=list(group_ids), limit=limit)

    def close(self) -> None:
        """Close the database."""
        self._sql.close()
