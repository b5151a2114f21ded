-- The causes of these epochs.
select
    cause.group_id, cause.incarnation, cause.epoch, cause.cause_seq, cause.cause, cause.certainty, cause.role,
    cause.member_id, cause.instance_id, cause.alternatives, cause.evidence
from gold.rebalance_causes as cause
join gold.epochs as epoch using (group_id, incarnation, epoch)
join figures.longest as longest using (group_id, incarnation, rebalance_seq)
where cause.group_id in (select unnest($group_ids))
qualify row_number() over (
    partition by cause.group_id order by longest.place, cause.epoch, cause.cause_seq
) <= $limit
order by cause.group_id, longest.place, cause.epoch, cause.cause_seq
