-- For how long did nobody own partitions of a topic?
-- One row is one topic of one group on one day: gaps that ended on it. A gap that has no end yet is not in it.
select
    cluster,
    group_id,
    coalesce(topic, topic_id) as topic,
    date_trunc('day', from_at) as day,
    count(*) as gaps,
    count(distinct topic_partition) as partitions,
    cast(sum(unowned_before_ms) as bigint) as unowned_partition_ms,
    max(unowned_before_ms) as longest_gap_ms
from gold.ownership
where unowned_before_ms > 0 and from_at is not null
group by cluster, group_id, coalesce(topic, topic_id), date_trunc('day', from_at)
