"""Plays the stories with members of one client library, and keeps what brokers and clients wrote.

- segments: the log of the coordinator, and of the topics' creation
- produced.tsv: each record: epoch milliseconds (LogAppendTime), topic, partition, offset, number
- samples.jsonl: end offsets, sampled every five seconds
- clients/G/M.tsv: log of member M of group G; see readers.py
- killed.tsv: epoch milliseconds, group, member
"""

import json
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from confluent_kafka import Message, Producer, TopicPartition
from confluent_kafka.admin import NewTopic

from rebalance_audit.live_cluster.kafka_cluster import KafkaCluster, KafkaSettings
from tests.support.broker import Broker, running_broker
from tests.support.broker_folder import java
from workshop.reads.readers import command_of, compiled
from workshop.reads.stories import (
    ENDS_S,
    RATES,
    SHORT_TOPIC,
    STORIES,
    TOPICS,
    TRIMMED_S,
    TRIMMED_TO,
    Step,
    Story,
)

SAMPLED_EVERY_S: Final = 5.0
COMMIT_MS: Final = 2_000
SESSION_MS: Final = 6_000
SETTINGS: Final = {
    "group.initial.rebalance.delay.ms": "1000",
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
    "offsets.topic.num.partitions": "4",
}
TOOL: Final = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


def now_ms() -> int:
    """By this machine's clock, as brokers and clients."""
    return time.time_ns() // 1_000_000


def cast(client: str) -> Iterator[tuple[str, Story]]:
    """The stories that a client library plays, and in which protocol.

    aiokafka has no consumer protocol. Java plays each story in one of them: its processes take long to start.
    """
    for index, story in enumerate(STORIES):
        if client != "aiokafka" and (client != "java" or index % 2):
            yield "consumer", story
        if client != "java" or not index % 2:
            yield "classic", story


def record(folder: Path, client: str, into: Path) -> None:
    """Play all stories at the same time; they begin once all first members have partitions."""
    (into / "clients").mkdir(parents=True)
    with running_broker(folder, settings=SETTINGS) as broker:
        if client == "java":
            compiled(folder)
        admin = broker.admin()
        config = {"message.timestamp.type": "LogAppendTime"}
        topics = [NewTopic(each, len(RATES), 1, config=config) for each in TOPICS]
        for made in admin.create_topics(topics).values():
            made.result()
        plays = [_Play(broker, client, *each, into) for each in cast(client)]
        with ExitStack() as running:
            running.enter_context(_background(lambda over: _produce(broker, into, over)))
            running.enter_context(_background(lambda over: _sample(broker, into, over)))
            for play in plays:
                running.callback(play.end)
                play.begin()
            while not all(play.has_begun() for play in plays):
                time.sleep(0.1)
            began_s = time.monotonic()
            threads = [threading.Thread(target=play.run, args=(began_s,)) for play in plays]
            threads.append(threading.Thread(target=_trim, args=(broker, began_s)))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        killed = sorted(line for play in plays for line in play.killed)
        (into / "killed.tsv").write_text("".join(killed))
        broker.stop()
    for segment in (folder / "data").glob("__c*/*.log"):
        target = into / "segments" / segment.parent.name / segment.name
        if segment.stat().st_size:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(segment, target)


def _until(began_s: float, at_s: float) -> None:
    time.sleep(max(0.0, began_s + at_s - time.monotonic()))


class _Play:
    """One story in one group."""

    def __init__(
        self, broker: Broker, client: str, protocol: str, story: Story, into: Path
    ) -> None:
        self._broker, self._client, self._protocol = broker, client, protocol
        self._story = story
        self._group = f"{story.name}-{protocol}"
        self._folder = into / "clients" / self._group
        self._members: dict[str, subprocess.Popen[bytes]] = {}
        self.killed: list[str] = []

    def begin(self) -> None:
        """Start the first members."""
        self._folder.mkdir()
        for step in self._story.steps:
            if not step.at_s:
                self._take(step)

    def has_begun(self) -> bool:
        """Whether they have partitions."""
        assert all(member.poll() is None for member in self._members.values()), "see clients.log"
        logs = [self._folder / f"{name}.tsv" for name in self._members]
        return all(log.exists() and "\tassigned\t" in log.read_text() for log in logs)

    def run(self, began_s: float) -> None:
        """All other steps, then close what still runs."""
        for step in self._story.steps:
            if step.at_s:
                _until(began_s, step.at_s)
                self._take(step)
        _until(began_s, ENDS_S)
        for member in self._members.values():
            member.send_signal(signal.SIGTERM)
        for member in self._members.values():
            assert member.wait(60) in {0, 143}

    def end(self) -> None:
        """Kill what still runs: something went wrong."""
        for member in self._members.values():
            member.kill()

    def _take(self, step: Step) -> None:
        match step.verb:
            case "start":
                self._start(step)
            case "stop":
                self._members[step.member].send_signal(signal.SIGTERM)
                self._members.pop(step.member).wait(60)
            case "kill":
                self._members[step.member].kill()
                self.killed.append(f"{now_ms()}\t{self._group}\t{step.member}\n")
                self._members.pop(step.member).wait(60)
            case "forget":
                asked = ("--delete-offsets", "--group", self._group, "--topic", self._story.topic)
                servers = ("--bootstrap-server", self._broker.bootstrap_servers)
                tool = java(self._broker.folder, TOOL, *servers, *asked)
                subprocess.run(tool, check=True, capture_output=True, timeout=120)

    def _start(self, step: Step) -> None:
        options = {
            "servers": self._broker.bootstrap_servers,
            "topic": self._story.topic,
            "group": self._group,
            "name": step.member,
            "protocol": self._protocol,
            "reset": "earliest",
            "commit_ms": str(COMMIT_MS),
            "session_ms": str(SESSION_MS),
            "habit": "plain",
            "log": str(self._folder / f"{step.member}.tsv"),
            **dict(each.split("=", 1) for each in step.options),
        }
        command = command_of(self._client, self._broker.folder, options)
        with (self._broker.folder / "clients.log").open("ab") as output:
            self._members[step.member] = subprocess.Popen(command, stdout=output, stderr=output)


@contextmanager
def _background(work: Callable[[threading.Event], None]) -> Iterator[None]:
    over = threading.Event()
    thread = threading.Thread(target=work, args=(over,))
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _produce(broker: Broker, into: Path, over: threading.Event) -> None:
    """Numbered records at the rate of each partition; `produced.tsv` has what the broker acknowledged."""
    producer = Producer(broker.client_settings)
    began_s, sent = time.monotonic(), 0
    due = [1 / rate for rate in RATES]
    with (into / "produced.tsv").open("w") as kept:

        def acknowledged(error: object, message: Message) -> None:
            assert error is None, error
            number = (message.value() or b"").decode()
            row = (message.timestamp()[1], message.topic(), message.partition(), message.offset())
            kept.write("\t".join(map(str, (*row, number))) + "\n")

        while not over.is_set():
            for partition, rate in enumerate(RATES):
                while due[partition] <= time.monotonic() - began_s:
                    due[partition] += 1 / rate
                    for topic in TOPICS:
                        sent += 1
                        producer.produce(
                            topic, str(sent), partition=partition, on_delivery=acknowledged
                        )
            producer.poll(0.02)
        assert producer.flush(60) == 0


def _sample(broker: Broker, into: Path, over: threading.Event) -> None:
    cluster = KafkaCluster(broker.bootstrap_servers, KafkaSettings())
    asked = [(topic, number) for topic in TOPICS for number in range(len(RATES))]
    with (into / "samples.jsonl").open("w") as kept:
        while True:
            for (topic, number), samples in cluster.end_offsets(asked, now_ms).items():
                for sample in samples.samples:
                    row = {
                        "topic": topic,
                        "topic_partition": number,
                        "sampled_at": sample.sampled_at_ms,
                        "start_offset": sample.start_offset,
                        "end_offset": sample.end_offset,
                    }
                    kept.write(json.dumps(row) + "\n")
            if over.wait(SAMPLED_EVERY_S):
                return


def _trim(broker: Broker, began_s: float) -> None:
    """Delete all but the last records of SHORT_TOPIC, as retention does."""
    _until(began_s, TRIMMED_S)
    cluster = KafkaCluster(broker.bootstrap_servers, KafkaSettings())
    asked = [(SHORT_TOPIC, number) for number in range(len(RATES))]
    until = [
        TopicPartition(topic, number, max(0, samples.samples[-1].end_offset - TRIMMED_TO))
        for (topic, number), samples in cluster.end_offsets(asked, now_ms).items()
    ]
    admin = broker.admin()  # without a reference its answers never arrive
    for deleted in admin.delete_records(until).values():
        deleted.result(60)
