"""A secured cluster is read with no more rights than the documentation asks for, and its password is seen nowhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, ResourcePatternType, ResourceType

from tests.support.live_groups import make_topic, work
from tests.support.secured_broker import OF_THE_LOG, USER, Grant, secured_broker
from tests.workshop.test_json_schemas import checked

pytestmark = pytest.mark.broker

PASSWORD = "Pr4gm4tic-Tr0mb0ne"  # noqa: S105 - of a broker that lives for a test
JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required username='{user}'"
    " password='${{env:PASSWORD}}';"
)

DOCUMENTED = (
    *OF_THE_LOG,
    Grant(ResourceType.GROUP, "rebalance-audit", AclOperation.READ, ResourcePatternType.PREFIXED),
)
"""docs/live-kafka.md, Permissions."""

LOGGING = """\
rootLogger.level = info
rootLogger.appenderRefs = console
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
"""
"""As talkative as an operator makes Spark who looks for a fault."""


def test_a_secured_cluster(tmp_path: Path) -> None:
    """Read with a password from the environment; the password is in no output, log, event log or table."""
    scene = _Scene(tmp_path)
    with secured_broker(tmp_path / "broker", PASSWORD, DOCUMENTED) as (broker, port):
        make_topic(broker)
        work(broker, "some")
        spec = f"kafka:127.0.0.1:{port}"
        summary = tmp_path / "summary.json"
        scene.call(0, "ingest", "--source", spec, "--summary", str(summary))
        checked("ingest", json.loads(summary.read_text()))
        assert "records new in bronze" in scene.output()
        scene.call(0, "ingest", "--source", spec, "--print-config")
        scene.environment["PASSWORD"] = f"{PASSWORD}-not"
        scene.call(3, "ingest", "--source", spec, "--debug")
        assert "user and password are what its listener expects" in scene.output()
    assert len(scene.event_logs()) == 1
    _assert_nowhere(PASSWORD, tmp_path, but=tmp_path / "broker")


class _Scene:
    """A folder in which commands are called as an operator does, and leave everything that they say."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls = 0
        events = folder / "events"
        events.mkdir()
        logging = folder / "log4j2.properties"
        logging.write_text(LOGGING)
        jaas = JAAS.format(user=USER)
        (folder / "own.toml").write_text(
            f"""
            cluster = "blue"
            [lake]
            path = "{folder / "lake"}"
            [source.kafka]
            timeout_ms = 10_000
            [source.kafka.options]
            "security.protocol" = "SASL_PLAINTEXT"
            "sasl.mechanism" = "PLAIN"
            "sasl.jaas.config" = "{jaas}"
            [spark.settings]
            "spark.eventLog.enabled" = "true"
            "spark.eventLog.compress" = "false"
            "spark.eventLog.dir" = "{events.as_uri()}"
            "spark.log.level" = "INFO"
            "spark.driver.memory" = "1g"
            "spark.sql.shuffle.partitions" = "2"
            "spark.sql.codegen.wholeStage" = "false"
            "spark.sql.codegen.factoryMode" = "NO_CODEGEN"
            "spark.driver.extraJavaOptions" = "-Dlog4j2.configurationFile={logging.as_uri()}"
            """
        )
        self.environment = {**os.environ, "PASSWORD": PASSWORD}

    def call(self, code: int, *arguments: str) -> None:
        """Call the program; what it writes is kept."""
        self._calls += 1
        with (self._folder / f"output-{self._calls}").open("wb") as output:
            command = [sys.executable, "-m", "rebalance_audit.cli.main", *arguments]
            command += ["--config", str(self._folder / "own.toml")]
            done = subprocess.run(
                command, env=self.environment, stdout=output, stderr=output, check=False
            )
        assert done.returncode == code, self.output()[-3000:]

    def output(self) -> str:
        """What the last call has written."""
        return (self._folder / f"output-{self._calls}").read_text()

    def event_logs(self) -> list[Path]:
        """What Spark has noted of its jobs, with their plans."""
        found = [path for path in (self._folder / "events").rglob("events_*") if path.is_file()]
        return [path for path in found if "KafkaRelation" in path.read_text()]


def _assert_nowhere(secret: str, folder: Path, but: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file() and but not in path.parents]
    assert len(files) > 20
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
