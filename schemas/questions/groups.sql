-- A row per group, those that need attention most first.
with longest as (
    select
        group_id,
        arg_max(
            struct_pack(min_ms := lasted_min_ms, max_ms := lasted_max_ms, estimate_ms := lasted_estimate_ms),
            (not is_creation, coalesce(likely_ms, 0), coalesce(lasted_min_ms, 0))
        ) as longest
    from figures.rebalances
    group by group_id
),
found as (
    select
        group_id,
        count(*) filter (where severity = 'critical') as critical,
        count(*) filter (where severity = 'warning') as warning,
        count(*) filter (where severity = 'info') as info
    from gold.findings
    where group_id is not null
    group by group_id
),
culprits as (
    select group_id, struct_pack(member_id, name, times := rebalances, ms := lasted_ms) as culprit
    from figures.culprits
    where member_id is not null
    qualify row_number() over (partition by group_id order by place) = 1
),
stood as (
    select group_id, arg_max(protocol, (incarnation, from_offset)) as protocol from gold.group_states group by group_id
),
present as (
    select group_id, bool_or(is_stuck) as waits
    from gold.all_states
    where to_offset is null and to_at is null
    group by group_id
)
select
    group_id,
    coalesce(settled.rebalances, 0) as rebalances,
    coalesce(unowned.epochs, 0) as epochs,
    coalesce(not_stable_min_ms, 0) as not_stable_min_ms,
    if(settled.rebalances is null, 0, not_stable_max_ms) as not_stable_max_ms,
    coalesce(not_stable_estimate_ms, 0) as not_stable_estimate_ms,
    if(unowned.epochs is null, 0, unowned_partition_min_ms) as unowned_partition_min_ms,
    if(unowned.epochs is null, 0, unowned_partition_max_ms) as unowned_partition_max_ms,
    if(unowned.epochs is null, 0, unowned_partition_estimate_ms) as unowned_partition_estimate_ms,
    coalesce(still_open, 0) as still_open,
    epoch_ms(rebalancing_since) as open_since_ms,
    still_open > 0 or coalesce(waits, false) as is_stuck,
    longest.min_ms as longest_min_ms,
    longest.max_ms as longest_max_ms,
    longest.estimate_ms as longest_estimate_ms,
    culprit,
    commonest_cause,
    coalesce(critical, 0) as critical,
    coalesce(warning, 0) as warning,
    coalesce(info, 0) as info,
    concat(stood.protocol, ' (' || unowned.protocol_type || ')') as protocol
from stood
full join figures.groups as settled using (group_id)
full join figures.unowned as unowned using (group_id)
full join found using (group_id)
left join longest using (group_id)
left join culprits using (group_id)
left join present using (group_id)
order by is_stuck desc, critical desc, not_stable_estimate_ms desc, warning desc, epochs desc, group_id
