"""One start of a broker that finds the logs of many partitions, and all that can be learned from it.

The topic is created by a broker of the release, which then stops as an operator would stop it. The logs take the place
of its empty ones. So the second start finds them as after a clean stop, when a broker does not look through its
files; without the file that says so it recovers each log, and truncates it where a batch is damaged.
"""

import re
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.broker import Broker
from tests.support.broker_folder import JVM_OPTIONS, OFFSETS_TOPIC, make_folder
from tests.support.cluster_topics import ClusterTopic
from workshop.lab.connection import Connection
from workshop.lab.lab import SETTINGS as LAB_SETTINGS
from workshop.lab.lab import jars_of

CLASSIC_COORDINATOR: Final = "classic"
NEW_COORDINATOR: Final = "new"
COORDINATORS: Final[Mapping[str, tuple[str, ...]]] = {
    "3.9": (CLASSIC_COORDINATOR, NEW_COORDINATOR),
    **dict.fromkeys(("4.0", "4.1", "4.2", "4.3", "4.4"), (NEW_COORDINATOR,)),
}
"""Release -> its group coordinators; before 4.0 the new one is enabled by a setting."""

_PROTOCOLS: Final = {
    CLASSIC_COORDINATOR: "classic",
    NEW_COORDINATOR: "classic,consumer",
}
SETTINGS: Final = {
    **LAB_SETTINGS,
    "offsets.retention.check.interval.ms": "86400000",
    "group.max.session.timeout.ms": "2000000000",
    # Members of the logs say nothing, and are not missed while clients ask for them.
    "group.consumer.session.timeout.ms": "6000000",
    "group.consumer.max.session.timeout.ms": "6000000",
    "log.segment.bytes": "104857600",
}

LOGGING: Final = """\
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = CONSOLE
logger.group.name = org.apache.kafka.coordinator.group
logger.group.level = DEBUG
logger.runtime.name = org.apache.kafka.coordinator.common.runtime
logger.runtime.level = INFO
logger.loader.name = org.apache.kafka.coordinator.common.runtime.CoordinatorLoaderImpl
logger.loader.level = TRACE
logger.old.name = kafka.coordinator.group
logger.old.level = DEBUG
logger.scala.name = kafka.coordinator.group.CoordinatorLoaderImpl
logger.scala.level = TRACE
logger.files.name = org.apache.kafka.storage.internals.log
logger.files.level = INFO
logger.log.name = kafka.log
logger.log.level = INFO
appender.console.type = Console
appender.console.name = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d] %p %m (%c)%n
"""
LOGGING_1: Final = """\
log4j.rootLogger=WARN, CONSOLE
log4j.logger.org.apache.kafka.coordinator.group=DEBUG
log4j.logger.org.apache.kafka.coordinator.group.runtime=INFO
log4j.logger.org.apache.kafka.coordinator.common.runtime=INFO
log4j.logger.kafka.coordinator.group=DEBUG
log4j.logger.kafka.coordinator.group.CoordinatorLoaderImpl=TRACE
log4j.logger.kafka.log=INFO
log4j.appender.CONSOLE=org.apache.log4j.ConsoleAppender
log4j.appender.CONSOLE.layout=org.apache.log4j.PatternLayout
log4j.appender.CONSOLE.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
"""The same for releases before 4.0."""

LOAD_SECONDS_MAX: Final = 240
QUIET_SECONDS: Final = 10
CLEAN_STOP: Final = ".kafka_cleanshutdown"
_NOT_LOADED: Final = re.compile(r"Error while loading logs in \S*__consumer_offsets-(\d+) ")
_ENDED: Final = ("Finished loading", "Failed to load", "Error loading", "Failed loading")


class Segment(NamedTuple):
    """What is placed as the log of a partition."""

    data: bytes
    offset_index: bytes = b""
    """Its offset index. A broker that was stopped reads the log from the last entry to find its end."""


class NotStartedError(Exception):
    """A broker that stopped because of a log; its lines name the partitions."""

    def __init__(self, lines: str) -> None:
        super().__init__(f"the broker did not start:\n{lines[-3000:]}")
        self.lines = lines
        self.log_partitions = sorted({int(each) for each in _NOT_LOADED.findall(lines)})


class Lab(NamedTuple):
    """A broker of one release with one of its coordinators, and the folder of a cluster with an empty topic."""

    release: str
    coordinator: str
    folder: Path
    partition_count: int
    is_quiet: bool = False
    """Whether the coordinator logs only what it logs at level INFO, so that logging costs it nothing."""

    @property
    def template(self) -> Path:
        """The folder after a clean stop, with an empty topic."""
        return self.folder / "template"


def prepared(
    release: str, coordinator: str, folder: Path, partition_count: int, *, is_quiet: bool = False
) -> Lab:
    """Let a broker of the release create the topic, and stop it."""
    lab = Lab(release, coordinator, folder, partition_count, is_quiet)
    topics = {OFFSETS_TOPIC: ClusterTopic(b"consumer-offsets", partition_count)}
    port = make_folder(lab.template, None, topics, jars_of(release), creates_offsets_topic=False)
    for name, logging in (("log4j2.properties", LOGGING), ("log4j.properties", LOGGING_1)):
        text = re.sub(r"\b(DEBUG|TRACE)\b", "INFO", logging) if is_quiet else logging
        (lab.template / name).write_text(text)
    with (lab.template / "server.properties").open("a") as settings:
        own = {**SETTINGS, **_settings_of(release, coordinator)}
        settings.write("".join(f"\n{name}={value}" for name, value in own.items()))
    broker = _broker(lab, lab.template, port)
    try:
        broker.start()
        connection = Connection(port, broker.jars, "lab-load")
        deadline = time.monotonic() + LOAD_SECONDS_MAX
        while not _all_created(connection, partition_count):
            assert time.monotonic() < deadline, broker.log_tail()
            time.sleep(0.2)
        connection.close()
        broker.stop()
    finally:
        broker.kill()
    return lab


def _settings_of(release: str, coordinator: str) -> dict[str, str]:
    if release != "3.9":
        return {}
    enabled = str(coordinator == NEW_COORDINATOR).lower()
    return {
        "group.coordinator.new.enable": enabled,
        "group.coordinator.rebalance.protocols": _PROTOCOLS[coordinator],
    }


def _broker(lab: Lab, folder: Path, port: int) -> Broker:
    logging = f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}"
    return Broker(folder, port, (*JVM_OPTIONS, logging), jars_of(lab.release))


def _all_created(connection: Connection, partition_count: int) -> bool:
    connection.ask("FindCoordinator", key_type=0, coordinator_keys=["g"])
    (topic,) = connection.ask("Metadata", topics=[{"name": OFFSETS_TOPIC}])["topics"]
    return len(topic["partitions"]) == partition_count and all(
        each["leader_id"] >= 0 for each in topic["partitions"]
    )


@contextmanager
def loaded(
    lab: Lab, name: str, segments: Mapping[int, Segment], *, clean: bool = True
) -> Iterator[tuple[Broker, Path]]:
    """A broker that has finished with all these logs, or gave no sign for a while: the broker, its lines.

    Raises NotStartedError if it stops because of some of them.
    """
    folder = lab.folder / name
    shutil.copytree(lab.template, folder)
    (folder / "broker.log").unlink()
    data = folder / "data"
    for log_partition, segment in segments.items():
        _place(data / f"{OFFSETS_TOPIC}-{log_partition}", segment)
    if not clean:
        (data / CLEAN_STOP).unlink()
        for checkpoint in data.glob("*-offset-checkpoint"):
            checkpoint.unlink()
    properties = folder / "server.properties"
    properties.write_text(properties.read_text().replace(str(lab.template), str(folder)))
    port = int(properties.read_text().split("PLAINTEXT://127.0.0.1:")[1].split(",")[0])
    broker = _broker(lab, folder, port)
    try:
        try:
            broker.start()
        except AssertionError as problem:
            raise NotStartedError((folder / "broker.log").read_text(errors="replace")) from problem
        _await_ends(folder / "broker.log", segments)
        yield broker, folder / "broker.log"
    finally:
        broker.kill()
        shutil.rmtree(data)


def _place(folder: Path, segment: Segment) -> None:
    """Put a segment where the broker left an empty one."""
    first = "0" * 20
    (folder / f"{first}.log").write_bytes(segment.data)
    (folder / f"{first}.index").write_bytes(segment.offset_index)
    (folder / f"{first}.timeindex").write_bytes(b"")
    for snapshot in folder.glob("*.snapshot"):
        snapshot.unlink()


def _await_ends(lines: Path, log_partitions: Iterable[int]) -> None:
    """Wait until the broker has said of each partition how its loading ended; some stay silent."""
    awaited = {f"{OFFSETS_TOPIC}-{each} " for each in log_partitions}
    deadline = time.monotonic() + LOAD_SECONDS_MAX
    size, grown = -1, time.monotonic()
    while awaited and time.monotonic() < deadline:
        text = lines.read_text(errors="replace")
        said = [line for line in text.splitlines() if any(word in line for word in _ENDED)]
        awaited -= {each for each in awaited if any(each in f"{line} " for line in said)}
        if len(text) != size:
            size, grown = len(text), time.monotonic()
        elif time.monotonic() - grown > QUIET_SECONDS:
            return
        time.sleep(0.3)
