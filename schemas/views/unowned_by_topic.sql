-- For how long did nobody own partitions of a topic?
-- One row is one topic of one group on one day: gaps that ended on it; a gap that goes on is not in it.
-- Not for classic groups: of their generations the records give bounds, which gold.epochs has, and nothing by topic.
-- Not for share groups: members have partitions in common, and the records do not say when the last one gave a partition up.
select
    owned.cluster,
    owned.group_id,
    coalesce(owned.topic, owned.topic_id) as topic,
    date_trunc('day', owned.from_at) as day,
    count(*) as gaps,
    count(distinct owned.topic_partition) as partitions,
    cast(sum(owned.unowned_before_ms) as bigint) as unowned_partition_ms,
    max(owned.unowned_before_ms) as longest_gap_ms
from gold.ownership as owned
join gold.epochs as epoch
    on epoch.cluster = owned.cluster
    and epoch.group_id = owned.group_id
    and epoch.incarnation = owned.incarnation
    and epoch.epoch = owned.from_epoch
where owned.unowned_before_ms > 0 and owned.from_at is not null and epoch.protocol <> 'classic'
group by
    owned.cluster,
    owned.group_id,
    coalesce(owned.topic, owned.topic_id),
    date_trunc('day', owned.from_at)
