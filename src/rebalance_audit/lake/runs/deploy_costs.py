"""gold.deploys: what rollouts cost the groups of a cluster, in place of earlier rows about the same rollouts."""

from collections.abc import Sequence
from datetime import datetime

from rebalance_audit.audit.deploys.rollout import Rollout
from rebalance_audit.lake.runs.replaced_rows import AnswerRow, replace_rows
from rebalance_audit.lake.storage.table_writer import Written
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.moments import utc_datetime
from rebalance_audit.tables.schemas import TableName


def write_deploy_costs(
    lake: Lake, cluster: str, deploys: Sequence[Rollout], rows: Sequence[AnswerRow], now: datetime
) -> Written:
    """Write all rows about these rollouts, whose moments are epoch milliseconds; raises as `replace_rows`."""
    keys = {deploy.key for deploy in deploys}
    return replace_rows(
        lake,
        cluster,
        TableName.DEPLOYS,
        [_with_moments(row) for row in rows],
        lambda row: (row["deploy_id"], row["started_at"]) in keys,
        now,
    )


def _with_moments(row: AnswerRow) -> AnswerRow:
    evidence = [
        {**item, "at": utc_datetime(item["at"]), "pod_at": utc_datetime(item["pod_at"])}
        for item in row["evidence"]
    ]
    return {**row, "evidence": evidence}
