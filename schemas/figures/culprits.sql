-- For whom a group waited, in how many rebalances and for how long: members, a static one over all its ids, or the coordinator.
-- `place` 1 is the one of most `lasted_ms`, then of most `rebalances`, then the first by `who`. `member_id` is the latest id.
select
    *,
    row_number() over (partition by cluster, group_id order by lasted_ms desc, rebalances desc, who) as place
from (
    select
        cluster,
        group_id,
        who,
        max_by(member_id, (incarnation, rebalance_seq)) as member_id,
        any_value(name) as name,
        count(*) as rebalances,
        cast(sum(held_up_ms) as bigint) as lasted_ms,
        max(held_up_ms) as longest_ms,
        string_agg(distinct why, ' ' order by why) as why
    from figures.hold_ups
    group by cluster, group_id, who
) as waited
