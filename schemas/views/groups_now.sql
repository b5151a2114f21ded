-- What is the state of each group now?
-- One row is one group that exists at the end of the log, with those for whom it waits, its rebalances and findings so far.
with settled as (
    select
        cluster,
        group_id,
        count(*) as rebalances,
        max(coalesce(started_at, ended_at)) as last_rebalance_at,
        min(case when outcome = 'open' then started_at end) as rebalancing_since,
        cast(
            coalesce(
                sum(
                    coalesce(
                        duration_estimate_ms,
                        duration_min_ms,
                        greatest(0, unix_millis(open_until) - unix_millis(started_at))
                    )
                ),
                0
            ) as bigint
        ) as not_stable_estimate_ms
    from gold.rebalances
    group by cluster, group_id
),
caused as (
    select
        cluster,
        group_id,
        primary_cause,
        row_number() over (partition by cluster, group_id order by count(*) desc, primary_cause) as place
    from gold.rebalances
    where primary_cause is not null
    group by cluster, group_id, primary_cause
),
found as (
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
    caused.primary_cause as commonest_cause,
    coalesce(settled.not_stable_estimate_ms, 0) as not_stable_estimate_ms
from gold.group_states as state
left join settled on settled.cluster = state.cluster and settled.group_id = state.group_id
left join caused on caused.cluster = state.cluster and caused.group_id = state.group_id and caused.place = 1
left join found on found.cluster = state.cluster and found.group_id = state.group_id
where coalesce(state.is_current, state.to_offset is null)
