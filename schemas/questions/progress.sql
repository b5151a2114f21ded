-- What lanes of members are made of: members' ways to the latest epochs.
select
    way.group_id, way.member_id, way.instance_id, way.epoch, way.started_at, way.reached_at, way.revoke_started_at,
    way.revoked_at, way.waited_ms, way.waited_for, way.outcome, epoch.until_ms
from gold.convergence as way
join (
    select
        group_id, incarnation, epoch, protocol,
        lead(at_ms) over (partition by group_id, incarnation order by epoch) as until_ms
    from gold.epochs
    where group_id in (select unnest($group_ids))
) as epoch using (group_id, incarnation, epoch)
where epoch.protocol <> 'classic' and way.started_at is not null
    and (way.latency_ms > 0 or way.reached_at is null or way.revoke_started_at is not null or way.waited_ms > 0)
qualify row_number() over (
    partition by way.group_id order by way.incarnation desc, way.epoch desc, way.member_id
) <= $limit
order by way.group_id, way.incarnation, way.epoch, way.member_id
