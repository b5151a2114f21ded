-- What the rebalances of a group amount to: how many, the commonest cause, time not stable, records delayed.
-- The commonest cause is that of most rebalances, the first by name of several.
with ranked as (
    select
        cluster,
        group_id,
        primary_cause,
        row_number() over (partition by cluster, group_id order by count(*) desc, primary_cause) as place
    from gold.rebalances
    where primary_cause is not null
    group by cluster, group_id, primary_cause
),
sums as (
    select
        cluster,
        group_id,
        count(*) as rebalances,
        max(coalesce(started_at, ended_at)) as last_rebalance_at,
        cast(sum(case when outcome = 'open' then 1 else 0 end) as bigint) as still_open,
        min(case when outcome = 'open' then started_at end) as rebalancing_since,
        cast(coalesce(sum(lasted_min_ms), 0) as bigint) as not_stable_min_ms,
        case when count(lasted_max_ms) = count(lasted_min_ms) then cast(coalesce(sum(lasted_max_ms), 0) as bigint) end
            as not_stable_max_ms,
        cast(coalesce(sum(likely_ms), 0) as bigint) as not_stable_estimate_ms,
        cast(sum(case when partitions_stopped > 0 then records_delayed_min end) as bigint) as records_delayed_min,
        case
            when count(case when partitions_stopped > 0 then records_delayed_max end)
                = count(case when partitions_stopped > 0 then 1 end)
                then cast(sum(case when partitions_stopped > 0 then records_delayed_max end) as bigint)
        end as records_delayed_max,
        cast(sum(case when partitions_stopped > 0 then records_delayed_estimate end) as bigint)
            as records_delayed_estimate
    from figures.rebalances
    group by cluster, group_id
)
select
    sums.*,
    ranked.primary_cause as commonest_cause
from sums
left join ranked on ranked.cluster = sums.cluster and ranked.group_id = sums.group_id and ranked.place = 1
