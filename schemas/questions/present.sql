-- Of each group that was ever seen the states that last; one row without a state where none does.
select lived.group_id, states.* exclude (group_id)
from (select distinct group_id from gold.all_states) as lived
left join gold.all_states as states
    on states.group_id = lived.group_id and states.to_offset is null and states.to_at is null
order by lived.group_id, incarnation, from_offset
