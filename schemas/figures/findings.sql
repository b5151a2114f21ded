-- Findings with what each cost: all of the time of a standstill, of another what its group was not stable meanwhile.
-- `rank` is 0 for critical, 1 for warning, 2 for info. One that goes on costs the rest of time. `place` 1 is the most severe.
select
    *,
    row_number() over (
        order by rank, lost_ms desc, to_at is not null,
            unix_millis(from_at) - coalesce(unix_millis(to_at), 0), coalesce(to_at, from_at) desc,
            coalesce(group_id, ''), kind, finding_id
    ) as place
from (
    select
        finding.*,
        case finding.severity when 'critical' then 0 when 'warning' then 1 else 2 end as rank,
        case
            when is_standstill
                then coalesce(unix_millis(finding.to_at) - unix_millis(finding.from_at), 4611686018427387904 - unix_millis(finding.from_at), 0)
            else coalesce(cost.lost_ms, 0)
        end as lost_ms
    from (
        select
            *,
            kind in (
                'commits_stopped',
                'group_not_served',
                'hanging_transaction',
                'lost_partition',
                'static_subscription_ignored',
                'stuck_group',
                'two_owners'
            ) as is_standstill
        from gold.findings
    ) as finding
    left join (
        select
            finding.cluster,
            finding.finding_id,
            cast(sum(greatest(0, least(
                coalesce(unix_millis(finding.to_at), 4611686018427387904),
                coalesce(unix_millis(rebalance.ended_at), unix_millis(finding.to_at), 0)
            ) - greatest(unix_millis(finding.from_at), rebalance.began_ms))) as bigint) as lost_ms
        from gold.findings as finding
        join figures.rebalances as rebalance
            on rebalance.cluster = finding.cluster
            and rebalance.group_id = finding.group_id
            and coalesce(rebalance.ended_at, finding.from_at) >= finding.from_at
            and rebalance.began_ms <= coalesce(unix_millis(finding.to_at), 4611686018427387904)
        group by finding.cluster, finding.finding_id
    ) as cost on cost.cluster = finding.cluster and cost.finding_id = finding.finding_id
) as costed
