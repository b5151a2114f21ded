-- Which members held their groups up, and for how long?
-- One row is one member, a static one over all its member ids. held_up_ms is the time that its group waited for it during rebalances, as everywhere, up to the end of the log in one that goes on. A hold lasts from being asked to give up partitions until it has, or until the next epoch begins, then in whole seconds.
-- Of classic groups only held_up_ms and rebalances_held_up are known: there all members arrive with one record.
select
    member.cluster,
    member.group_id,
    coalesce(member.instance_id, member.member_id) as member,
    max(member.client_id) as client_id,
    max(member.client_host) as client_host,
    cast(coalesce(sum(way.epochs), 0) as bigint) as epochs,
    cast(coalesce(sum(held.held_up_ms), 0) as bigint) as held_up_ms,
    cast(coalesce(sum(held.rebalances), 0) as bigint) as rebalances_held_up,
    cast(coalesce(sum(way.times_not_released), 0) as bigint) as times_not_released,
    max(way.longest_hold_ms) as longest_hold_ms,
    max(way.longest_latency_ms) as longest_latency_ms,
    max(way.longest_revoke_ms) as longest_revoke_ms,
    cast(coalesce(sum(way.revoke_ms), 0) as bigint) as revoke_ms,
    max(way.longest_wait_ms) as longest_wait_ms
from gold.members as member
left join (
    select
        cluster,
        group_id,
        incarnation,
        member_id,
        count(*) as rebalances,
        sum(held_up_ms) as held_up_ms
    from figures.hold_ups
    group by cluster, group_id, incarnation, member_id
) as held
    on held.cluster = member.cluster
    and held.group_id = member.group_id
    and held.incarnation = member.incarnation
    and held.member_id = member.member_id
left join (
    select
        step.cluster,
        step.group_id,
        step.incarnation,
        step.member_id,
        count(*) as epochs,
        sum(step.is_kept) as times_not_released,
        max(
            coalesce(
                step.revoke_ms,
                case
                    when step.is_kept = 1
                        then
                            cast(
                                extract(day from step.until_next) * 86400
                                + extract(hour from step.until_next) * 3600
                                + extract(minute from step.until_next) * 60
                                + floor(extract(second from step.until_next)) as bigint
                            )
                            * 1000
                end
            )
        ) as longest_hold_ms,
        max(step.latency_ms) as longest_latency_ms,
        max(step.revoke_ms) as longest_revoke_ms,
        sum(step.revoke_ms) as revoke_ms,
        max(step.waited_ms) as longest_wait_ms
    from (
        select
            progress.*,
            epoch.next_at - progress.revoke_started_at as until_next,
            case
                when progress.revoke_started_at is not null and progress.revoked_at is null then 1 else 0
            end as is_kept
        from gold.convergence as progress
        join (
            select
                cluster,
                group_id,
                incarnation,
                epoch,
                protocol,
                lead(coalesce(started_at, converged_at)) over (
                    partition by cluster, group_id, incarnation order by epoch
                ) as next_at
            from gold.epochs
        ) as epoch
            on epoch.cluster = progress.cluster
            and epoch.group_id = progress.group_id
            and epoch.incarnation = progress.incarnation
            and epoch.epoch = progress.epoch
        where epoch.protocol <> 'classic'
    ) as step
    where step.latency_ms is not null or step.is_kept = 1
    group by step.cluster, step.group_id, step.incarnation, step.member_id
) as way
    on way.cluster = member.cluster
    and way.group_id = member.group_id
    and way.incarnation = member.incarnation
    and way.member_id = member.member_id
where way.member_id is not null or held.member_id is not null
group by member.cluster, member.group_id, coalesce(member.instance_id, member.member_id)
