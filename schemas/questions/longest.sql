-- Of each group the rebalances that may be its longest, and one that goes on.
select *
from figures.longest
where group_id in (select unnest($group_ids)) and place <= $limit
order by group_id, place
