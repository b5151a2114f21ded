"""# Audit a window again

Makes the rows that begin in a window again, from all of bronze, and checks them: after an upgrade that finds more,
after a change of thresholds, or when old segments were found (`source` names one of the site's `sources`, which is
ingested first).

* The window may have any size. Rows that do not differ do not change, so a window that the hourly run has audited stays
  as it is.
* It is safe beside the hourly run: the pool lets one of the two write at a time, and the lake refuses a second writer.

Params: `from` and `to`, `source`, and those of the hourly run. What a site has to set: docs/airflow.md.
"""

import sys
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG

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
    dag_id="rebalance_audit_backfill",
    description="Audit a window again from bronze, check it, publish it.",
    doc_md=__doc__,
    schedule=None,
    start_date=START,
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(days=2),
    default_args={**DEFAULT_ARGS, "execution_timeout": timedelta(hours=24)},
    params=params("from", "to", "cluster", "source", "groups", required={"from", "to"}),
    tags=[*TAGS, "backfill"],
):
    ingest = RebalanceAuditJob(
        task_id="ingest",
        job="ingest",
        arguments=arguments.ingest_named,
        doc_md="Appends to bronze what is new in the source that the params name, if any.",
    )
    audit = RebalanceAuditJob(
        task_id="audit",
        job="audit",
        arguments=arguments.audit_window,
        trigger_rule="none_failed",
        doc_md="Makes the rows that begin in the window again, from all of bronze.",
    )
    check_and_publish(ingest, audit)
