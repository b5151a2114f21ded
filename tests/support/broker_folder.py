"""The folder that a broker starts from: settings, storage format, and a log that is there already."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rebalance_audit.resources import checkout_root
from rebalance_audit.sim.brokers.batch_writer import NO_SEQUENCE, LoggedRecord, encode_batch
from rebalance_audit.wire.topic_names import topic_id_text
from tests.support.batches import Batch, read_batches
from tests.support.cluster_topics import ONLY_BROKER, ClusterTopic, creating, read_topics
from tests.support.ports import free_ports

OFFSETS_TOPIC: Final = "__consumer_offsets"
CLUSTER_ID: Final = "cmViYWxhbmNlLWF1ZGl0LQ"
JARS: Final = checkout_root() / "jars" / "broker"

NEW_OFFSETS_TOPIC: Final = ClusterTopic(b"consumer-offsets", 4)
"""`__consumer_offsets` where no metadata log of the cluster creates it."""

JVM_OPTIONS: Final = (
    "-Xmx256m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # starts faster
)

SETTINGS: Final = {
    "process.roles": "broker,controller",
    "node.id": str(ONLY_BROKER),
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # What was placed stays while a test looks: no cleaning, no retention, no expiry.
    "log.cleaner.enable": "false",
    "log.retention.ms": "-1",
    "offsets.retention.minutes": "52560000",
    "group.consumer.session.timeout.ms": "120000",
    "group.consumer.max.session.timeout.ms": "120000",
}

LOGGING: Final = """\
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = CONSOLE
appender.console.type = Console
appender.console.name = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %m (%c)%n
"""


def make_folder(
    folder: Path,
    placed: Path | None,
    own: Mapping[str, ClusterTopic],
    jars: Path = JARS,
    features: Sequence[str] = (),
    *,
    creates_offsets_topic: bool = True,
) -> int:
    """Make everything that a broker needs, and return the port that clients will find it at.

    `placed` is a folder of segments: those of `__consumer_offsets` are copied, and the topics that live at the end of
    its metadata log are created under their own ids, as are the topics of `own`. `features` are enabled beside those
    that the release enables itself (`share.version=1`). Without `creates_offsets_topic` the brokers create that topic
    when a client looks for a coordinator.
    """
    folder.mkdir(parents=True, exist_ok=True)
    topics = {OFFSETS_TOPIC: NEW_OFFSETS_TOPIC, **own}
    partitions: list[Path] = []
    if placed is not None:
        for segment in (placed / "__cluster_metadata-0").glob("*.log"):
            topics |= read_topics(segment)
        partitions = sorted(placed.glob(f"{OFFSETS_TOPIC}-*"))
    port = _configure(folder, topics[OFFSETS_TOPIC].partition_count)
    for name, content in _formatted(jars, tuple(features)).items():
        (folder / "data" / name).parent.mkdir(exist_ok=True)
        (folder / "data" / name).write_bytes(content)
    if creates_offsets_topic:
        _create_topics(folder, topics, _last_leader_epoch(partitions))
    for partition in partitions:
        copied = folder / "data" / partition.name
        shutil.copytree(partition, copied)
        topic_id = topic_id_text(topics[OFFSETS_TOPIC].topic_id)
        (copied / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}\n")
    return port


def java(
    folder: Path,
    main_class: str,
    *arguments: str,
    jvm_options: Sequence[str] = JVM_OPTIONS,
    jars: Path = JARS,
) -> list[str]:
    """The command that runs a class of the broker's jars (`make jars-broker` fetches them)."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else "java"
    logging = f"-Dlog4j2.configurationFile={folder / 'log4j2.properties'}"
    return [program, *jvm_options, logging, "-cp", str(jars / "*"), main_class, *arguments]


def _configure(folder: Path, offsets_partition_count: int) -> int:
    client_port, controller_port = free_ports(2)
    settings = {
        **SETTINGS,
        "listeners": f"PLAINTEXT://127.0.0.1:{client_port},CONTROLLER://127.0.0.1:{controller_port}",
        "controller.quorum.voters": f"{ONLY_BROKER}@127.0.0.1:{controller_port}",
        "log.dirs": str(folder / "data"),
        "offsets.topic.num.partitions": str(offsets_partition_count),
    }
    lines = [f"{name}={value}" for name, value in settings.items()]
    (folder / "data").mkdir()
    (folder / "server.properties").write_text("\n".join(lines))
    (folder / "log4j2.properties").write_text(LOGGING)
    return client_port


@cache
def _formatted(jars: Path, features: Sequence[str]) -> dict[str, bytes]:
    """What Kafka's own tool makes of an empty data folder; it does not depend on the ports."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _configure(folder, NEW_OFFSETS_TOPIC.partition_count)
        asked = ["format", "-t", CLUSTER_ID, "-c", str(folder / "server.properties")]
        if features:
            with (folder / "server.properties").open("a") as settings:
                settings.write("\nunstable.feature.versions.enable=true")
        for feature in features:
            asked += ["--feature", feature]
        tool = java(folder, "kafka.tools.StorageTool", *asked, jars=jars)
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        files = [path for path in (folder / "data").rglob("*") if path.is_file()]
        return {str(path.relative_to(folder / "data")): path.read_bytes() for path in files}


def _create_topics(folder: Path, topics: Mapping[str, ClusterTopic], leader_epoch: int) -> None:
    """Add the topics to what the controller writes into its empty metadata log."""
    values = creating(topics, leader_epoch)
    records = [LoggedRecord(place, 0, None, value) for place, value in enumerate(values)]
    bootstrap = folder / "data" / "bootstrap.checkpoint"
    if not bootstrap.exists():
        # From 4.4 on it is a snapshot. `__consumer_offsets` is created when a client looks for a coordinator.
        assert topics.keys() == {OFFSETS_TOPIC}
        return
    with bootstrap.open("ab") as checkpoint:
        checkpoint.write(encode_batch(records, 1, base_sequence=NO_SEQUENCE))


def _last_leader_epoch(partitions: list[Path]) -> int:
    """The leader of this start must not have an older epoch than the batches that are there."""
    return max(
        (
            batch.header.leader_epoch or 0
            for partition in partitions
            for segment in partition.glob("*.log")
            for batch in read_batches(segment)
            if isinstance(batch, Batch)
        ),
        default=0,
    )
