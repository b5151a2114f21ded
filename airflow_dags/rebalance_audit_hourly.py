"""# Every hour: why did groups rebalance?

`ingest` copies what the source has into bronze (Kafka compacts its own copy, bronze is not compacted), `audit` replays
what is new, `check` judges the rows of the hour by the checks of their tables, `publish` marks for Airflow that the
gold tables are fresh.

* If rows break an expectation of severity *fail*, `check` fails at once and names both; not published.
* Every task can be killed and repeated, and an old hour can be cleared: the rows are the same.
* The window of the run is its data interval; the params `from` and `to` override it.
* The param `cluster` chooses one of the site's clusters, `groups` some of its groups: these are replayed from their
  first record each time. A run sets nothing else.

What a site has to set: docs/airflow.md.
"""

import sys
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, CronDataIntervalTimetable

# The folder of a DAG bundle is on the path; that of a plain DagBag is not.
if str(Path(__file__).parent) not in sys.path:
    sys.path.append(str(Path(__file__).parent))

from rebalance_audit_airflow import arguments
from rebalance_audit_airflow.dags import (
    DEFAULT_ARGS,
    START,
    TAGS,
    check_and_publish,
)
from rebalance_audit_airflow.job import RebalanceAuditJob
from rebalance_audit_airflow.trigger import params

with DAG(
    dag_id="rebalance_audit_hourly",
    description="Ingest the log of the group coordinators, audit it, check the tables, publish them.",
    doc_md=__doc__,
    schedule=CronDataIntervalTimetable("5 * * * *", timezone="UTC"),
    start_date=START,
    catchup=False,
    # The next hour's run does what this one has not done.
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=6),
    default_args=DEFAULT_ARGS,
    params=params("cluster", "groups", "from", "to"),
    tags=[*TAGS, "hourly"],
):
    ingest = RebalanceAuditJob(
        task_id="ingest",
        job="ingest",
        arguments=arguments.ingest,
        doc_md="Appends to bronze what is new in the source.",
    )
    audit = RebalanceAuditJob(
        task_id="audit",
        job="audit",
        arguments=arguments.audit,
        # A site without a source fills bronze in other ways.
        trigger_rule="none_failed",
        doc_md="Updates silver and gold by what is new in bronze.",
    )
    check_and_publish(ingest, audit)
