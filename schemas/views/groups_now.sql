-- What is the state of each group now?
-- One row is one group that exists at the end of the log, with those for whom it waits, its rebalances and findings so far.
with found as (
    select
        cluster,
        group_id,
        cast(sum(case when severity = 'critical' then 1 else 0 end) as bigint) as critical_findings,
        cast(sum(case when severity = 'warning' then 1 else 0 end) as bigint) as warning_findings
    from gold.findings
    where group_id is not null and to_at is null
    group by cluster, group_id
)
select
    state.cluster,
    state.group_id,
    state.protocol,
    state.group_state,
    state.from_at as since,
    coalesce(state.epoch_at_end, state.epoch) as epoch,
    coalesce(state.members_at_end, state.members) as members,
    settled.rebalancing_since,
    state.awaited,
    coalesce(state.awaited_members, 0) as awaited_members,
    coalesce(state.unconsumed, 0) as unconsumed,
    state.join_phase_since,
    coalesce(state.is_stuck, false) as is_stuck,
    coalesce(found.critical_findings, 0) as critical_findings,
    coalesce(found.warning_findings, 0) as warning_findings,
    coalesce(settled.rebalances, 0) as rebalances,
    settled.last_rebalance_at,
    settled.commonest_cause,
    coalesce(settled.not_stable_estimate_ms, 0) as not_stable_estimate_ms
from gold.group_states as state
left join figures.groups as settled on settled.cluster = state.cluster and settled.group_id = state.group_id
left join found on found.cluster = state.cluster and found.group_id = state.group_id
where coalesce(state.is_current, state.to_offset is null)
