"""What a site has to set: one Airflow Variable, one connection, one pool (docs/airflow.md)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from airflow.sdk import Variable
from airflow.sdk.exceptions import AirflowFailException

VARIABLE = "rebalance_audit"
"""Airflow Variable, a JSON object with the fields of Site."""
CONNECTION = "rebalance_audit_spark"
"""Spark connection: master, and where wished queue and deploy mode."""
POOL = "rebalance_audit"
"""Pool of one slot: what writes into the lake goes one after the other."""

REQUIRED = ("project", "lake")


@dataclass(frozen=True)
class Site:
    """Where things are. Every field but `project` and `lake` has a default."""

    project: str
    """Folder of the checkout or release: jobs/, dist/rebalance_audit.zip, conf/spark/log4j2.properties."""
    lake: str
    """Folder or URL of the tables, as --lake takes it."""
    cluster: str = "default"
    """Name of the Kafka cluster."""
    source: str | None = None
    """Where the log comes from, as --source takes it; without one, `ingest` is skipped."""
    groups: str | None = None
    """Regular expression of the groups to audit; without one, all."""
    spark_submit: str = "spark-submit"
    """The program, or its whole path."""
    python: str | None = None
    """Interpreter of driver and executors, which has the packages of requirements.txt."""
    spark_home: str | None = None
    """SPARK_HOME of the driver, where it does not follow from spark_submit."""
    py_files: str | None = None
    """For --py-files; the zip of `make dist` where nothing is given."""
    jars: str | None = None
    """For --jars: Delta and, for live clusters, Kafka's; or give `packages`."""
    packages: str | None = None
    """For --packages."""
    properties_file: str | None = None
    """For --properties-file, as conf/spark/standalone.conf."""
    config: str | None = None
    """For --config of the jobs: a TOML file with what differs from conf/base.toml."""
    driver_memory: str = "2g"
    """For --driver-memory."""
    report: str | None = None
    """Where the page goes, {cluster} replaced; <lake>/reports/{cluster}.html where nothing is given."""
    report_days: int = 7
    """How many days before the end of the audited window the page reaches back."""
    summaries: str | None = None
    """Folder that the driver and Airflow's worker share, with deploy mode cluster; else a temporary one is used."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Any setting of Spark by its own name."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment of spark-submit, on top of the worker's own."""

    def job(self, name: str) -> str:
        """Path of an entry point."""
        return f"{self.project}/jobs/{name}.py"

    @property
    def package(self) -> str:
        """What goes to --py-files."""
        return self.py_files or f"{self.project}/dist/rebalance_audit.zip"

    @property
    def page(self) -> str:
        """Where the report goes."""
        return (self.report or f"{self.lake}/reports/{{cluster}}.html").format(cluster=self.cluster)


def site_of(params: Mapping[str, Any]) -> Site:
    """The site, with what the params of the run say instead. Raises AirflowFailException: no retry would mend it."""
    value = Variable.get(VARIABLE, default={}, deserialize_json=True)
    names = {one.name for one in fields(Site)}
    if unknown := sorted(set(value) - names):
        raise AirflowFailException(
            f"The Variable {VARIABLE} has {', '.join(unknown)}, which nobody reads;"
            f" it may have {', '.join(sorted(names))}."
        )
    given = {name: params[name] for name in names if params.get(name) is not None}
    merged = {**value, **given}
    if missing := [name for name in REQUIRED if not merged.get(name)]:
        raise AirflowFailException(
            f"The Variable {VARIABLE} lacks {' and '.join(missing)}: see docs/airflow.md, What a site has to set."
        )
    return replace(Site(**merged), project=merged["project"].rstrip("/"))
