-- The latest rebalances of each group, with the first that held each up.
select
    group_id, incarnation, rebalance_seq, began_ms, protocol, ended_at, duration_min_ms, duration_max_ms,
    duration_estimate_ms, primary_cause, primary_certainty, first_epoch, last_epoch, outcome,
    held_up_by[1:1] as held_up_by,
    held_up_member_ids[1:1] as held_up_member_ids,
    held_up_ms[1:1] as held_up_ms,
    held_up_why[1:1] as held_up_why,
    held_up_from[1:1] as held_up_from,
    held_up_to[1:1] as held_up_to,
    held_up_certainty,
    held_up_certainties[1:1] as held_up_certainties
from figures.rebalances
where group_id in (select unnest($group_ids)) and began_ms is not null
qualify row_number() over (partition by group_id order by at_ms desc, incarnation desc, rebalance_seq desc) <= $limit
order by group_id, began_ms, incarnation, rebalance_seq
