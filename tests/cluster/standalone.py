"""A Spark cluster of one master and some workers on this machine, and jobs submitted to it with the zip alone."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyspark

from rebalance_audit.resources import checkout_root
from tests.support import local_files
from tests.support.ports import free_ports
from tests.support.processes import below, command_line, kill

ROOT = checkout_root()
SPARK_HOME = Path(pyspark.__file__).parent
SITE_PACKAGES = SPARK_HOME.parent
ZIP = ROOT / "dist" / "rebalance_audit.zip"
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = {
    **local_files.SETTINGS,
    # Two cores, two tasks; the rest is as conf/spark/standalone.conf has it.
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    # One job writes at a time. By default each commit asks `readlink` in sixteen processes.
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
    "spark.executor.cores": "1",
    "spark.executor.memory": "640m",
    "spark.executor.memoryOverhead": "384m",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    # As in tests/spark: small pages and plans without code of their own; and what the second compiler would make faster
    # these JVMs would not live to see.
    "spark.buffer.pageSize": "4m",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
}
START_SECONDS = 300
EXECUTOR = "CoarseGrainedExecutorBackend"


class Submitted(NamedTuple):
    """A job that has ended."""

    code: int
    said: str


@dataclass
class Cluster:
    """Running processes; each worker leads a session of its own, executors included."""

    folder: Path
    url: str
    master: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]

    def submit(
        self, job: str, *arguments: str, on_line: Callable[[str], None] = lambda _: None
    ) -> Submitted:
        """Run jobs/<job>.py in client mode; `on_line` gets each line as it comes.

        spark-submit hands out what a Python driver says on stdout and stderr as one stream.
        """
        jars = ",".join(map(str, sorted((ROOT / "jars" / "spark").glob("*.jar"))))
        settings = [f"--conf={name}={value}" for name, value in SETTINGS.items()]
        properties = ROOT / "conf" / "spark" / "standalone.conf"
        command = [
            SPARK_HOME / "bin" / "spark-submit",
            *("--master", self.url, "--deploy-mode", "client"),
            *("--properties-file", properties, *settings, "--jars", jars),
            *("--py-files", ZIP, ROOT / "jobs" / f"{job}.py", *arguments),
        ]
        with subprocess.Popen(
            [str(part) for part in command],
            cwd=self.folder,
            env=environment(self.folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            lines = []
            try:
                for line in process.stdout:
                    lines.append(line)
                    on_line(line)
            except BaseException:
                process.kill()
                raise
        return Submitted(process.returncode, "".join(lines))

    def kill_worker(self) -> None:
        """Kill one worker and its executor, as a machine that loses its power."""
        lost = self.workers.pop()
        os.killpg(lost.pid, signal.SIGKILL)
        lost.wait()

    def kill_executors(self, of_workers: Collection[int] | None = None) -> int:
        """Kill executors of some or all workers, with what they hold; the master starts others. Returns how many."""
        chosen = [
            worker
            for number, worker in enumerate(self.workers)
            if of_workers is None or number in of_workers
        ]
        started = [process for worker in chosen for process in below(worker.pid)]
        executors = [each for each in started if EXECUTOR in command_line(each)]
        for executor in executors:
            kill(executor)
        return len(executors)

    def stop(self) -> None:
        """End every process that was started."""
        for process in (*self.workers, self.master):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def start(folder: Path, workers: int) -> Cluster:
    """A cluster that takes jobs."""
    (folder / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    (folder / "python").chmod(0o755)
    (port,) = free_ports(1)
    url = f"spark://127.0.0.1:{port}"
    place = ("--host", "127.0.0.1", "--webui-port", "0")
    master = daemon(folder, "master", ("master.Master", *place, "--port", str(port)))
    cluster = Cluster(folder, url, master, [])
    for number in range(workers):
        name = f"worker-{number}"
        size = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / name))
        cluster.workers.append(daemon(folder, name, ("worker.Worker", *place, *size, url)))
    wait_for(folder / "master.log", "Registering worker", workers)
    return cluster


def daemon(folder: Path, name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process of Spark's standalone mode, started by the script inside pyspark."""
    kind, *rest = arguments
    with (folder / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", *rest],
            cwd=folder,
            env=environment(folder),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def environment(folder: Path) -> dict[str, str]:
    """What master, workers and jobs see: an interpreter that has the dependencies, and not this project."""
    return {
        **{name: os.environ[name] for name in ("PATH", "HOME", "JAVA_HOME") if name in os.environ},
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
        **local_files.CLASS_PATH,
        "PYSPARK_PYTHON": str(folder / "python"),
        "PYSPARK_DRIVER_PYTHON": str(folder / "python"),
        # Without `site` (-S) the path file of the editable install is not read.
        "PYTHONPATH": str(SITE_PACKAGES),
    }


def wait_for(log: Path, words: str, times: int) -> None:
    """Wait until a log has some words so many times."""
    until = time.monotonic() + START_SECONDS
    while len(re.findall(words, log.read_text())) < times:
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.1)
