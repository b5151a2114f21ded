-- Time not stable in each piece of time of `size` (ms), by what cost it; `end`: of the log (epoch ms).
-- A rebalance is spread over at most `most` pieces: clocks of coordinators may be wrong by years.
with lasting as (
    select
        held_up_why[1] as cost,
        began_ms,
        coalesce(epoch_ms(ended_at), $end) as until_ms,
        began_ms - ((began_ms % $size) + $size) % $size as first_ms
    from figures.rebalances
    where began_ms is not null
),
pieces as (
    select cost, began_ms, until_ms, unnest(range(first_ms, until_ms, $size)) as bucket_ms
    from lasting
    where until_ms > began_ms and (until_ms - first_ms) / $size <= $most
)
select
    bucket_ms,
    cost,
    sum(least(bucket_ms + $size, until_ms) - greatest(bucket_ms, began_ms))::bigint as not_stable_estimate_ms
from pieces
group by all
order by bucket_ms, cost
