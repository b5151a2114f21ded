-- Rows of gold.rebalances with when each began and how long it lasted, one that goes on up to the end of the log.
-- The longest come first by `likely_ms`, then by `lasted_min_ms`.
select
    *,
    coalesce(lasted_estimate_ms, lasted_min_ms) as likely_ms
from (
    select
        *,
        coalesce(unix_millis(ended_at) - coalesce(duration_estimate_ms, duration_ms), unix_millis(started_at), unix_millis(ended_at))
            as began_ms,
        case when so_far_ms is null then duration_min_ms else so_far_ms end as lasted_min_ms,
        case when so_far_ms is null then duration_max_ms else so_far_ms end as lasted_max_ms,
        case when so_far_ms is null then duration_estimate_ms else so_far_ms end as lasted_estimate_ms,
        rebalance_seq = 0 and completeness = 'complete' and first_epoch = last_epoch and coalesce(members_left, 0) = 0
            as is_creation
    from (
        select
            *,
            case
                when open_until is not null and started_at is not null
                    then greatest(0, unix_millis(open_until) - unix_millis(started_at))
            end as so_far_ms
        from gold.rebalances
    ) as timed
) as lasting
