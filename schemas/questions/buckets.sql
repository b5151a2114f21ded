-- Rebalances by the piece of time of `size` (ms) in which they began, and by cause.
select began_ms - ((began_ms % $size) + $size) % $size as bucket_ms, primary_cause as cause, count(*) as rebalances
from figures.rebalances
where began_ms is not null
group by all
order by bucket_ms, cause
