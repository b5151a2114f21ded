"""What the DAGs have in common: owner, retries, time limits, the tasks after an audit."""

from datetime import datetime, timedelta, timezone
from typing import Any

from airflow.sdk import Metadata, get_current_context, task

from rebalance_audit_airflow import arguments
from rebalance_audit_airflow.assets import ASSETS, event_of
from rebalance_audit_airflow.job import RebalanceAuditJob
from rebalance_audit_airflow.window import window_of

TAGS = ["rebalance-audit", "kafka"]
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
"""No run is scheduled for a time before this; since catchup is off, any moment in the past will do."""

DEFAULT_ARGS: dict[str, Any] = {
    "owner": "rebalance-audit",
    # Every job can be killed at any point and repeated.
    "retries": 2,
    "retry_delay": timedelta(minutes=2),
    "execution_timeout": timedelta(hours=2),
}


@task(outlets=list(ASSETS.values()), retries=2)
def publish(audited: dict[str, Any], checked: dict[str, Any]) -> Any:
    """Publish that the gold tables are audited and checked: one event for each, with window, counts and versions."""
    window = window_of(get_current_context())
    for table, asset in ASSETS.items():
        yield Metadata(asset, event_of(table, window, audited, checked))


def check_and_publish(ingest: RebalanceAuditJob, audit: RebalanceAuditJob) -> None:
    """Chain the two, and after them the check of what was audited, and the publication of what was checked."""
    check = RebalanceAuditJob(
        task_id="check",
        job="check",
        arguments=arguments.check,
        doc_md="The rows of the window against the checks of their tables.",
    )
    ingest >> audit >> check >> publish(audited=audit.output, checked=check.output)  # type: ignore[arg-type]
