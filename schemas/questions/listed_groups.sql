-- Groups that exist, those that need attention most first.
select *
from views.groups_now
order by rebalancing_since is not null or is_stuck desc, critical_findings desc, warning_findings desc,
    not_stable_estimate_ms desc, cluster, group_id
