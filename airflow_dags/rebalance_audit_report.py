"""# A page about the groups

Triggered by `gold.rebalances`: whenever an hour or a backfill is published, the page of its lake and cluster is written
again. It shows the days up to the end of the window in the event. Several events make one page per lake and cluster;
one about a lake that the site does not have makes none.

A manual run shows the time from `from` to `to`, or everything. Params: `days`, and `cluster`, which chooses one of the
site's.
"""

import sys
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, get_current_context, task

# The folder of a DAG bundle is on the path; that of a plain DagBag is not.
if str(Path(__file__).parent) not in sys.path:
    sys.path.append(str(Path(__file__).parent))

from rebalance_audit_airflow import arguments
from rebalance_audit_airflow.assets import ASSETS
from rebalance_audit_airflow.dags import (
    DEFAULT_ARGS,
    START,
    TAGS,
)
from rebalance_audit_airflow.job import RebalanceAuditJob
from rebalance_audit_airflow.trigger import params
from rebalance_audit_airflow.window import windows_of_events

with DAG(
    dag_id="rebalance_audit_report",
    description="Write the page of a lake and cluster after each publication.",
    doc_md=__doc__,
    schedule=[ASSETS["gold.rebalances"]],
    start_date=START,
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=3),
    default_args={**DEFAULT_ARGS, "execution_timeout": timedelta(hours=1)},
    params=params("cluster", "from", "to", "days"),
    tags=[*TAGS, "report"],
):

    @task
    def windows() -> list[dict[str, Any]]:
        """What the events that triggered this run say; one empty entry for a manual run."""
        events = get_current_context().get("triggering_asset_events") or {}
        if not events:
            return [{}]
        return [*windows_of_events(chain.from_iterable(events.values()))]

    RebalanceAuditJob.partial(
        task_id="report",
        job="report",
        arguments=arguments.report,
        # It only reads.
        pool="default_pool",
        doc_md="Writes the page from the gold tables.",
    ).expand(given=windows())
