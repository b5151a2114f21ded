-- Which rebalances were there, why, and how long did each take?
-- One row is one rebalance, with the sentence about what began it and the member that held it up most.
select
    rebalance.cluster,
    rebalance.group_id,
    rebalance.incarnation,
    rebalance.rebalance_seq,
    rebalance.protocol,
    coalesce(rebalance.started_at, rebalance.ended_at) as began_at,
    rebalance.ended_at,
    rebalance.open_until,
    rebalance.duration_min_ms,
    rebalance.duration_max_ms,
    rebalance.duration_estimate_ms,
    rebalance.primary_cause,
    rebalance.primary_certainty,
    cause.detail as why,
    rebalance.epochs,
    rebalance.members_joined,
    rebalance.members_left,
    rebalance.partitions_moved,
    rebalance.unowned_partition_min_ms,
    rebalance.unowned_partition_max_ms,
    rebalance.unowned_partition_estimate_ms,
    rebalance.slowest_member_id,
    slowest.instance_id as slowest_instance_id,
    slowest.client_id as slowest_client_id,
    slowest.client_host as slowest_client_host,
    rebalance.outcome,
    rebalance.completeness
from gold.rebalances as rebalance
left join gold.rebalance_causes as cause
    on cause.cluster = rebalance.cluster
    and cause.group_id = rebalance.group_id
    and cause.incarnation = rebalance.incarnation
    and cause.epoch = rebalance.first_epoch
    and cause.cause_seq = 0
left join gold.members as slowest
    on slowest.cluster = rebalance.cluster
    and slowest.group_id = rebalance.group_id
    and slowest.incarnation = rebalance.incarnation
    and slowest.member_id = rebalance.slowest_member_id
