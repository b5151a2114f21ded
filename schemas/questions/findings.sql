-- The most severe first: at most `limit` of each kind over all groups, or of each of the groups named.
select
    finding_id, kind, severity, group_id, incarnation, log_partition, from_at, to_at, member_ids, detail, advice, facts,
    lost_ms
from figures.findings
where $group_ids is null or list_contains($group_ids, group_id)
qualify row_number() over (
    partition by case when $group_ids is null then severity || ' ' || kind else group_id end
    order by place
) <= $limit
order by place
