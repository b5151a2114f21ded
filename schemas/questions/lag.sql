-- Lag and commit rate over all partitions, in at most `limit` equal pieces of each group's time.
with minutes as (
    select
        group_id,
        at_ms,
        count(*) as partitions,
        sum(lag_records_min) as lag_records,
        count(lag_records_max) = count(*) and sum(lag_records_max) = sum(lag_records_min) as is_exact,
        max(lag_max_ms) as waiting_ms,
        sum(committed_per_second) as per_second
    from gold.progress
    where group_id in (select unnest($group_ids))
    group by group_id, at_ms
),
spans as (
    select group_id, ceil((max(at_ms) - min(at_ms) + 60000) / 60000.0 / $limit)::bigint * 60000 as size
    from minutes
    group by group_id
)
select
    group_id,
    at_ms // size * size as from_ms,
    size as lasted_ms,
    max(partitions) as partitions,
    max(lag_records)::bigint as lag_records,
    bool_and(is_exact) as is_exact,
    max(waiting_ms) as waiting_ms,
    avg(per_second) as per_second
from minutes
join spans using (group_id)
group by group_id, size, at_ms // size
order by group_id, from_ms
