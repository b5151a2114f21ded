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

from rebalance_audit.audit.rows import GOLD_OF_GROUP, PROGRESS, Row
from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.readers.finding_costs import (
    BEGAN_MS,
    COSTS,
    FIRST_MS,
    LAST_MS,
    MOST_SEVERE_FIRST,
    RANK,
    SO_FAR_MS,
)
from rebalance_audit.readers.gold_sql import CAME_LATER, OFFLINE
from rebalance_audit.readers.group_questions import COSTLIEST, LONGEST_RANK, OF_GROUPS
from rebalance_audit.readers.tables import lacking_columns
from rebalance_audit.tables.arrow_types import arrow_schema
from rebalance_audit.tables.fleet_names import FLEET_NAME_SQL
from rebalance_audit.tables.schemas import table_schemas

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS
BUCKETS_MAX: Final = 100_000
"""Pieces of time over which one rebalance may be spread: clocks of coordinators may be wrong by years."""

_VIEWS: Final = {
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

_BOUNDS: Final = {
    "rebalances": f"""
    case when open_until is not null then {SO_FAR_MS} end as so_far_ms,
    struct_pack(
        least := coalesce(so_far_ms, duration_min_ms, duration_ms),
        most := case when so_far_ms is not null then so_far_ms when duration_min_ms is not null then duration_max_ms
            when protocol <> 'classic' then duration_ms
            else epoch_ms(ended_at) - epoch_ms(started_at_earliest) end,
        estimate := case when so_far_ms is not null then so_far_ms
            when duration_min_ms is null then duration_ms else duration_estimate_ms end
    ) as took,
    {BEGAN_MS} as began_ms,
    held_up_why[1] as cost,
    rebalance_seq = 0 and completeness = 'complete' and first_epoch = last_epoch and coalesce(members_left, 0) = 0
        as is_creation""",
    "epochs": """
    case when protocol <> 'classic' or coalesce(protocol_type, '') in ('', 'consumer') then struct_pack(
        least := coalesce(unowned_partition_min_ms, unowned_partition_ms, 0),
        most := case when unowned_partition_min_ms is not null then unowned_partition_max_ms
            when protocol <> 'classic' then unowned_partition_ms end,
        estimate := if(unowned_partition_min_ms is null, coalesce(unowned_partition_ms, 0),
            unowned_partition_estimate_ms)
    ) end as unowned""",
}
"""Table -> durations that may be known only by bounds, or not at all; earlier releases had no columns."""


def _sum_of(bounds: str, stem: str) -> str:
    """Columns with the sum of bounds: no upper one where one has none, the lower one for a missing estimate."""
    return f"""coalesce(sum({bounds}.least), 0)::bigint as {stem}_min_ms,
        case when count(*) filter (where {bounds}.least is not null and {bounds}.most is null) = 0
            then coalesce(sum({bounds}.most), 0)::bigint end as {stem}_max_ms,
        coalesce(sum(coalesce({bounds}.estimate, {bounds}.least)), 0)::bigint as {stem}_estimate_ms"""


_HOLD_UPS: Final = """
create view hold_ups as
with named as (
    select group_id, member_id, any_value(instance_id) as instance_id from members group by group_id, member_id
), held as (
    select group_id, at_ms, unnest(held_up_by) as name, unnest(held_up_member_ids) as member_id,
        unnest(held_up_ms) as waited_ms, unnest(held_up_why) as why, unnest(held_up_from) as since, open_until, began_ms
    from rebalances
)
select *, coalesce(instance_id, member_id, name) as who,
    greatest(0, if(
        open_until is null,
        waited_ms - greatest(0, began_ms - epoch_ms(since)),
        epoch_ms(open_until) - epoch_ms(since)
    )) as held_up_ms
from held left join named using (group_id, member_id)
"""
"""Who held rebalances up, of one that goes on until the end of the log; a static member is one `who`.

As `figures.rows.waits_of`, time before a rebalance does not count.
"""

_KEPT_UNUSED: Final = """
create view kept_unused as select distinct group_id as keeping_group from members
where protocol <> 'classic' and (next_member_id is not null
    or left_how in ('member_departed', 'member_session_expired', 'static_member_expired'))
"""
"""Groups of the consumer protocol in which members may have kept partitions while they were dead or away.

Their time without owner has no upper bound: as `figures.rows.kept_unused`.
"""

_UNOWNED: Final = f"""
    {_sum_of("unowned", "known")}, count(keeping_group) = 0 as is_all,
    bool_or(unowned is not null) is not false as owns_partitions,
    if(owns_partitions, known_min_ms, null) as unowned_partition_min_ms,
    if(is_all and owns_partitions, known_max_ms, null) as unowned_partition_max_ms,
    if(owns_partitions, known_estimate_ms, null) as unowned_partition_estimate_ms
from epochs left join kept_unused on keeping_group = group_id"""


def _of_group(stem: str, exists: str = "true") -> str:
    """The same columns, 0 for a group that has no such row; null where `exists` does not hold."""
    return (
        f"case when {exists} then coalesce({stem}_min_ms, 0) end as {stem}_min_ms, "
        f"case when {exists} then case when {stem}_min_ms is null then 0 else {stem}_max_ms end end as {stem}_max_ms, "
        f"case when {exists} then coalesce({stem}_estimate_ms, 0) end as {stem}_estimate_ms"
    )


_GROUPS: Final = f"""
with settled as (
    select group_id, count(*) as rebalances, {_sum_of("took", "unsettled")},
        coalesce(arg_max(took, {LONGEST_RANK}) filter (where not is_creation),
            arg_max(took, {LONGEST_RANK})) as longest,
        count(*) filter (where outcome = 'open') as still_open,
        min(epoch_ms(started_at)) filter (where ended_at is null) as open_since_ms
    from rebalances group by group_id
), without_owner as (
    select group_id, max(case when unowned is null then protocol_type end) as kind, {_UNOWNED} group by group_id
), caused as (
    select group_id, primary_cause as commonest_cause from rebalances
    where primary_cause is not null group by group_id, primary_cause
    qualify row_number() over (partition by group_id order by count(*) desc, primary_cause) = 1
), numbered as (
    select group_id, count(*) as epochs from epochs group by group_id
), found as (
    select group_id, count(*) filter (where severity = 'critical') as critical,
        count(*) filter (where severity = 'warning') as warning,
        count(*) filter (where severity = 'info') as info
    from findings where group_id is not null group by group_id
), blamed as (
    select group_id, arg_max(member_id, at_ms) as member_id, any_value(name) as name, who, count(*) as times,
        sum(coalesce(held_up_ms, 0))::bigint as held_up_ms
    from hold_ups where member_id is not null group by group_id, who
), culprits as (
    select group_id, struct_pack(member_id, name, times, ms := held_up_ms) as culprit from blamed
    qualify row_number() over (partition by group_id order by held_up_ms desc, times desc, who) = 1
), stood as (
    select group_id, arg_max(protocol, (incarnation, from_offset)) as protocol from group_states group by group_id
), staying as (
    select group_id, incarnation, count(*) as members from members where left_at is null group by all
), present as (
    select group_id, list(struct_pack(
        protocol, group_state, incarnation, from_at := epoch_ms(from_at), to_at := epoch_ms(to_at), to_offset,
        epoch_at_end, members_at_end := coalesce(members_at_end, staying.members, 0),
        awaited := list_transform(awaited, lambda each: struct_update(each, since := epoch_ms(each.since),
            last_record_at := epoch_ms(each.last_record_at), last_commit_at := epoch_ms(each.last_commit_at))),
        awaited_members, partitions_at_end, unconsumed, some_unconsumed
    )) as states, bool_or(is_stuck) as waits
    from all_states left join staying using (group_id, incarnation)
    where to_offset is null and to_at is null group by group_id
), lived as (
    select distinct group_id from all_states
)
select group_id, coalesce(rebalances, 0) as rebalances, coalesce(epochs, 0) as epochs,
    {_of_group("unsettled")}, {_of_group("unowned_partition", "coalesce(owns_partitions, true)")},
    coalesce(still_open, 0) as still_open, open_since_ms, still_open > 0 or coalesce(waits, false) as is_stuck,
    longest.least as longest_min_ms, longest.most as longest_max_ms, longest.estimate as longest_estimate_ms,
    culprit, commonest_cause, coalesce(critical, 0) as critical, coalesce(warning, 0) as warning,
    coalesce(info, 0) as info, concat(stood.protocol, ' (' || without_owner.kind || ')') as protocol,
    case when lived.group_id is not null then coalesce(present.states, []) end as states
from stood full join settled using (group_id) full join numbered using (group_id) full join found using (group_id)
    left join without_owner using (group_id) left join culprits using (group_id)
    left join caused using (group_id)
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
    count(*) as rebalances, {_sum_of("took", "unsettled")},
    count(*) filter (where outcome = 'open') as still_open,
    coalesce(sum(partitions_moved), 0)::bigint as partitions_moved
from rebalances), (select {_UNOWNED})
"""  # noqa: S608 - our own expressions

_CAUSES: Final = f"""
select primary_cause as cause, count(*) as rebalances,
    count(*) filter (where primary_certainty = 'proven') as proven,
    count(*) filter (where primary_certainty = 'probable') as probable,
    count(*) filter (where primary_certainty = 'possible') as possible,
    count(distinct group_id) as groups, {_sum_of("took", "unsettled")}
from rebalances where primary_cause is not null group by all
order by rebalances desc, unsettled_estimate_ms desc, cause
"""  # noqa: S608 - our own expressions

_BUCKETS: Final = """
select began_ms - ((began_ms % $size) + $size) % $size as bucket_ms, primary_cause as cause, count(*) as rebalances
from rebalances where began_ms is not null group by all order by bucket_ms, cause
"""

_COST_BUCKETS: Final = """
with lasting as (
    select cost, began_ms, coalesce(epoch_ms(ended_at), $end) as until_ms,
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
    epoch_ms(to_at) as to_at, member_ids, detail, advice, facts, coalesce(lost_ms, 0) as lost_ms
from findings left join costs using (cluster, finding_id)
where $group_ids is null or list_contains($group_ids, group_id)
qualify row_number() over (
    partition by case when $group_ids is null then severity || ' ' || kind else group_id end
    order by {MOST_SEVERE_FIRST}
) <= $limit
order by {MOST_SEVERE_FIRST}
"""  # noqa: S608 - our own expressions

_FINDING_COUNTS: Final = """
select kind, severity, count(*) as findings, count(distinct group_id) as groups
from findings left join costs using (cluster, finding_id) group by all
order by min(rank), max(coalesce(lost_ms, 0)) desc, findings desc, kind
"""

_WEEKS: Final = """
with weeks as (
    select *, at_ms >= $middle as is_later from rebalances where at_ms >= $first and at_ms < $last
)
select group_id, count(*) filter (where not is_later) as rebalances_before,
    count(*) filter (where is_later) as rebalances_after,
    coalesce(sum(coalesce(took.estimate, took.least)) filter (where not is_later), 0)::bigint as unsettled_before_ms,
    coalesce(sum(coalesce(took.estimate, took.least)) filter (where is_later), 0)::bigint as unsettled_after_ms
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
            order by ended_at is not null, epochs = 0, is_creation, took.most desc nulls first, rebalance_seq
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
        bounds = (FIRST_MS if from_ms is None else from_ms, LAST_MS if to_ms is None else to_ms)
        self._lacking: dict[str, dict[str, str]] = {}
        """Table -> columns that came with a later release than the lake's, with their types."""
        for name in (*GOLD_OF_GROUP, PROGRESS):
            table = _opened(open_gold, f"gold.{name}")
            self._sql.register(f"{name}_as_given", table)
            self._lacking[name] = lacking_columns(f"gold.{name}", table)
            self._view(name, name, cluster, *bounds)
        self._sql.execute(_LONGEST)
        self._sql.execute(_HOLD_UPS)
        self._sql.execute(_KEPT_UNUSED)
        self._sql.execute(f"create view costs as {COSTS}")
        # How a group stands now is the same whatever window is asked for.
        self._view("all_states", "group_states", cluster, FIRST_MS, LAST_MS)

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

    def _view(self, view: str, name: str, cluster: str | None, from_ms: int, to_ms: int) -> None:
        """A table as the questions see it: its clusters, one window, `at_ms` for the moment that decides."""
        moment = _VIEWS.get(name, "null::timestamptz")
        inside = "true"
        if name in _ENDS:
            inside = (
                f"at_ms < {to_ms} and coalesce(epoch_ms({_ENDS[name]}), {LAST_MS}) >= {from_ms}"
            )
        elif name in _VIEWS:
            inside = f"(at_ms is null or at_ms >= {from_ms} and at_ms < {to_ms})"
        columns = "*"
        if cluster is None:
            columns = f"* replace ({FLEET_NAME_SQL} as group_id)"
        else:
            quoted = cluster.replace("'", "''")
            inside = f"cluster = '{quoted}' and {inside}"
        rank = f", {RANK} as rank" if name == "findings" else ""
        bounds = f", {_BOUNDS[name]}" if name in _BOUNDS else ""
        missing = "".join(
            f", null::{type_of} as {column}" for column, type_of in self._lacking[name].items()
        )
        self._sql.execute(
            f"create view {view} as select {columns}, epoch_ms({moment}) as at_ms{rank}{bounds}"  # noqa: S608 - our own names; the cluster's is quoted
            f" from (select *{missing} from {name}_as_given) where {inside}"
        )

    def _rows(self, question: str, **values: object) -> list[Row]:
        rows: list[Row] = self._sql.sql(question, params=values).to_arrow_table().to_pylist()
        return rows
