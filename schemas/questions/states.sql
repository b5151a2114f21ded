-- The latest states of each group.
select group_id, incarnation, group_state, from_at, to_at, epoch
from gold.group_states
where group_id in (select unnest($group_ids))
qualify row_number() over (partition by group_id order by incarnation desc, from_offset desc) <= $limit
order by group_id, incarnation, from_offset
