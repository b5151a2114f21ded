"""# Maintenance of the tables

Once a week old rows are deleted if the configuration says so (`[maintain.keep_days]`; nothing by default), files are
rewritten (OPTIMIZE), and unused files are removed (VACUUM). Runs do not take any of it for new data.

Params: `dry_run` only reports; `tables` are the only ones it works on; `cluster` chooses one of the site's, and so its
lake. What is kept for how long is in the file that the site's field `config` names.
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
    dag_id="rebalance_audit_maintenance",
    description="Delete rows that are too old, rewrite the lake's files, remove unused ones.",
    doc_md=__doc__,
    # A quiet time, away from the full hour.
    schedule=CronDataIntervalTimetable("35 3 * * 0", timezone="UTC"),
    start_date=START,
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=24),
    default_args={**DEFAULT_ARGS, "execution_timeout": timedelta(hours=12)},
    params=params("cluster", "dry_run", "tables"),
    tags=[*TAGS, "maintenance"],
):
    RebalanceAuditJob(
        task_id="maintain",
        job="maintain",
        arguments=arguments.maintain,
        doc_md="OPTIMIZE, VACUUM and retention of every table.",
    )
