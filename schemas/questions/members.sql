-- Names of members, in the tables' own order: a member's latest life names it.
select group_id, member_id, instance_id, client_id, client_host
from gold.members
where group_id in (select unnest($group_ids))
qualify row_number() over (partition by group_id order by incarnation desc, last_seen_at desc, member_id) <= $limit
order by group_id, last_seen_at, member_id
