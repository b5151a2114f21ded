-- Rebalances that go on first, then the longest, by the estimate, then by what is certain.
-- A client id that several members share is followed by the end of the member id, as in `report.names`.
select
    worst.cluster, worst.group_id, worst.protocol, worst.first_epoch, worst.last_epoch,
    strftime(make_timestamp(began_ms * 1000), '%Y-%m-%dT%H:%M:%S.%gZ') as started_at,
    ended_at, outcome, primary_cause as cause, primary_certainty as certainty,
    duration_min_ms, duration_max_ms, duration_estimate_ms,
    likely_ms as lasted_ms,
    unowned_partition_estimate_ms, partitions_moved,
    held_up_by[1] || coalesce((
        select ' …' || right(worst.held_up_member_ids[1], 4)
        from gold.members as member
        where member.cluster = worst.cluster and member.group_id = worst.group_id
            and member.client_id = worst.held_up_by[1] and member.instance_id is null
        having count(distinct member.member_id) > 1 and bool_or(member.member_id = worst.held_up_member_ids[1])
    ), '') as held_up_by,
    held_up_why[1] as held_up_why, held_up_certainty, completeness
from figures.rebalances as worst
where ($group is null or worst.group_id = $group) and ($cluster is null or worst.cluster = $cluster)
    and began_ms < $to_ms and (ended_at is null or epoch_ms(ended_at) >= $from_ms)
order by ended_at is not null, lasted_ms desc, lasted_min_ms desc, began_ms, worst.cluster, worst.group_id,
    worst.incarnation
limit $most
