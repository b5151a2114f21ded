-- The latest epochs of each group, with the cause that comes first and those that happened meanwhile.
select
    epoch.group_id, epoch.incarnation, epoch.epoch, epoch.protocol, epoch.at_ms, epoch.convergence_ms,
    epoch.not_stable_min_ms, epoch.not_stable_max_ms, epoch.not_stable_estimate_ms, epoch.outcome, epoch.members,
    epoch.join_started_earliest, epoch.join_started_latest, epoch.members_joined, epoch.members_left,
    epoch.partitions_moved, epoch.completeness, epoch.primary_cause, epoch.primary_certainty, epoch.converged_at,
    cause.detail, cause.facts, cause.member_id,
    (
        select string_agg(distinct beside.cause, ' ' order by beside.cause)
        from gold.rebalance_causes as beside
        where beside.group_id = epoch.group_id and beside.incarnation = epoch.incarnation
            and beside.epoch = epoch.epoch and beside.role = 'meanwhile'
    ) as meanwhile
from gold.epochs as epoch
left join gold.rebalance_causes as cause
    on cause.group_id = epoch.group_id and cause.incarnation = epoch.incarnation and cause.epoch = epoch.epoch
    and cause.cause_seq = 0
where epoch.group_id in (select unnest($group_ids))
qualify row_number() over (partition by epoch.group_id order by epoch.incarnation desc, epoch.epoch desc) <= $limit
order by epoch.group_id, epoch.incarnation, epoch.epoch
