"""What the report asks about single groups, in SQL over the views of `ReportRows`."""

from typing import Final

LONGEST_RANK: Final = "(coalesce(likely_ms, 0), coalesce(lasted_min_ms, 0))"
"""As `Bounds.rank`."""
CULPRIT_ORDER: Final = "lasted_ms desc, rebalances desc, who"
"""Of rows of `figures.culprits`, as `figures.groups.culprits` has them."""
LONGEST_MAX: Final = 10
"""Rebalances of a group that are shown because they took longest, whenever they were."""

REBALANCE: Final = """group_id, incarnation, rebalance_seq, protocol, protocol_type, began_ms,
    epoch_ms(started_at) as started_at, epoch_ms(ended_at) as ended_at, epoch_ms(open_until) as open_until,
    epoch_ms(started_at_earliest) as started_at_earliest, duration_ms, duration_min_ms, duration_max_ms,
    duration_estimate_ms, first_epoch, last_epoch, members_left, completeness, outcome, primary_cause,
    primary_certainty, causes, partitions_moved, unowned_partition_ms, unowned_partition_min_ms,
    unowned_partition_max_ms, unowned_partition_estimate_ms, held_up_by, held_up_member_ids, held_up_ms,
    held_up_why, held_up_certainty, held_up_certainties, duration_unknown_ms,
    list_transform(duration_parts, lambda part: struct_pack(
        member_id := part.member_id, why := part.why, ms := part.ms, certainty := part.certainty
    )) as duration_parts,
    list_transform(held_up_from, lambda moment: epoch_ms(moment)) as held_up_from,
    list_transform(held_up_to, lambda moment: epoch_ms(moment)) as held_up_to"""
"""The text and the page describe a rebalance by these columns."""

COSTLIEST: Final = f"""
select {REBALANCE}, (
    select c.member_id from rebalance_causes c
    where c.group_id = rebalances.group_id and c.incarnation = rebalances.incarnation
        and c.epoch = rebalances.first_epoch and c.cause_seq = 0
) as trigger_member_id
from rebalances where began_ms is not null
order by ended_at is not null, {LONGEST_RANK} desc, began_ms, group_id, incarnation, rebalance_seq limit $limit
"""  # noqa: S608 - our own columns

OF_GROUPS: Final = {
    "epochs": """
select e.group_id, e.incarnation, e.epoch, e.protocol, e.at_ms, e.convergence_ms, e.not_stable_min_ms,
    e.not_stable_max_ms, e.not_stable_estimate_ms, e.outcome, e.members,
    epoch_ms(e.join_started_earliest) as join_started_earliest, epoch_ms(e.join_started_latest) as join_started_latest,
    e.members_joined, e.members_left, e.partitions_moved, e.completeness, e.primary_cause, e.primary_certainty,
    epoch_ms(e.converged_at) as converged_at, c.detail, c.facts, c.member_id,
    (
        select string_agg(distinct b.cause, ' ' order by b.cause) from rebalance_causes b
        where b.group_id = e.group_id and b.incarnation = e.incarnation and b.epoch = e.epoch and b.role = 'meanwhile'
    ) as meanwhile
from epochs e left join rebalance_causes c
    on c.group_id = e.group_id and c.incarnation = e.incarnation and c.epoch = e.epoch and c.cause_seq = 0
where e.group_id in (select unnest($group_ids))
qualify row_number() over (partition by e.group_id order by e.incarnation desc, e.epoch desc) <= $limit
order by e.group_id, e.incarnation, e.epoch
""",
    "states": """
select group_id, incarnation, group_state, at_ms as from_at, epoch_ms(to_at) as to_at, epoch
from group_states where group_id in (select unnest($group_ids))
qualify row_number() over (partition by group_id order by incarnation desc, from_offset desc) <= $limit
order by group_id, incarnation, from_offset
""",
    "causes": """
select group_id, primary_cause as cause, primary_certainty as certainty, count(*) as epochs
from epochs where group_id in (select unnest($group_ids)) and primary_cause is not null
group by group_id, primary_cause, primary_certainty
qualify row_number() over (partition by group_id order by count(*) desc, cause, certainty) <= $limit
order by group_id, epochs desc, cause, certainty
""",
    "held_up": f"""
select group_id, who, member_id, name, rebalances, lasted_ms, longest_ms, why
from culprits where group_id in (select unnest($group_ids))
qualify row_number() over (partition by group_id order by {CULPRIT_ORDER}) <= $limit
order by group_id, {CULPRIT_ORDER}
""",  # noqa: S608 - our own columns
    # What lanes of members and partitions are made of: the latest stretches, and members' ways to epochs.
    "owned": """
select group_id, incarnation, member_id, instance_id, topic, topic_id, topic_partition, at_ms as from_at,
    epoch_ms(to_at) as to_at, unowned_before_ms, previous_member_id, how_ended
from ownership where group_id in (select unnest($group_ids)) and at_ms is not null
qualify row_number() over (partition by group_id
    order by incarnation desc, from_offset desc, topic, topic_id, topic_partition) <= $limit
order by group_id, incarnation, from_offset, topic, topic_id, topic_partition
""",
    "progress": """
select v.group_id, v.member_id, v.instance_id, v.epoch, epoch_ms(v.started_at) as started_at,
    epoch_ms(v.reached_at) as reached_at, epoch_ms(v.revoke_started_at) as revoke_started_at,
    epoch_ms(v.revoked_at) as revoked_at, v.waited_ms, v.waited_for, v.outcome, e.until_ms
from convergence v join (
    select group_id, incarnation, epoch, protocol,
        lead(at_ms) over (partition by group_id, incarnation order by epoch) as until_ms
    from epochs where group_id in (select unnest($group_ids))
) e using (group_id, incarnation, epoch)
where e.protocol <> 'classic' and v.started_at is not null
    and (v.latency_ms > 0 or v.reached_at is null or v.revoke_started_at is not null or v.waited_ms > 0)
qualify row_number() over (partition by v.group_id order by v.incarnation desc, v.epoch desc, v.member_id) <= $limit
order by v.group_id, v.incarnation, v.epoch, v.member_id
""",
    # Lag and commit rate over all partitions, in at most so many equal pieces of the group's time.
    "lag": """
with minutes as (
    select group_id, at_ms, count(*) as partitions, sum(lag_records_min) as lag_records,
        count(lag_records_max) = count(*) and sum(lag_records_max) = sum(lag_records_min) as is_exact,
        max(lag_max_ms) as waiting_ms, sum(committed_per_second) as per_second
    from progress where group_id in (select unnest($group_ids)) group by group_id, at_ms
), spans as (
    select group_id, ceil((max(at_ms) - min(at_ms) + 60000) / 60000.0 / $limit)::bigint * 60000 as size
    from minutes group by group_id
)
select group_id, at_ms // size * size as from_ms, size as lasted_ms,
    max(partitions) as partitions, max(lag_records)::bigint as lag_records, bool_and(is_exact) as is_exact,
    max(waiting_ms) as waiting_ms, avg(per_second) as per_second
from minutes join spans using (group_id) group by group_id, size, at_ms // size
order by group_id, from_ms
""",
    "bars": """
select group_id, incarnation, rebalance_seq, began_ms, protocol, epoch_ms(ended_at) as ended_at,
    duration_min_ms, duration_max_ms, duration_estimate_ms,
    primary_cause, primary_certainty, first_epoch, last_epoch, outcome, held_up_by[1:1] as held_up_by,
    held_up_member_ids[1:1] as held_up_member_ids, held_up_ms[1:1] as held_up_ms, held_up_why[1:1] as held_up_why,
    list_transform(held_up_from[1:1], lambda moment: epoch_ms(moment)) as held_up_from,
    list_transform(held_up_to[1:1], lambda moment: epoch_ms(moment)) as held_up_to, held_up_certainty,
    held_up_certainties[1:1] as held_up_certainties
from rebalances where group_id in (select unnest($group_ids)) and began_ms is not null
qualify row_number() over (partition by group_id order by at_ms desc, incarnation desc, rebalance_seq desc) <= $limit
order by group_id, began_ms, incarnation, rebalance_seq
""",
    # The latest ones and the longest ones.
    "rebalances": f"""
select {REBALANCE} from rebalances where group_id in (select unnest($group_ids)) and began_ms is not null
qualify row_number() over (partition by group_id order by at_ms desc, incarnation desc, rebalance_seq desc) <= $limit
    or row_number() over (
        partition by group_id order by ended_at is not null, {LONGEST_RANK} desc, rebalance_seq
    ) <= {LONGEST_MAX}
order by group_id, began_ms, incarnation, rebalance_seq
""",  # noqa: S608 - our own columns
    "longest": f"""
select {REBALANCE}, counted, has_creation from longest where group_id in (select unnest($group_ids))
qualify row_number() over (partition by group_id order by place) <= $limit
order by group_id, place
""",  # noqa: S608 - our own columns
    "longest_epochs": """
select e.group_id, e.incarnation, e.epoch, e.rebalance_seq, e.protocol, e.primary_cause,
    epoch_ms(e.started_at) as started_at, epoch_ms(e.join_started_latest) as join_started_latest
from epochs e join longest l using (group_id, incarnation, rebalance_seq)
where e.group_id in (select unnest($group_ids))
qualify row_number() over (partition by e.group_id order by l.place, e.epoch) <= $limit
order by e.group_id, l.place, e.epoch
""",
    "longest_causes": """
select c.group_id, c.incarnation, c.epoch, c.cause_seq, c.cause, c.certainty, c.role, c.member_id,
    c.instance_id, c.alternatives, [struct_pack(at := epoch_ms(item.at)) for item in c.evidence] as evidence
from rebalance_causes c join epochs e using (group_id, incarnation, epoch)
    join longest l using (group_id, incarnation, rebalance_seq)
where c.group_id in (select unnest($group_ids))
qualify row_number() over (partition by c.group_id order by l.place, c.epoch, c.cause_seq) <= $limit
order by c.group_id, l.place, c.epoch, c.cause_seq
""",
    # In the tables' own order, so that a member's latest life names it.
    "members": """
select group_id, member_id, instance_id, client_id, client_host from members
where group_id in (select unnest($group_ids))
qualify row_number() over (partition by group_id order by incarnation desc, last_seen_at desc, member_id) <= $limit
order by group_id, last_seen_at, member_id
""",
}
"""Rows of a group -> at most `limit` rows for each of `group_ids`."""
