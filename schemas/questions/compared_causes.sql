-- The same windows compared by primary cause.
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
    coalesce(primary_cause, 'unknown') as cause,
    count(*) filter (where side = 'first') as rebalances_first,
    count(*) filter (where side = 'second') as rebalances_second,
    coalesce(sum(likely_ms) filter (where side = 'first'), 0)::bigint as not_stable_estimate_ms_first,
    coalesce(sum(likely_ms) filter (where side = 'second'), 0)::bigint as not_stable_estimate_ms_second
from windowed
where side is not null
group by all
order by abs(rebalances_second - rebalances_first) desc, cause
limit $most
