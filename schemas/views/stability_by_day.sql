-- What share of each day was the group stable?
-- One row is one group on one day on which it had a row in gold.group_hours; on other days it was stable all the time.
-- Shares are of 24 hours, the first and the last day of the log included. A lower bound is null where the loss has none.
select
    cluster,
    group_id,
    date_trunc('day', hour) as day,
    cast(sum(rebalances) as bigint) as rebalances,
    cast(sum(not_stable_estimate_ms) as bigint) as not_stable_estimate_ms,
    case
        when count(not_stable_max_ms) = count(*)
            then 1 - cast(sum(not_stable_max_ms) as double) / 86400000
    end as share_stable_min,
    1 - cast(sum(not_stable_min_ms) as double) / 86400000 as share_stable_max,
    1 - cast(sum(not_stable_estimate_ms) as double) / 86400000 as share_stable_estimate
from gold.group_hours
group by cluster, group_id, date_trunc('day', hour)
