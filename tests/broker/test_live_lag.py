"""Lag of groups of a live broker, against Kafka's own tool at the same moment."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from rebalance_audit.live_cluster.kafka_cluster import KafkaCluster, KafkaSettings
from rebalance_audit.local.audit import audit_segments
from tests.cli.call import PROGRAM
from tests.support.broker import Broker, running_broker
from tests.support.broker_folder import java
from tests.support.live_groups import HASTE, TOPIC, TOPIC_PARTITIONS, make_topic

pytestmark = pytest.mark.broker

GROUPS = {
    "steady": "read_uncommitted",
    "late": "read_uncommitted",
    "exactly-once": "read_committed",
}
"""Group id -> isolation level of its consumers."""
DESCRIBE = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


def now_ms() -> int:
    """By this machine's clock, as the broker's."""
    return time.time_ns() // 1_000_000


def produce(broker: Broker, each: int) -> None:
    """So many records into every partition."""
    producer = Producer(broker.client_settings)
    for number in range(TOPIC_PARTITIONS):
        for _ in range(each):
            producer.produce(TOPIC, b"x", partition=number)
    assert producer.flush(60) == 0


def produce_in_transactions(broker: Broker) -> Producer:
    """A transaction that commits, one that aborts, and one that stays open until its producer, returned, ends it."""
    # The longest that a broker allows: then it would abort the open one.
    settings = {"transactional.id": "lag", "transaction.timeout.ms": 900_000}
    producer = Producer({**broker.client_settings, **settings})
    producer.init_transactions()
    for end in (producer.commit_transaction, producer.abort_transaction, producer.flush):
        producer.begin_transaction()
        for number in range(TOPIC_PARTITIONS):
            producer.produce(TOPIC, b"x", partition=number)
        end()
    return producer


def commit(broker: Broker, group_id: str, isolation: str, behind: int) -> None:
    """Commit in all partitions so many offsets before the end that a consumer of this isolation level sees."""
    consumer = Consumer(
        {
            **broker.client_settings,
            "group.id": group_id,
            "isolation.level": isolation,
            "enable.auto.commit": False,
        }
    )
    try:
        places = [TopicPartition(TOPIC, number) for number in range(TOPIC_PARTITIONS)]
        ends = [consumer.get_watermark_offsets(place, timeout=60)[1] for place in places]
        offsets = [
            TopicPartition(TOPIC, number, max(0, end - behind)) for number, end in enumerate(ends)
        ]
        consumer.assign(places)
        consumer.commit(offsets=offsets, asynchronous=False)
    finally:
        consumer.close()


def member_of(broker: Broker, group_id: str) -> Consumer:
    """A consumer that owns all partitions of the topic."""
    isolation = GROUPS[group_id]
    settings = {"group.id": group_id, "isolation.level": isolation, "enable.auto.commit": False}
    consumer = Consumer({**broker.client_settings, **settings, "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    until = time.monotonic() + 60
    while len(consumer.assignment()) < TOPIC_PARTITIONS and time.monotonic() < until:
        consumer.poll(0.1)
    assert len(consumer.assignment()) == TOPIC_PARTITIONS
    return consumer


def transactional_producer(broker: Broker) -> Producer:
    """The producer of a transactional application."""
    settings = {"transactional.id": "offsets", "transaction.timeout.ms": 900_000}
    producer = Producer({**broker.client_settings, **settings})
    producer.init_transactions()
    return producer


def send_offsets(producer: Producer, consumer: Consumer, offset: int) -> None:
    """Begin a transaction that commits this offset of every partition."""
    producer.begin_transaction()
    offsets = [TopicPartition(TOPIC, number, offset) for number in range(TOPIC_PARTITIONS)]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata())


def first_lag(broker: Broker, groups: int) -> dict[str, dict[str, Any]]:
    """Group id -> what `watch --lag` says of it, in the first line that has so many groups with all partitions."""
    source = f"kafka:{broker.bootstrap_servers}"
    command = [*PROGRAM, "watch", source, "--lag", "0.5", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                said = json.loads(line)
                found = {each["group_id"]: each for each in said.get("groups", ())}
                sampled = [each["partitions"] for each in found.values()]
                if sampled == [TOPIC_PARTITIONS] * groups:
                    return found
        finally:
            process.send_signal(signal.SIGTERM)
    raise AssertionError("watch ended")


def described(broker: Broker) -> dict[tuple[str, int], tuple[int, int, int]]:
    """(group, partition) -> committed offset, end offset and lag, as kafka-consumer-groups prints them."""
    groups = [each for group_id in GROUPS for each in ("--group", group_id)]
    asked = ("--bootstrap-server", broker.bootstrap_servers, "--describe", "--offsets", *groups)
    command = java(broker.folder, DESCRIBE, *asked)
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    rows = [line.split() for line in out.splitlines()]
    return {
        (row[0], int(row[2])): (int(row[3]), int(row[4]), int(row[5]))
        for row in rows
        if len(row) > 5 and row[0] in GROUPS and row[1] == TOPIC
    }


def test_lag_equals_what_kafka_consumer_groups_describes(tmp_path: Path) -> None:
    """Committed offsets from the log, end offsets from the cluster, also while a transaction is open.

    The tool counts to the end of read_uncommitted for every group, whatever its consumers read.
    """
    with running_broker(tmp_path / "broker", settings=HASTE) as broker:
        make_topic(broker)
        produce(broker, 50)
        open_transaction = produce_in_transactions(broker)
        for group_id, isolation in GROUPS.items():
            commit(broker, group_id, isolation, behind=7 if group_id == "late" else 0)
        produce(broker, 5)
        before_ms = now_ms()
        described_rows = described(broker)
        cluster = KafkaCluster(broker.bootstrap_servers, KafkaSettings())
        asked = [(TOPIC, number) for number in range(TOPIC_PARTITIONS)]
        found = cluster.end_offsets([*asked, ("gone", 0), (TOPIC, 99)], now_ms)
        log = audit_segments(broker.folder / "data")
        groups = log.state().groups
        open_transaction.abort_transaction()
    assert len(described_rows) == len(GROUPS) * TOPIC_PARTITIONS
    samples = {partition: of.samples[0] for partition, of in found.items()}
    assert samples.keys() == set(asked)
    for group in groups:
        for number in range(TOPIC_PARTITIONS):
            committed = group["offsets"][TOPIC][str(number)]["offset"]
            end = samples[TOPIC, number].end_offset
            assert (committed, end, end - committed) == described_rows[group["group_id"], number]
    for sample in samples.values():
        assert (sample.start_offset, sample.sampled_at_ms >= before_ms) == (0, True)
        assert sample.max_timestamp_ms is not None
        assert abs(sample.max_timestamp_ms - before_ms) < 600_000
    lags = {group_id: lag for (group_id, _), (_, _, lag) in described_rows.items()}
    # 5 records, for read_committed also the open transaction's.
    assert lags == {"steady": 5, "late": 12, "exactly-once": 6}


def test_watch_shows_the_lag_that_kafka_consumer_groups_describes(tmp_path: Path) -> None:
    """Of groups with members, by owner; one commits in transactions: one is aborted and one first open."""
    with running_broker(tmp_path / "broker", settings=HASTE) as broker:
        make_topic(broker)
        produce(broker, 50)
        open_transaction = produce_in_transactions(broker)
        members = {group_id: member_of(broker, group_id) for group_id in GROUPS}
        for group_id, committed in (("steady", 50), ("late", 3)):
            places = [
                TopicPartition(TOPIC, number, committed) for number in range(TOPIC_PARTITIONS)
            ]
            members[group_id].commit(offsets=places, asynchronous=False)
        producer = transactional_producer(broker)
        lags = []
        for offset, end in (
            (40, producer.commit_transaction),
            (45, producer.abort_transaction),
            (47, producer.flush),
        ):
            send_offsets(producer, members["exactly-once"], offset)
            end()
        produce(broker, 5)
        for end in (producer.commit_transaction, open_transaction.abort_transaction):
            found = first_lag(broker, len(GROUPS))
            lags.append({group_id: each["lag_records"] for group_id, each in found.items()})
            expected = dict.fromkeys(GROUPS, 0)
            for (group_id, _), (_, _, lag) in described(broker).items():
                expected[group_id] += lag
            assert lags[-1] == expected
            end()
        for member in members.values():
            member.close()
    assert min(lags[0].values()) > 0
    committed = lags[0]["exactly-once"] - lags[1]["exactly-once"]
    assert committed == (47 - 40) * TOPIC_PARTITIONS
    for each in found.values():
        (owner,) = each["owners"]
        assert (owner["client_id"], owner["lag_records"]) == ("rdkafka", each["lag_records"])
        assert each["lag_max_ms"] is None or each["lag_min_ms"] <= each["lag_max_ms"]
