-- What made groups rebalance, hour by hour?
-- One row is one cause of one group in one hour: the rebalances that began in it. The time of each counts in that hour.
select
    cluster,
    group_id,
    date_trunc('hour', coalesce(started_at, ended_at)) as hour,
    coalesce(primary_cause, 'unknown') as cause,
    count(*) as rebalances,
    cast(sum(case when primary_certainty = 'proven' then 1 else 0 end) as bigint) as proven,
    cast(coalesce(sum(likely_ms), 0) as bigint) as not_stable_estimate_ms
from figures.rebalances as rebalance
where coalesce(started_at, ended_at) is not null
group by
    cluster,
    group_id,
    date_trunc('hour', coalesce(started_at, ended_at)),
    coalesce(primary_cause, 'unknown')
