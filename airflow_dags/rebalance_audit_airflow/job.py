"""One job of rebalance-audit as a task: a spark-submit that returns its summary, and whose exit code is understood."""

import json
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

from rebalance_audit_airflow.site import CONNECTION, POOL, Site, site_of
from rebalance_audit_airflow.trigger import checked
from rebalance_audit_airflow.window import Window, window_of

BAD_ARGUMENTS = 2
CHECK_FAILED = 4
"""Exit codes of the jobs for which a retry would not help; the causes of all others may go away by themselves."""

EVENT_SETTINGS = ("cluster", "from", "to")
"""What an event may set, besides naming a lake, which must be the site's."""

JAVA_OPTIONS = "spark.driver.extraJavaOptions"

BROKEN_SHOWN = 10
KEYS_SHOWN = 3

Arguments = Callable[[Site, Window, Mapping[str, Any]], Sequence[str] | None]
"""Site, window and params of a run -> arguments of the job; None if there is nothing to do."""


class RebalanceAuditJob(SparkSubmitOperator):
    """Runs jobs/<job>.py of the site's project; its result is the summary that --json would print.

    What the site has set is read when the task runs, never when the file is parsed. The exit codes 2 (bad arguments or
    configuration) and 4 (a quality check failed) fail the task at once; others are retried, and a retry gives the same
    rows.
    """

    template_fields: Sequence[str] = (*SparkSubmitOperator.template_fields, "given")

    def __init__(
        self,
        *,
        job: str,
        arguments: Arguments,
        given: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> None:
        """`given`: what an event says, a window, a lake, a cluster; it overrides the params of the run."""
        fields.setdefault("conn_id", CONNECTION)
        fields.setdefault("pool", POOL)
        super().__init__(name=f"rebalance-audit {job}", **fields)
        self.job = job
        self.arguments = arguments
        self.given = given

    def execute(self, context: Any) -> dict[str, Any]:  # type: ignore[override]  # it returns more
        """Submit the job, wait for it, and return its summary."""
        site, window, params = self._asked(context)
        arguments = self.arguments(site, window, params)
        if arguments is None:
            raise AirflowSkipException(f"Nothing to do for {self.job}: the site names no source.")
        with _summary_file(site, context) as file:
            self._prepare(site, [*arguments, "--summary", str(file)])
            try:
                super().execute(context)
            except AirflowException as error:
                raise self._failure(error, _read(file)) from error
            return {**_read(file), "lake": site.lake, "cluster": site.cluster}

    def _asked(self, context: Any) -> tuple[Site, Window, dict[str, Any]]:
        """Site, window and params of the run. Raises AirflowFailException for what a trigger may not set."""
        event = dict(self.given or {})
        lake = event.pop("lake", None)
        params = checked(context["params"], self.dag.params.keys())
        params |= checked(event, EVENT_SETTINGS)
        try:
            window = window_of({**context, "params": params})
        except ValueError as error:
            raise AirflowFailException(f"No window of time: {error}.") from error
        return site_of(params.get("cluster"), lake), window, params

    def _prepare(self, site: Site, arguments: list[str]) -> None:
        self.application = site.job(self.job)
        config = ["--config", site.config] if site.config else []
        self.application_args = [*arguments, *config]
        self.py_files = site.package
        self.jars = site.jars
        self.packages = site.packages
        self.properties_file = site.properties_file
        self.conf = {**site.conf, JAVA_OPTIONS: _quiet(site)}
        self.env_vars = {**_interpreter(site), **site.env}
        # Once the operator exists it has no public name for these, and the connection must not contain a path.
        self._spark_binary = site.spark_submit
        self._driver_memory = site.driver_memory

    def _failure(self, error: Exception, summary: Mapping[str, Any]) -> Exception:
        """The error to raise for a job that failed."""
        if summary.get("success") is False:
            return AirflowFailException(broken_text(summary))
        match _exit_code(error):
            case int(code) if code == CHECK_FAILED:
                return AirflowFailException(
                    "A quality check failed: see above and the table meta.checks."
                )
            case int(code) if code == BAD_ARGUMENTS:
                return AirflowFailException(
                    f"{self.job}: bad arguments or configuration, see above; a retry would not help."
                )
        return error


def broken_text(summary: Mapping[str, Any]) -> str:
    """Which expectations rows broke, and where to look."""
    broken = [one for one in summary["broken"] if one["severity"] == "fail"]
    lines = [f"{len(broken)} expectation(s) broken in {summary['lake']}; not published."]
    for one in broken[:BROKEN_SHOWN]:
        lines.append(
            f"- {one['expectation']}: {one['unexpected_count']} of {one['rows_checked']} rows of {one['table']}"
        )
        lines += [f"    look at {key}" for key in one["sample_keys"][:KEYS_SHOWN]]
    if len(broken) > BROKEN_SHOWN:
        lines.append(f"- and {len(broken) - BROKEN_SHOWN} more")
    lines.append(f"All of them: table meta.checks, check_id = '{summary['check_id']}'.")
    return "\n".join(lines)


def _exit_code(error: Exception) -> int | None:
    """The exit code of spark-submit, which the provider only mentions in its message."""
    found = re.search(r"Error code is: (\d+)", str(error))
    return int(found[1]) if found else None


@contextmanager
def _summary_file(site: Site, context: Any) -> Any:
    """A file for this try only, so that one from an earlier try is not taken for its summary."""
    with tempfile.TemporaryDirectory(prefix="rebalance-audit-", dir=site.summaries) as folder:
        if site.summaries:
            Path(folder).chmod(0o1777)  # the driver may be another user
        yield Path(folder) / f"{context['ti'].task_id}.json"


def _read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_bytes()) if file.exists() else {}


def _quiet(site: Site) -> str:
    """Options that keep a job's log short, hundreds of lines otherwise; the site's own options follow them."""
    log4j = f"-Dlog4j2.configurationFile=file:{site.project}/conf/spark/log4j2.properties"
    return f"{log4j} {site.conf.get(JAVA_OPTIONS, '')}".strip()


def _interpreter(site: Site) -> dict[str, str]:
    """The environment with PYSPARK_PYTHON: otherwise jobs run in the first python3 on PATH, usually Airflow's."""
    names = {"SPARK_HOME": site.spark_home}
    names |= dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), site.python)
    return {name: value for name, value in names.items() if value}
