"""A real Airflow on SQLite, and the site that its DAGs run in: our Spark, a lake, a small real log."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DAGS = ROOT / "airflow_dags"
HOME = Path(tempfile.mkdtemp(prefix="airflow-"))

# Airflow reads these when it is imported, which the test files do.
os.environ |= {
    "AIRFLOW_HOME": str(HOME),
    "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{HOME}/airflow.db",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    # The setting is deprecated but required.
    "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
    "SCARF_ANALYTICS": "false",
}

VENV = ROOT / ".venv"
SPARK_HOME = next((VENV / "lib").glob("python3*/site-packages/pyspark"))
CONNECTION = "AIRFLOW_CONN_REBALANCE_AUDIT_SPARK"
VARIABLE = "AIRFLOW_VAR_REBALANCE_AUDIT"

LOCAL_FILES = next((ROOT / "jars" / "tests").glob("hadoop-bare-naked-local-fs-*.jar"), None)
"""As in tests/support/local_files.py: no process for each file that is written."""
if LOCAL_FILES is not None:
    os.environ["SPARK_DIST_CLASSPATH"] = str(LOCAL_FILES)

SPARK = {
    **(
        {"spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"}
        if LOCAL_FILES is not None
        else {}
    ),
    # The log is small, and a JVM lives for a quarter of a minute: tasks and compilers cost more than they give.
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.ui.explainMode": "simple",
    # As in tests/support/spark_sessions.py: one job writes at a time, and has all of the heap from the start. One
    # context for all logging, as local runs have it.
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xms1g -Xmn600m"
        " -Dlog4j2.contextSelector=org.apache.logging.log4j.core.selector.BasicContextSelector"
    ),
}


@pytest.fixture(scope="session")
def airflow_home() -> Path:
    """Airflow with an empty database and the pool that the DAGs use."""
    # Here, not by two commands: each would import Airflow again.
    from airflow.models.pool import Pool  # noqa: PLC0415 - it reads the environment that is set above
    from airflow.utils.db import initdb  # noqa: PLC0415 - as before

    initdb()
    Pool.create_or_update_pool("rebalance_audit", 1, "one writer", include_deferred=False)
    return HOME


class Site:
    """What a site has set, in this process's environment as Airflow reads it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lake = folder / "lake"
        # A copy, so that no build replaces it while a job reads it.
        package = shutil.copy(ROOT / "dist" / "rebalance_audit.zip", folder)
        self.fields: dict[str, Any] = {
            "project": str(ROOT),
            "lake": str(self.lake),
            "cluster": "blue",
            "source": f"segments:{ROOT}/tests/golden/captures/failover/segments",
            "spark_submit": str(VENV / "bin" / "spark-submit"),
            "spark_home": str(SPARK_HOME),
            "python": str(VENV / "bin" / "python"),
            "jars": ",".join(map(str, sorted((ROOT / "jars" / "spark").glob("*.jar")))),
            "py_files": str(package),
            "driver_memory": "1g",
            "properties_file": str(ROOT / "conf" / "spark" / "local.conf"),
            "conf": SPARK,
        }
        self.set()

    def set(self, **fields: object) -> None:
        """Set the Variable, with other values for some fields."""
        os.environ[CONNECTION] = json.dumps({"conn_type": "spark", "host": "local[2]"})
        os.environ[VARIABLE] = json.dumps({**self.fields, **fields})


@pytest.fixture(scope="module")
def site(airflow_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site with an empty lake."""
    yield Site(tmp_path_factory.mktemp("site"))
    del os.environ[CONNECTION], os.environ[VARIABLE]
