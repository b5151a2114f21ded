-- Which members held their groups up, and for how long?
-- One row is one member, a static one over all its member ids. Not for classic groups: there all members arrive with one record.
select
    way.cluster,
    way.group_id,
    coalesce(way.instance_id, way.member_id) as member,
    max(way.client_id) as client_id,
    max(way.client_host) as client_host,
    count(*) as epochs,
    cast(sum(case when epoch.slowest_member_id = way.member_id then 1 else 0 end) as bigint) as times_last,
    max(way.latency_ms) as longest_latency_ms,
    max(way.revoke_ms) as longest_revoke_ms,
    cast(coalesce(sum(way.revoke_ms), 0) as bigint) as revoke_ms,
    max(way.waited_ms) as longest_wait_ms
from gold.convergence as way
join gold.epochs as epoch
    on epoch.cluster = way.cluster
    and epoch.group_id = way.group_id
    and epoch.incarnation = way.incarnation
    and epoch.epoch = way.epoch
where epoch.protocol <> 'classic' and way.latency_ms is not null
group by way.cluster, way.group_id, coalesce(way.instance_id, way.member_id)
