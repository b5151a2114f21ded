"""# Every hour: why did groups rebalance?

`ingest` takes over what the source has (Kafka's own copy is compacted, bronze is not), `audit` replays what is new,
`check` holds the rows of the hour against the checks of their tables, `publish` tells Airflow that the gold tables are
fresh.

* A broken expectation of severity *fail* fails `check` at once, names itself and the rows, and nothing is published.
* Every task can be killed and repeated, and an old hour can be cleared: the rows come out the same.
* The window of the run is its data interval; the params `from` and `to` stand in for it.
* Params `cluster`, `lake`, `source` and `groups` stand in for what the site has set. With `groups`, these groups are
  replayed from their beginning each time.

What a site has to set: docs/airflow.md.
"""

import sys
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable

# A DAG bundle has its folder on the path; a DagBag of a plain folder has not.
if str(Path(__file__).parent) not in sys.path:
    sys.path.append(str(Path(__file__).parent))

from rebalance_audit_airflow import arguments
from rebalance_audit_airflow.dags import (
    DEFAULT_ARGS,
    START,
    TAGS,
    check_and_publish,
    site_params,
    window_params,
)
from rebalance_audit_airflow.job import RebalanceAuditJob

with DAG(
    dag_id="rebalance_audit_hourly",
    description="Ingest the log of the group coordinators, audit it, check the tables, publish them.",
    doc_md=__doc__,
    schedule=CronDataIntervalTimetable("5 * * * *", timezone="UTC"),
    start_date=START,
    catchup=False,
    # The next hour's run takes over what this one has not done.
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=6),
    default_args=DEFAULT_ARGS,
    params={**site_params("cluster", "lake", "source", "groups"), **window_params()},
    tags=[*TAGS, "hourly"],
):
    ingest = RebalanceAuditJob(
        task_id="ingest",
        job="ingest",
        arguments=arguments.ingest,
        doc_md="What is new in the source, into bronze.",
    )
    audit = RebalanceAuditJob(
        task_id="audit",
        job="audit",
        arguments=arguments.audit,
        # A site without a source fills bronze by other means.
        trigger_rule="none_failed",
        doc_md="What is new in bronze, into silver and gold.",
    )
    check_and_publish(ingest, audit)
