"""# What would have been under other settings

Optional, and paused until somebody unpauses it: once a week the groups that needed attention most in that week are
simulated under other protocols, assignors and timeouts (`predict`), and the answers are written to `gold.what_if`. A
group takes up to a minute of one core.

Params: `cluster` chooses one of the site's; `from` and `to` set another window.
"""

import sys
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable

# The folder of a DAG bundle is on the path; that of a plain DagBag is not.
if str(Path(__file__).parent) not in sys.path:
    sys.path.append(str(Path(__file__).parent))

from rebalance_audit_airflow import arguments
from rebalance_audit_airflow.dags import DEFAULT_ARGS, START, TAGS
from rebalance_audit_airflow.job import RebalanceAuditJob
from rebalance_audit_airflow.trigger import params

with DAG(
    dag_id="rebalance_audit_what_if",
    description="Simulate the worst groups of a week under other settings.",
    doc_md=__doc__,
    # A quiet time, away from the full hour, after the maintenance of Sunday.
    schedule=CronDataIntervalTimetable("35 4 * * 1", timezone="UTC"),
    start_date=START,
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,
    dagrun_timeout=timedelta(hours=6),
    default_args=DEFAULT_ARGS,
    params=params("cluster", "from", "to"),
    tags=[*TAGS, "what-if"],
):
    RebalanceAuditJob(
        task_id="predict",
        job="predict",
        arguments=arguments.predict,
        doc_md="Answers of `what-if` about the window, in gold.what_if.",
    )
