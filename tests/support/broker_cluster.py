"""Three real Kafka brokers on loopback ports; the first is the controller as well."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

from rebalance_audit.wire.topic_names import topic_id_text
from tests.support.broker import Broker
from tests.support.broker_folder import OFFSETS_TOPIC, make_folder
from tests.support.ports import free_ports

BROKERS: Final = 3
SETTINGS: Final = {
    "offsets.topic.replication.factor": str(BROKERS),
    # One that is killed is missed soon.
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "3000",
}


@contextmanager
def running_cluster(folder: Path, settings: Mapping[str, str]) -> Iterator[Sequence[Broker]]:
    """Brokers in an empty folder; the coordinator's topic has a replica on each of them."""
    wanted = {**SETTINGS, **settings}
    brokers = [_controller(folder / "1", wanted)]
    for number in range(2, BROKERS + 1):
        brokers.append(_beside(brokers[0].folder, folder / str(number), number))
    with ExitStack() as stack:
        for broker in brokers:
            stack.callback(broker.kill)
            broker.start()
        yield brokers


def leaders_of(broker: Broker) -> dict[int, int]:
    """Partition of `__consumer_offsets` -> the broker that leads it, -1 without any."""
    topic = broker.admin().list_topics(OFFSETS_TOPIC, timeout=60).topics[OFFSETS_TOPIC]
    return {number: partition.leader for number, partition in topic.partitions.items()}


def _controller(folder: Path, settings: Mapping[str, str]) -> Broker:
    port = make_folder(folder, None, {}, creates_offsets_topic=False)
    _add(folder, settings)
    return Broker(folder, port)


def _beside(first: Path, folder: Path, number: int) -> Broker:
    """A broker of the same cluster, which asks the first one's controller."""
    (port,) = free_ports(1)
    (folder / "data").mkdir(parents=True)
    (folder / "log4j2.properties").write_text((first / "log4j2.properties").read_text())
    (folder / "server.properties").write_text((first / "server.properties").read_text())
    own = {
        "process.roles": "broker",
        "node.id": str(number),
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "log.dirs": str(folder / "data"),
    }
    _add(folder, own)
    text = (first / "data" / "meta.properties").read_text()
    others = [
        line for line in text.splitlines() if not line.startswith(("node.id", "directory.id"))
    ]
    others += [f"node.id={number}", f"directory.id={topic_id_text(uuid4().bytes)}"]
    (folder / "data" / "meta.properties").write_text("\n".join(others))
    return Broker(folder, port)


def _add(folder: Path, settings: Mapping[str, str]) -> None:
    """Of two lines for one name the last one counts."""
    with (folder / "server.properties").open("a") as file:
        file.writelines(f"\n{name}={value}" for name, value in settings.items())
