-- How long did a topic's partitions have no owner?
-- One row is one topic of one group on one day: gaps that ended on it, with the next owner or, where there was none, with the rebalance; a gap that goes on is not in it.
-- Not for classic groups: records of their generations give only bounds, in gold.epochs, and not by topic.
-- Not for share groups: members have partitions in common, and the records do not say when the last one gave a partition up.
with
owned as (
    select
        owned.*,
        coalesce(owned.topic, owned.topic_id) as named,
        row_number() over (
            partition by owned.cluster, owned.group_id, owned.topic_id, owned.topic, owned.topic_partition
            order by owned.incarnation desc, owned.from_offset desc
        ) as from_last
    from gold.ownership as owned
),
taken as (
    select
        owned.cluster,
        owned.group_id,
        owned.named as topic,
        owned.topic_partition,
        owned.from_at as ended_at,
        owned.unowned_before_ms as lasted_ms
    from owned
    join gold.epochs as epoch
        on epoch.cluster = owned.cluster
        and epoch.group_id = owned.group_id
        and epoch.incarnation = owned.incarnation
        and epoch.epoch = owned.from_epoch
    where owned.unowned_before_ms > 0 and owned.from_at is not null and epoch.protocol <> 'classic'
),
given_up as (
    select
        owned.cluster,
        owned.group_id,
        owned.named as topic,
        owned.topic_partition,
        rebalance.rebalance_seq,
        rebalance.incarnation,
        rebalance.started_at,
        rebalance.ended_at,
        rebalance.unowned_partition_ms,
        unix_millis(rebalance.ended_at) - unix_millis(owned.to_at) as lasted_ms
    from owned
    join gold.rebalances as rebalance
        on rebalance.cluster = owned.cluster
        and rebalance.group_id = owned.group_id
        and rebalance.started_at <= owned.to_at
        and rebalance.ended_at > owned.to_at
    where owned.from_last = 1 and rebalance.protocol not in ('classic', 'share')
),
counted as (
    select
        given_up.cluster,
        given_up.group_id,
        given_up.incarnation,
        given_up.rebalance_seq,
        max(given_up.unowned_partition_ms) as all_ms,
        max(given_up.started_at) as started_at,
        max(given_up.ended_at) as ended_at,
        sum(given_up.lasted_ms) as given_up_ms
    from given_up
    group by given_up.cluster, given_up.group_id, given_up.incarnation, given_up.rebalance_seq
),
known as (
    select
        counted.cluster,
        counted.group_id,
        counted.incarnation,
        counted.rebalance_seq,
        counted.all_ms - counted.given_up_ms - sum(case when taken.ended_at is null then 0 else greatest(
            0,
            least(unix_millis(taken.ended_at), unix_millis(counted.ended_at))
            - greatest(unix_millis(taken.ended_at) - taken.lasted_ms, unix_millis(counted.started_at))
        ) end) as left_ms
    from counted
    left join taken
        on taken.cluster = counted.cluster
        and taken.group_id = counted.group_id
        and taken.ended_at > counted.started_at
    group by
        counted.cluster,
        counted.group_id,
        counted.incarnation,
        counted.rebalance_seq,
        counted.all_ms,
        counted.given_up_ms
),
gaps as (
    select cluster, group_id, topic, topic_partition, ended_at, lasted_ms from taken
    union all
    select
        given_up.cluster,
        given_up.group_id,
        given_up.topic,
        given_up.topic_partition,
        given_up.ended_at,
        given_up.lasted_ms
    from given_up
    join known
        on known.cluster = given_up.cluster
        and known.group_id = given_up.group_id
        and known.incarnation = given_up.incarnation
        and known.rebalance_seq = given_up.rebalance_seq
    -- A partition to which no member subscribes any more is not without owner: the rebalance counts no time for it.
    where known.left_ms >= 0
)
select
    gaps.cluster,
    gaps.group_id,
    gaps.topic,
    date_trunc('day', gaps.ended_at) as day,
    count(*) as gaps,
    count(distinct gaps.topic_partition) as partitions,
    cast(sum(gaps.lasted_ms) as bigint) as unowned_partition_ms,
    max(gaps.lasted_ms) as longest_gap_ms
from gaps
group by gaps.cluster, gaps.group_id, gaps.topic, date_trunc('day', gaps.ended_at)
