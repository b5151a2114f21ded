-- Who held rebalances up, and for how long: in one that goes on until the end of the log.
-- Time before a rebalance does not count: the end of a member that was silent until then began it. A static member is one `who`.
with held as (
    select
        one.cluster,
        one.group_id,
        one.incarnation,
        one.rebalance_seq,
        one.open_until,
        one.began_ms,
        element_at(one.held_up_member_ids, one.place) as member_id,
        element_at(one.held_up_by, one.place) as name,
        element_at(one.held_up_why, one.place) as why,
        element_at(one.held_up_ms, one.place) as ms,
        element_at(one.held_up_from, one.place) as since
    from (
        select
            *,
            explode(sequence(1, array_size(held_up_by))) as place
        from figures.rebalances
        where array_size(held_up_by) > 0
    ) as one
),
named as (
    select
        cluster,
        group_id,
        member_id,
        max(instance_id) as instance_id
    from gold.members
    group by cluster, group_id, member_id
)
select
    held.*,
    coalesce(named.instance_id, held.member_id, held.name) as who,
    case
        when held.since is null then 0
        when held.open_until is not null then greatest(0, unix_millis(held.open_until) - unix_millis(held.since))
        else greatest(0, coalesce(held.ms, 0) - greatest(0, held.began_ms - unix_millis(held.since)))
    end as held_up_ms
from held
left join named
    on named.cluster = held.cluster and named.group_id = held.group_id and named.member_id = held.member_id
