-- Whose partitions lag, by how many records and for how long?
-- One row is an owner of partitions in a group, a static one over all its member ids, as of the last row of gold.progress for each partition in the hour before the newest. Partitions without an owner have a row of their own.
-- `is_left`: topics that the group has left: no member owns a partition of them, while members own others; no member reads what waits there. Offsets that were deleted have no row. `beyond_end`: committed offsets that lie beyond the end have no lag.
-- Null where no end offset is known; upper bounds are null where a partition has none.
select
    newest.cluster,
    newest.group_id,
    coalesce(newest.instance_id, newest.member_id) as member,
    max(newest.client_id) as client_id,
    newest.is_left,
    count(*) as partitions,
    cast(sum(newest.lag_records_min) as bigint) as lag_records_min,
    case when count(*) = count(newest.lag_records_max) then cast(sum(newest.lag_records_max) as bigint) end as lag_records_max,
    max(newest.lag_min_ms) as lag_min_ms,
    case when count(*) = count(newest.lag_max_ms) then max(newest.lag_max_ms) end as lag_max_ms,
    sum(newest.committed_per_second) as committed_per_second,
    cast(sum(newest.records_lost) as bigint) as records_lost,
    cast(sum(newest.beyond_end) as bigint) as beyond_end,
    min(newest.lag_at) as lag_at,
    max(newest.last_commit_at) as last_commit_at
from (
    select
        last_rows.*,
        max(case when member_id is null then 0 else 1 end) over (partition by cluster, group_id, topic) = 0
        and max(case when member_id is null then 0 else 1 end) over (partition by cluster, group_id) = 1 as is_left
    from (
        select
            progress.*,
            row_number() over (
                partition by cluster, group_id, topic, topic_partition order by minute desc, log_partition desc
            ) as place,
            max(minute) over (partition by cluster) as newest_minute
        from gold.progress as progress
    ) as last_rows
    where place = 1 and minute >= newest_minute - interval '1' hour and not coalesce(is_deleted, false)
) as newest
group by newest.cluster, newest.group_id, coalesce(newest.instance_id, newest.member_id), newest.is_left
