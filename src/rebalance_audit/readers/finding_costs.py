"""The order of findings in SQL, for DuckDB: as `figures.severity_order` orders rows."""

from typing import Final

from rebalance_audit.audit.findings.lost_time import STANDSTILLS
from rebalance_audit.bounds import WORTH_NAMING_MS

LAST_MS: Final = 1 << 62
"""After any moment that a timestamp holds."""
FIRST_MS: Final = -LAST_MS
"""Before any moment that a timestamp holds."""

RANK: Final = "case severity when 'critical' then 0 when 'warning' then 1 else 2 end"

BEGAN_MS: Final = """coalesce(epoch_ms(ended_at) - coalesce(duration_estimate_ms, duration_ms),
        epoch_ms(started_at), epoch_ms(ended_at))"""
"""When a rebalance began, in epoch milliseconds, by the best estimate, or at the latest."""

SO_FAR_MS: Final = "greatest(0, epoch_ms(open_until) - epoch_ms(started_at))"
"""How long a rebalance that goes on has lasted when the log ends; not asked of one that has ended."""


def rank_sql(least: str, estimate: str) -> str:
    """`Bounds.rank` over two columns; (0, 0) for a rebalance that goes on."""
    return f"(if({least} >= {WORTH_NAMING_MS}, {least}, 0), coalesce({estimate}, {least}, 0))"


_STANDSTILLS: Final = ", ".join(f"'{kind}'" for kind in sorted(STANDSTILLS))

COSTS: Final = f"""
select findings.cluster, findings.finding_id, case when findings.kind in ({_STANDSTILLS})
    then coalesce(epoch_ms(any_value(findings.to_at)), {LAST_MS}) - epoch_ms(any_value(findings.from_at))
    else coalesce(sum(greatest(0, least(
        coalesce(epoch_ms(findings.to_at), {LAST_MS}),
        coalesce(epoch_ms(rebalances.ended_at), epoch_ms(findings.to_at), 0)
    ) - greatest(epoch_ms(findings.from_at), rebalances.began_ms))) filter (where rebalances.began_ms is not null), 0)
    end::bigint as lost_ms
from findings left join rebalances on rebalances.cluster = findings.cluster and rebalances.group_id = findings.group_id
    and coalesce(rebalances.ended_at, findings.from_at) >= findings.from_at
    and rebalances.began_ms <= coalesce(epoch_ms(findings.to_at), {LAST_MS})
group by findings.cluster, findings.finding_id, findings.kind
"""  # noqa: S608 - our own names
"""What each finding cost, as `figures.severity_order` has it; `findings` and `rebalances` are rows of gold, the
latter with `began_ms`."""

MOST_SEVERE_FIRST: Final = """rank, coalesce(lost_ms, 0) desc, findings.to_at is not null,
    epoch_ms(findings.from_at) - coalesce(epoch_ms(findings.to_at), 0),
    coalesce(findings.to_at, findings.from_at) desc, coalesce(group_id, ''), kind, finding_id"""
"""Order of `findings` with their costs and `rank`, as `figures.severity_order` has it."""
