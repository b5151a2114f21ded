-- For whom each group waited longest.
select group_id, who, member_id, name, rebalances, lasted_ms, longest_ms, why
from figures.culprits
where group_id in (select unnest($group_ids)) and place <= $limit
order by group_id, place
