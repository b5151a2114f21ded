"""Processes beside the commands: a standalone cluster, a Spark Connect server, an object store."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support.ports import free_ports
from workshop.platforms.environments import jars_of, python_of
from workshop.platforms.platforms import SparkEnvironment

START_SECONDS: Final = 300
OF_A_SERVER: Final[Mapping[str, str]] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.driver.memory": "1g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
}
"""What a session of Spark Connect cannot set."""


@contextmanager
def standalone(environment: SparkEnvironment, folder: Path) -> Iterator[str]:
    """The address of a master with one worker of two cores."""
    (port,) = free_ports(1)
    place = ("--host", "127.0.0.1", "--webui-port", "0")
    url = f"spark://127.0.0.1:{port}"
    script = _script(environment, "spark-class")
    master = (script, "org.apache.spark.deploy.master.Master", *place, "--port", str(port))
    size = ("--cores", "2", "--memory", "1g", "--work-dir", str(folder / "worker"))
    worker = (script, "org.apache.spark.deploy.worker.Worker", *place, *size, url)
    with (
        _process(environment, folder, "master", master, port),
        _process(environment, folder, "worker", worker, port),
    ):
        yield url


@contextmanager
def connect(environment: SparkEnvironment, folder: Path) -> Iterator[str]:
    """The address of a Spark Connect server; its jar is in the wheel of pyspark."""
    (port,) = free_ports(1)
    settings = {**OF_A_SERVER, "spark.connect.grpc.binding.port": str(port)}
    jars = ",".join(map(str, sorted(jars_of(environment).glob("*.jar"))))
    command = (
        _script(environment, "spark-submit"),
        *("--master", "local[2]", "--jars", jars),
        *(f"--conf={name}={value}" for name, value in settings.items()),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"),
    )
    with _process(environment, folder, "server", command, port):
        yield f"sc://127.0.0.1:{port}"


@contextmanager
def object_store(environment: SparkEnvironment, folder: Path) -> Iterator[dict[str, str]]:
    """Variables with which clients of S3 find a server of moto's."""
    (port,) = free_ports(1)
    program = str(python_of(environment).parent / "moto_server")
    with _process(environment, folder, "moto", (program, "-p", str(port)), port):
        yield {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_DEFAULT_REGION": "us-east-1",
        }


def _script(environment: SparkEnvironment, name: str) -> str:
    (home,) = python_of(environment).parents[1].glob("lib/python*/site-packages/pyspark")
    return str(home / "bin" / name)


@contextmanager
def _process(
    environment: SparkEnvironment, folder: Path, name: str, command: Sequence[str], port: int
) -> Iterator[None]:
    """A process, and its children, for the time of the block, which begins when somebody listens on the port."""
    log = folder / f"{name}.log"
    variables = {
        **os.environ,
        "PYSPARK_PYTHON": str(python_of(environment)),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, cwd=folder, env=variables, stdout=said, stderr=said, start_new_session=True
        )
    try:
        until = time.monotonic() + START_SECONDS
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > until:
                raise TimeoutError(f"{name} did not start: {log.read_text()[-500:]}")
            time.sleep(0.5)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
