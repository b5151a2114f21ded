-- Rebalances that go on, then the longest ones.
select shown.*, (
    select cause.member_id
    from gold.rebalance_causes as cause
    where cause.group_id = shown.group_id and cause.incarnation = shown.incarnation
        and cause.epoch = shown.first_epoch and cause.cause_seq = 0
) as trigger_member_id
from figures.rebalances as shown
where began_ms is not null
order by ended_at is not null, coalesce(likely_ms, 0) desc, coalesce(lasted_min_ms, 0) desc, began_ms, group_id,
    incarnation, rebalance_seq
limit $limit
