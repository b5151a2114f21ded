"""What a site has to set: one Airflow Variable, one connection, one pool (docs/airflow.md)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from airflow.sdk import Variable
from airflow.sdk.exceptions import AirflowFailException

VARIABLE = "rebalance_audit"
"""Airflow Variable, a JSON object with the fields of Site."""
CONNECTION = "rebalance_audit_spark"
"""Spark connection: master and, optionally, queue and deploy mode."""
POOL = "rebalance_audit"
"""Pool of one slot: tasks that write into the lake run one after the other."""

REQUIRED = ("project", "lake")


@dataclass(frozen=True)
class Site:
    """Where things are. Every field except `project` and `lake` has a default."""

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
    """The program's name, or its full path."""
    python: str | None = None
    """Interpreter of driver and executors, which has the packages of requirements.txt."""
    spark_home: str | None = None
    """SPARK_HOME of the driver, if it does not follow from spark_submit."""
    py_files: str | None = None
    """For --py-files; by default the zip of `make dist`."""
    jars: str | None = None
    """For --jars: those of Delta and, for live clusters, Kafka; or give `packages`."""
    packages: str | None = None
    """For --packages."""
    properties_file: str | None = None
    """For --properties-file, such as conf/spark/standalone.conf."""
    config: str | None = None
    """For --config of the jobs: a TOML file with what differs from conf/base.toml."""
    driver_memory: str = "2g"
    """For --driver-memory."""
    report: str | None = None
    """Path of the page, with {cluster} replaced; by default <lake>/reports/{cluster}.html."""
    report_days: int = 7
    """How many days the page shows, up to the end of the audited window."""
    summaries: str | None = None
    """Folder that driver and Airflow worker share, needed in deploy mode cluster; by default a temporary one."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Any setting of Spark by its own name."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment of spark-submit, on top of the worker's own."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Name -> --source: what a trigger of a backfill may have ingested, by its name."""
    clusters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name of another Kafka cluster that a trigger may choose -> the fields that differ for it."""

    def job(self, name: str) -> str:
        """Path of an entry point."""
        return f"{self.project}/jobs/{name}.py"

    @property
    def package(self) -> str:
        """The value of --py-files."""
        return self.py_files or f"{self.project}/dist/rebalance_audit.zip"

    def source_named(self, name: str) -> str:
        """A value for --source. Raises AirflowFailException for a name that the site does not have."""
        if name not in self.sources:
            raise AirflowFailException(
                f"The Variable {VARIABLE} has no source {name!r}; {_listed(self.sources)}."
            )
        return self.sources[name]

    @property
    def page(self) -> str:
        """Path of the report of a cluster."""
        return (self.report or f"{self.lake}/reports/{{cluster}}.html").format(cluster=self.cluster)


def site_of(cluster: str | None = None, lake: str | None = None) -> Site:
    """The site as its Variable describes it, for one of its clusters.

    `lake`, if given, must be the lake of that cluster. Raises AirflowFailException: a retry would not help.
    """
    value = Variable.get(VARIABLE, default={}, deserialize_json=True)
    site = _site(_for_cluster(value, cluster))
    if lake not in {None, site.lake}:
        raise AirflowFailException(
            f"The Variable {VARIABLE} has the lake {site.lake} for cluster {site.cluster!r}, not {lake!r}."
        )
    return site


def _for_cluster(value: Mapping[str, Any], cluster: str | None) -> dict[str, Any]:
    """The fields of the Variable, with those of the cluster in their place."""
    own, others = value.get("cluster", Site.cluster), value.get("clusters", {})
    if cluster in {None, own}:
        return dict(value)
    if cluster not in others:
        raise AirflowFailException(
            f"The Variable {VARIABLE} has no cluster {cluster!r}; {_listed([own, *others])}."
        )
    return {**value, **others[cluster], "cluster": cluster}


def _site(value: Mapping[str, Any]) -> Site:
    names = {one.name for one in fields(Site)}
    if unknown := sorted(set(value) - names):
        raise AirflowFailException(
            f"The Variable {VARIABLE} has {', '.join(unknown)}, which are not settings;"
            f" it may have {', '.join(sorted(names))}."
        )
    if missing := [name for name in REQUIRED if not value.get(name)]:
        raise AirflowFailException(
            f"The Variable {VARIABLE} lacks {' and '.join(missing)}: see docs/airflow.md, What a site has to set."
        )
    return replace(Site(**value), project=value["project"].rstrip("/"))


def _listed(names: Iterable[str]) -> str:
    """The names that there are, for an error."""
    listed = ", ".join(map(repr, names))
    return f"it has {listed}" if listed else "it has none"
