-- What lanes of partitions are made of: the latest stretches of each group.
select
    group_id, incarnation, member_id, instance_id, topic, topic_id, topic_partition, from_at, to_at, unowned_before_ms,
    previous_member_id, how_ended
from gold.ownership
where group_id in (select unnest($group_ids)) and from_at is not null
qualify row_number() over (
    partition by group_id order by incarnation desc, from_offset desc, topic, topic_id, topic_partition
) <= $limit
order by group_id, incarnation, from_offset, topic, topic_id, topic_partition
