-- How often each kind was found, with which severity, in how many groups.
select kind, severity, count(*) as findings, count(distinct group_id) as groups
from figures.findings
group by all
order by min(rank), max(lost_ms) desc, findings desc, kind
