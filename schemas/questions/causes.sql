-- A row per primary cause of rebalances, the most frequent first.
select
    primary_cause as cause,
    count(*) as rebalances,
    count(*) filter (where primary_certainty = 'proven') as proven,
    count(*) filter (where primary_certainty = 'probable') as probable,
    count(*) filter (where primary_certainty = 'possible') as possible,
    count(distinct group_id) as groups,
    coalesce(sum(lasted_min_ms), 0)::bigint as not_stable_min_ms,
    case when count(lasted_max_ms) = count(lasted_min_ms) then coalesce(sum(lasted_max_ms), 0)::bigint end
        as not_stable_max_ms,
    coalesce(sum(likely_ms), 0)::bigint as not_stable_estimate_ms
from figures.rebalances
where primary_cause is not null
group by all
order by rebalances desc, not_stable_estimate_ms desc, cause
