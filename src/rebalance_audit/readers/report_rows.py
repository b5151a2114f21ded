"""What the report shows, asked of the gold tables in SQL: DuckDB over delta-rs, without Spark.

The tables are those of a lake or of an audit in memory. Every query has a bounded answer, however long the history:
sums over all groups, and the rows of a few. Times come as epoch milliseconds. A row belongs to the window if it begins
in it; states and findings belong if they overlap it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from rebalance_audit.audit.rows import GOLD_OF_GROUP, GROUP_STATES, PROGRESS, Row
from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.figures.severity_order import MOST_SEVERE_FIRST_SQL
from rebalance_audit.moments import FIRST_MS, LAST_MS
from rebalance_audit.readers.gold_sql import CAME_LATER, OFFLINE, make_figures, make_table, quoted
from rebalance_audit.readers.group_questions import (
    COSTLIEST,
    CULPRIT_ORDER,
    LONGEST_RANK,
    OF_GROUPS,
)
from rebalance_audit.tables.arrow_types import arrow_schema
from rebalance_audit.tables.fleet_names import FLEET_NAME_SQL
from rebalance_audit.tables.schemas import GOLD_TABLES, table_schemas

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
BUCKETS_MAX: Final = 100_000
"""Pieces of time over which one rebalance may be spread: clocks of coordinators may be wrong by years."""

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

_NOT_STABLE: Final = """coalesce(sum(lasted_min_ms), 0)::bigint as unsettled_min_ms,
    case when count(lasted_max_ms) = count(lasted_min_ms) then coalesce(sum(lasted_max_ms), 0)::bigint end
        as unsettled_max_ms,
    coalesce(sum(likely_ms), 0)::bigint as unsettled_estimate_ms"""
"""Time that rebalances took: no upper bound where one has none, the lower one for a missing estimate."""


_GROUPS: Final = f"""
with longest as (
    select group_id, arg_max(
        struct_pack(min_ms := lasted_min_ms, max_ms := lasted_max_ms, estimate_ms := lasted_estimate_ms),
        (not is_creation, coalesce(likely_ms, 0), coalesce(lasted_min_ms, 0))
    ) as longest
    from rebalances group by group_id
), found as (
    select group_id, count(*) filter (where severity = 'critical') as critical,
        count(*) filter (where severity = 'warning') as warning,
        count(*) filter (where severity = 'info') as info
    from findings where group_id is not null group by group_id
), held_up as (
    select group_id, struct_pack(member_id, name, times := rebalances, ms := lasted_ms) as culprit
    from culprits where member_id is not null
    qualify row_number() over (partition by group_id order by {CULPRIT_ORDER}) = 1
), stood as (
    select group_id, arg_max(protocol, (incarnation, from_offset)) as protocol from group_states group by group_id
), present as (
    select group_id, list(struct_pack(
        protocol, group_state, incarnation, from_at := epoch_ms(from_at), to_at := epoch_ms(to_at), to_offset,
        epoch_at_end, members_at_end,
        awaited := list_transform(awaited, lambda each: struct_update(each, since := epoch_ms(each.since),
            last_record_at := epoch_ms(each.last_record_at), last_commit_at := epoch_ms(each.last_commit_at))),
        awaited_members, partitions_at_end, unconsumed, some_unconsumed
    )) as states, bool_or(is_stuck) as waits
    from all_states where to_offset is null and to_at is null group by group_id
), lived as (
    select distinct group_id from all_states
)
select group_id, coalesce(settled.rebalances, 0) as rebalances, coalesce(unowned.epochs, 0) as epochs,
    coalesce(not_stable_min_ms, 0) as unsettled_min_ms,
    if(settled.rebalances is null, 0, not_stable_max_ms) as unsettled_max_ms,
    coalesce(not_stable_estimate_ms, 0) as unsettled_estimate_ms,
    if(unowned.epochs is null, 0, unowned_partition_min_ms) as unowned_partition_min_ms,
    if(unowned.epochs is null, 0, unowned_partition_max_ms) as unowned_partition_max_ms,
    if(unowned.epochs is null, 0, unowned_partition_estimate_ms) as unowned_partition_estimate_ms,
    coalesce(still_open, 0) as still_open, epoch_ms(rebalancing_since) as open_since_ms,
    still_open > 0 or coalesce(waits, false) as is_stuck,
    longest.min_ms as longest_min_ms, longest.max_ms as longest_max_ms, longest.estimate_ms as longest_estimate_ms,
    culprit, commonest_cause, coalesce(critical, 0) as critical, coalesce(warning, 0) as warning,
    coalesce(info, 0) as info, concat(stood.protocol, ' (' || unowned.protocol_type || ')') as protocol,
    case when lived.group_id is not null then coalesce(present.states, []) end as states
from stood full join groups as settled using (group_id) full join unowned using (group_id)
    full join found using (group_id) left join longest using (group_id) left join held_up using (group_id)
    left join present using (group_id) left join lived using (group_id)
order by is_stuck desc, critical desc, unsettled_estimate_ms desc, warning desc, epochs desc, group_id
"""  # noqa: S608 - our own expressions

_TOTALS: Final = f"""
select * from (select (select count(distinct group_id) from (
        select group_id from group_states
        union all select group_id from epochs
        union all select group_id from rebalances
    )) as groups,
    (select count(*) from epochs) as epochs,
    (select count(*) from epochs where completeness = 'gap') as gaps,
    (select max(greatest(at_ms, epoch_ms(converged_at))) from epochs) as last_epoch_ms,
    (select max(greatest(from_ms, to_ms)) from (
        select at_ms as from_ms, epoch_ms(to_at) as to_ms from group_states
        union all select at_ms, epoch_ms(converged_at) from epochs
        union all select at_ms, epoch_ms(ended_at) from rebalances
    )) as last_ms,
    (select min(at_ms) from epochs) as first_epoch_ms,
    (select min(from_ms) from (
        select min(at_ms) as from_ms from epochs union all select min(at_ms) from rebalances
        union all select min(at_ms) from group_states
    )) as first_ms,
    count(*) as rebalances, {_NOT_STABLE},
    count(*) filter (where outcome = 'open') as still_open,
    coalesce(sum(partitions_moved), 0)::bigint as partitions_moved
from rebalances), (
    select if(count(*) = 0, 0, sum(unowned_partition_min_ms)::bigint) as unowned_partition_min_ms,
        case when count(unowned_partition_max_ms) = count(unowned_partition_min_ms)
            then if(count(*) = 0, 0, sum(unowned_partition_max_ms)::bigint) end as unowned_partition_max_ms,
        if(count(*) = 0, 0, sum(unowned_partition_estimate_ms)::bigint) as unowned_partition_estimate_ms
    from unowned
)
"""  # noqa: S608 - our own expressions

_CAUSES: Final = f"""
select primary_cause as cause, count(*) as rebalances,
    count(*) filter (where primary_certainty = 'proven') as proven,
    count(*) filter (where primary_certainty = 'probable') as probable,
    count(*) filter (where primary_certainty = 'possible') as possible,
    count(distinct group_id) as groups, {_NOT_STABLE}
from rebalances where primary_cause is not null group by all
order by rebalances desc, unsettled_estimate_ms desc, cause
"""  # noqa: S608 - our own expressions

_BUCKETS: Final = """
select began_ms - ((began_ms % $size) + $size) % $size as bucket_ms, primary_cause as cause, count(*) as rebalances
from rebalances where began_ms is not null group by all order by bucket_ms, cause
"""

_COST_BUCKETS: Final = """
with lasting as (
    select held_up_why[1] as cost, began_ms, coalesce(epoch_ms(ended_at), $end) as until_ms,
        began_ms - ((began_ms % $size) + $size) % $size as first_ms
    from rebalances where began_ms is not null
), pieces as (
    select cost, began_ms, until_ms, unnest(range(first_ms, until_ms, $size)) as bucket_ms
    from lasting where until_ms > began_ms and (until_ms - first_ms) / $size <= $most
)
select bucket_ms, cost,
    sum(least(bucket_ms + $size, until_ms) - greatest(bucket_ms, began_ms))::bigint as unsettled_estimate_ms
from pieces group by all order by bucket_ms, cost
"""

_FINDINGS: Final = f"""
select finding_id, kind, severity, group_id, incarnation, log_partition, epoch_ms(from_at) as from_at,
    epoch_ms(to_at) as to_at, member_ids, detail, advice, facts, lost_ms
from findings
where $group_ids is null or list_contains($group_ids, group_id)
qualify row_number() over (
    partition by case when $group_ids is null then severity || ' ' || kind else group_id end
    order by {MOST_SEVERE_FIRST_SQL}
) <= $limit
order by {MOST_SEVERE_FIRST_SQL}
"""  # noqa: S608 - our own expressions

_FINDING_COUNTS: Final = """
select kind, severity, count(*) as findings, count(distinct group_id) as groups
from findings group by all
order by min(rank), max(lost_ms) desc, findings desc, kind
"""

_WEEKS: Final = """
with weeks as (
    select *, at_ms >= $middle as is_later from rebalances where at_ms >= $first and at_ms < $last
)
select group_id, count(*) filter (where not is_later) as rebalances_before,
    count(*) filter (where is_later) as rebalances_after,
    coalesce(sum(likely_ms) filter (where not is_later), 0)::bigint as unsettled_before_ms,
    coalesce(sum(likely_ms) filter (where is_later), 0)::bigint as unsettled_after_ms
from weeks group by group_id
order by unsettled_after_ms - unsettled_before_ms desc, rebalances_after - rebalances_before desc, group_id
limit $limit
"""

_LONGEST: Final = f"""
create view longest as with counted_rows as (
    select *, count(*) over (partition by group_id) as counted,
        coalesce(bool_or(is_creation and ended_at is not null) over (partition by group_id), false) as has_creation,
        row_number() over (
            partition by group_id
            order by ended_at is not null, epochs = 0, is_creation, {LONGEST_RANK} desc, rebalance_seq
        ) as by_rank,
        row_number() over (
            partition by group_id
            order by ended_at is not null, epochs = 0, is_creation, lasted_max_ms desc nulls first, rebalance_seq
        ) as by_most
    from rebalances
)
select *, row_number() over (partition by group_id order by by_rank) as place
from counted_rows where (epochs > 0 or ended_at is null) and (by_rank <= 3 or by_most <= 4)
"""  # noqa: S608 - our own expressions
"""What `figures.longest` needs of each group: those that may be the longest rebalance, and one that goes on."""


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
        self._sql.execute("set search_path = 'figures,gold,main'")
        self._sql.execute(_LONGEST)

    def totals(self) -> dict[str, Any]:
        """One row of sums over everything."""
        return self._rows(_TOTALS)[0]

    def groups(self) -> list[Row]:
        """A row per group, those that need attention most first."""
        return self._rows(_GROUPS)

    def causes(self) -> list[Row]:
        """A row per primary cause of rebalances, the most frequent first."""
        return self._rows(_CAUSES)

    def buckets(self, size_ms: int) -> list[Row]:
        """Rebalances by the piece of time of this size in which they began, and by cause."""
        return self._rows(_BUCKETS, size=size_ms)

    def cost_buckets(self, size_ms: int, end_ms: int) -> list[Row]:
        """Time not stable in each piece of time of this size, by what cost it; `end_ms`: of the log (epoch ms)."""
        return self._rows(_COST_BUCKETS, size=size_ms, end=end_ms, most=BUCKETS_MAX)

    def costliest(self, limit: int) -> list[Row]:
        """Rebalances that go on, then the longest ones."""
        return self._rows(COSTLIEST, limit=limit)

    def findings(self, limit: int, group_ids: Sequence[str] | None = None) -> list[Row]:
        """The most severe first: at most `limit` of each kind over all groups, or of each of the groups named."""
        return self._rows(
            _FINDINGS, group_ids=None if group_ids is None else list(group_ids), limit=limit
        )

    def finding_counts(self) -> list[Row]:
        """How often each kind was found, with which severity, in how many groups."""
        return self._rows(_FINDING_COUNTS)

    def of_groups(self, what: str, group_ids: Sequence[str], limit: int) -> list[Row]:
        """Rows about some groups, at most `limit` for each; `what` is a key of the questions above."""
        return self._rows(OF_GROUPS[what], group_ids=list(group_ids), limit=limit)

    def week_against_week(self, last_ms: int, limit: int) -> list[Row]:
        """Groups by how much longer they were not stable in the seven days before `last_ms` than in those before."""
        first, middle = last_ms - 14 * DAY_MS, last_ms - 7 * DAY_MS
        return self._rows(_WEEKS, first=first, middle=middle, last=last_ms + 1, limit=limit)

    def close(self) -> None:
        """Close the database."""
        self._sql.close()

    def _rows(self, question: str, **values: object) -> list[Row]:
        rows: list[Row] = self._sql.sql(question, params=values).to_arrow_table().to_pylist()
        return rows
