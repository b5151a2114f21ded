-- The epochs of those.
select
    epoch.group_id, epoch.incarnation, epoch.epoch, epoch.rebalance_seq, epoch.protocol, epoch.primary_cause,
    epoch.started_at, epoch.join_started_latest
from gold.epochs as epoch
join figures.longest as longest using (group_id, incarnation, rebalance_seq)
where epoch.group_id in (select unnest($group_ids))
qualify row_number() over (partition by epoch.group_id order by longest.place, epoch.epoch) <= $limit
order by epoch.group_id, longest.place, epoch.epoch
