-- One row of sums over all groups. Times not stable have no upper bound where one rebalance has none.
select * from (
    select
        (
            select count(distinct group_id) from (
                select group_id from gold.group_states
                union all select group_id from gold.epochs
                union all select group_id from gold.rebalances
            )
        ) as groups,
        (select count(*) from gold.epochs) as epochs,
        (select count(*) from gold.epochs where completeness = 'gap') as gaps,
        (select max(greatest(at_ms, epoch_ms(converged_at))) from gold.epochs) as last_epoch_ms,
        (
            select max(greatest(from_ms, to_ms)) from (
                select at_ms as from_ms, epoch_ms(to_at) as to_ms from gold.group_states
                union all select at_ms, epoch_ms(converged_at) from gold.epochs
                union all select at_ms, epoch_ms(ended_at) from gold.rebalances
            )
        ) as last_ms,
        (select min(at_ms) from gold.epochs) as first_epoch_ms,
        (
            select min(at_ms) from (
                select at_ms from gold.epochs
                union all select at_ms from gold.rebalances
                union all select at_ms from gold.group_states
            )
        ) as first_ms,
        count(*) as rebalances,
        coalesce(sum(lasted_min_ms), 0)::bigint as not_stable_min_ms,
        case when count(lasted_max_ms) = count(lasted_min_ms) then coalesce(sum(lasted_max_ms), 0)::bigint end
            as not_stable_max_ms,
        coalesce(sum(likely_ms), 0)::bigint as not_stable_estimate_ms,
        count(*) filter (where outcome = 'open') as still_open,
        coalesce(sum(partitions_moved), 0)::bigint as partitions_moved
    from figures.rebalances
), (
    select
        if(count(*) = 0, 0, sum(unowned_partition_min_ms)::bigint) as unowned_partition_min_ms,
        case when count(unowned_partition_max_ms) = count(unowned_partition_min_ms)
            then if(count(*) = 0, 0, sum(unowned_partition_max_ms)::bigint) end as unowned_partition_max_ms,
        if(count(*) = 0, 0, sum(unowned_partition_estimate_ms)::bigint) as unowned_partition_estimate_ms
    from figures.unowned
)
