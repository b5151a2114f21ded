-- What needs attention now?
-- One row is one finding that goes on at the end of the log; gravity is 1 for critical, 2 for warning, 3 for info.
select
    cluster,
    group_id,
    kind,
    severity,
    case severity when 'critical' then 1 when 'warning' then 2 else 3 end as gravity,
    from_at,
    detail,
    advice,
    finding_id
from gold.findings
where to_at is null
