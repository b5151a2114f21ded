-- Two windows of time compared by group: a rebalance belongs to the one in which it began. Those that changed most come first.
-- `worse`: only groups that were not stable for longer in the second, by how much longer.
with windowed as (
    select
        *,
        case
            when began_ms >= $first_from_ms and began_ms < $first_to_ms then 'first'
            when began_ms >= $second_from_ms and began_ms < $second_to_ms then 'second'
        end as side
    from figures.rebalances
    where ($group is null or group_id = $group) and ($cluster is null or cluster = $cluster)
)
select
    cluster,
    group_id,
    count(*) filter (where side = 'first') as rebalances_first,
    count(*) filter (where side = 'second') as rebalances_second,
    coalesce(sum(likely_ms) filter (where side = 'first'), 0)::bigint as not_stable_estimate_ms_first,
    coalesce(sum(likely_ms) filter (where side = 'second'), 0)::bigint as not_stable_estimate_ms_second,
    mode(primary_cause order by primary_cause) filter (where side = 'first') as commonest_cause_first,
    mode(primary_cause order by primary_cause) filter (where side = 'second') as commonest_cause_second
from windowed
where side is not null
group by cluster, group_id
having not $worse or not_stable_estimate_ms_second > not_stable_estimate_ms_first
order by abs(not_stable_estimate_ms_second - not_stable_estimate_ms_first) desc,
    if($worse, rebalances_second - rebalances_first, abs(rebalances_second - rebalances_first)) desc, cluster, group_id
limit $most
