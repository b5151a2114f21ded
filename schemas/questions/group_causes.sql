-- Primary causes of epochs, the most frequent of each group.
select group_id, primary_cause as cause, primary_certainty as certainty, count(*) as epochs
from gold.epochs
where group_id in (select unnest($group_ids)) and primary_cause is not null
group by group_id, primary_cause, primary_certainty
qualify row_number() over (partition by group_id order by count(*) desc, cause, certainty) <= $limit
order by group_id, epochs desc, cause, certainty
