-- Whose partitions lag, by how many records and for how long?
-- One row is an owner of partitions in a group, a static one over all its member ids, as of the last row of gold.progress for each partition in the hour before the newest. Partitions without an owner have a row of their own.
-- Null where no end offset is known; upper bounds are null where a partition has none.
select
    newest.cluster,
    newest.group_id,
    coalesce(newest.instance_id, newest.member_id) as member,
    max(newest.client_id) as client_id,
    count(*) as partitions,
    cast(sum(newest.lag_records_min) as bigint) as lag_records_min,
    case when count(*) = count(newest.lag_records_max) then cast(sum(newest.lag_records_max) as bigint) end as lag_records_max,
    max(newest.lag_min_ms) as lag_min_ms,
    case when count(*) = count(newest.lag_max_ms) then max(newest.lag_max_ms) end as lag_max_ms,
    sum(newest.committed_per_second) as committed_per_second,
    cast(sum(newest.records_lost) as bigint) as records_lost,
    min(newest.lag_at) as lag_at,
    max(newest.last_commit_at) as last_commit_at
from (
    select
        progress.*,
        row_number() over (
            partition by cluster, group_id, topic, topic_partition order by minute desc, log_partition desc
        ) as place,
        max(minute) over (partition by cluster) as newest_minute
    from gold.progress as progress
) as newest
where newest.place = 1 and newest.minute >= newest.newest_minute - interval '1' hour
group by newest.cluster, newest.group_id, coalesce(newest.instance_id, newest.member_id)
