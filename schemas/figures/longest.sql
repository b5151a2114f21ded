-- Of each group the rebalances that may be its longest, and one that goes on: those that `figures.longest` of Python compares.
-- `counted` and `has_creation` are about all rebalances of the group; `place` 1 is the first by the estimate.
with counted_rows as (
    select
        *,
        count(*) over (partition by cluster, group_id) as counted,
        max(case when is_creation and ended_at is not null then 1 else 0 end) over (partition by cluster, group_id) = 1
            as has_creation,
        row_number() over (
            partition by cluster, group_id
            order by ended_at is not null, epochs = 0, is_creation, coalesce(likely_ms, 0) desc,
                coalesce(lasted_min_ms, 0) desc, lasted_max_ms desc nulls first, incarnation, rebalance_seq
        ) as by_rank,
        row_number() over (
            partition by cluster, group_id
            order by ended_at is not null, epochs = 0, is_creation, lasted_max_ms desc nulls first, incarnation,
                rebalance_seq
        ) as by_most
    from figures.rebalances
)
select *, row_number() over (partition by cluster, group_id order by by_rank) as place
from counted_rows
where (epochs > 0 or ended_at is null) and (by_rank <= 3 or by_most <= 4)
