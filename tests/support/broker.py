"""A real Kafka broker for tests: one KRaft node on loopback ports, its data in a folder of the test.

A log can be placed before the start: the topics of the cluster are written into the bootstrap metadata with the ids
that the log names, and the segments of `__consumer_offsets` are where the broker looks for them, so that the
coordinator loads them as they are.
"""

import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from tests.support.broker_folder import (
    JARS,
    JVM_OPTIONS,
    LOGGING,
    OFFSETS_TOPIC,
    java,
    make_folder,
)
from tests.support.cluster_topics import ClusterTopic

NO_TOPICS: Final[Mapping[str, ClusterTopic]] = {}
NO_SETTINGS: Final[Mapping[str, str]] = {}
START_SECONDS_MAX: Final = 300
STOP_SECONDS_MAX: Final = 300

WRITER_OF_INTERNAL_TOPICS: Final = "__admin_client"
"""The client id whose produce requests a broker takes for internal topics."""


@dataclass
class Broker:
    """One broker; `bootstrap_servers` is the same after a restart."""

    folder: Path
    port: int
    jvm_options: Sequence[str] = JVM_OPTIONS
    jars: Path = JARS
    process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap_servers(self) -> str:
        """For clients."""
        return f"127.0.0.1:{self.port}"

    @property
    def client_settings(self) -> dict[str, Any]:
        """Of every client: that a broker does not answer while it is down is no news."""
        return {"bootstrap.servers": self.bootstrap_servers, "log_level": 2}

    def start(self) -> None:
        """Start and wait until it takes connections."""
        with (self.folder / "broker.log").open("ab") as output:
            settings = str(self.folder / "server.properties")
            command = java(
                self.folder,
                "kafka.Kafka",
                settings,
                jvm_options=self.jvm_options,
                jars=self.jars,
            )
            self.process = subprocess.Popen(command, stdout=output, stderr=output)
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self._takes_connections():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"the broker did not start:\n{self.log_tail()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop it as an operator would."""
        assert self.process is not None
        self.process.terminate()
        self.process.wait(STOP_SECONDS_MAX)
        self.process = None

    def kill(self) -> None:
        """Let it die at once, if it lives."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def restart(self) -> None:
        """Stop and start: the coordinator loads its log again."""
        self.stop()
        self.start()

    def log_tail(self) -> str:
        """The end of what it logged, warnings and errors."""
        return (self.folder / "broker.log").read_text(errors="replace")[-4000:]

    def admin(self) -> AdminClient:
        """An admin client."""
        return AdminClient(self.client_settings)

    def write_group_records(self, records: Iterable[tuple[int, bytes, bytes | None]]) -> None:
        """Append (log partition, key, value) to `__consumer_offsets`; the coordinator sees them when it loads."""
        producer = Producer({**self.client_settings, "client.id": WRITER_OF_INTERNAL_TOPICS})
        failures: list[object] = []
        for log_partition, key, value in records:
            producer.produce(
                OFFSETS_TOPIC,
                partition=log_partition,
                key=key,
                value=value,
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
        assert producer.flush(START_SECONDS_MAX) == 0
        assert not failures

    def _takes_connections(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


@contextmanager
def running_broker(
    folder: Path,
    placed: Path | None = None,
    topics: Mapping[str, ClusterTopic] = NO_TOPICS,
    settings: Mapping[str, str] = NO_SETTINGS,
    listener: str = "",
    jars: Path = JARS,
    features: Sequence[str] = (),
    logging: str = LOGGING,
) -> Iterator[Broker]:
    """A broker in an empty folder; `settings` win over those of every test's broker, a `listener` is one more.

    `jars` are those of another release, `features` what it does not enable itself, `logging` is Log4j's configuration.
    `placed` is a log (a folder of segments) that it finds there; `topics` are topics beside those of its metadata log,
    also `__consumer_offsets` where that log does not create it.
    """
    broker = Broker(folder, make_folder(folder, placed, topics, jars, features), jars=jars)
    (folder / "log4j2.properties").write_text(logging)
    properties = folder / "server.properties"
    text = properties.read_text()
    if listener:
        text = text.replace("listeners=PLAINTEXT", f"listeners={listener},PLAINTEXT")
    # Of two lines for one name the last one counts.
    properties.write_text("\n".join([text, *(f"{name}={settings[name]}" for name in settings)]))
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()
