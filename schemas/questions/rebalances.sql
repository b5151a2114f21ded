-- The latest rebalances of each group, and the ten that took longest, whenever they were.
select *
from figures.rebalances
where group_id in (select unnest($group_ids)) and began_ms is not null
qualify row_number() over (partition by group_id order by at_ms desc, incarnation desc, rebalance_seq desc) <= $limit
    or row_number() over (
        partition by group_id
        order by ended_at is not null, coalesce(likely_ms, 0) desc, coalesce(lasted_min_ms, 0) desc, rebalance_seq
    ) <= 10
order by group_id, began_ms, incarnation, rebalance_seq
