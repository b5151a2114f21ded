-- Which members held their groups up, and for how long?
-- One row is one member, a static one over all its member ids. A hold lasts from being told to give up partitions until it has, or until the next epoch begins, then in whole seconds.
-- Not for classic groups: there all members arrive with one record.
select
    way.cluster,
    way.group_id,
    coalesce(way.instance_id, way.member_id) as member,
    max(way.client_id) as client_id,
    max(way.client_host) as client_host,
    count(*) as epochs,
    cast(sum(case when way.slowest_member_id = way.member_id then 1 else 0 end) as bigint) as times_last,
    cast(sum(way.is_kept) as bigint) as times_not_released,
    max(
        coalesce(
            way.revoke_ms,
            case
                when way.is_kept = 1
                    then
                        cast(
                            extract(day from way.until_next) * 86400
                            + extract(hour from way.until_next) * 3600
                            + extract(minute from way.until_next) * 60
                            + floor(extract(second from way.until_next)) as bigint
                        )
                        * 1000
            end
        )
    ) as longest_hold_ms,
    max(way.latency_ms) as longest_latency_ms,
    max(way.revoke_ms) as longest_revoke_ms,
    cast(coalesce(sum(way.revoke_ms), 0) as bigint) as revoke_ms,
    max(way.waited_ms) as longest_wait_ms
from (
    select
        member.*,
        epoch.slowest_member_id,
        epoch.next_at - member.revoke_started_at as until_next,
        case when member.revoke_started_at is not null and member.revoked_at is null then 1 else 0 end as is_kept
    from gold.convergence as member
    join (
        select
            cluster,
            group_id,
            incarnation,
            epoch,
            protocol,
            slowest_member_id,
            lead(coalesce(started_at, converged_at)) over (
                partition by cluster, group_id, incarnation order by epoch
            ) as next_at
        from gold.epochs
    ) as epoch
        on epoch.cluster = member.cluster
        and epoch.group_id = member.group_id
        and epoch.incarnation = member.incarnation
        and epoch.epoch = member.epoch
    where epoch.protocol <> 'classic'
) as way
where way.latency_ms is not null or way.is_kept = 1
group by way.cluster, way.group_id, coalesce(way.instance_id, way.member_id)
