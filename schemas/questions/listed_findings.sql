-- Findings of these kinds, the most severe first.
select cluster, group_id, kind, severity, from_at, to_at, detail, advice, member_ids, topics, finding_id
from figures.findings
where ($group is null or group_id = $group) and ($cluster is null or cluster = $cluster)
    and ($kind is null or kind = $kind) and ($severity is null or severity = $severity)
    and (not $open_only or to_at is null)
order by place
