-- Time without owner of a group, summed over partitions and epochs; null where its members own none.
-- It has no upper bound where an epoch has none, or where members may have kept partitions while they were dead or away.
with kept_unused as (
    select distinct cluster, group_id, true as is_kept from gold.members
    where
        protocol <> 'classic'
        and (
            next_member_id is not null
            or left_how in ('member_departed', 'member_session_expired', 'static_member_expired')
        )
),
measured as (
    select
        cluster,
        group_id,
        protocol_type,
        protocol <> 'classic' or coalesce(protocol_type, '') in ('', 'consumer') as owns_partitions,
        coalesce(unowned_partition_min_ms, 0) as least_ms,
        unowned_partition_max_ms as most_ms,
        coalesce(unowned_partition_estimate_ms, unowned_partition_min_ms, 0) as likely_ms
    from gold.epochs
),
sums as (
    select
        cluster,
        group_id,
        count(*) as epochs,
        max(case when not owns_partitions then protocol_type end) as protocol_type,
        max(case when owns_partitions then 1 else 0 end) = 1 as owns_partitions,
        cast(sum(case when owns_partitions then least_ms end) as bigint) as least_ms,
        case
            when sum(case when owns_partitions and most_ms is null then 1 else 0 end) = 0
                then cast(sum(case when owns_partitions then most_ms end) as bigint)
        end as most_ms,
        cast(sum(case when owns_partitions then likely_ms end) as bigint) as likely_ms
    from measured
    group by cluster, group_id
)
select
    sums.cluster,
    sums.group_id,
    sums.epochs,
    sums.protocol_type,
    sums.owns_partitions,
    sums.least_ms as unowned_partition_min_ms,
    case when kept_unused.is_kept is null then sums.most_ms end as unowned_partition_max_ms,
    sums.likely_ms as unowned_partition_estimate_ms
from sums
left join kept_unused on kept_unused.cluster = sums.cluster and kept_unused.group_id = sums.group_id
