"""A real broker fails to load partitions; with the plan and Kafka's own tool, their groups get their offsets back."""

import json
import re
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer
from kafka import KafkaAdminClient

from rebalance_audit.replay.java_order import partition_for
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord, encode_batch
from rebalance_audit.sim.brokers.batch_writer import Producer as LogProducer
from rebalance_audit.wire.generated.messages import (
    OffsetCommitKey,
    OffsetCommitValue,
)
from rebalance_audit.wire.records import encode_key, encode_value
from tests.cli.call import call
from tests.dsl import records
from tests.support.broker import Broker, running_broker
from tests.support.broker_folder import OFFSETS_TOPIC
from tests.support.cluster_topics import ClusterTopic
from tests.support.plan_commands import run_plan_commands
from workshop.lab.connection import Connection

pytestmark = pytest.mark.broker

PARTITIONS: Final = 4
TOPIC: Final = ClusterTopic(b"topic-of-records", 3)
RECORDS: Final = 50
"""Of each partition: as many as the offsets need."""
LOAD_SECONDS_MAX: Final = 120
LOAD_IN_PROGRESS: Final = 14
NOT_COORDINATOR: Final = 16
DESCRIBED: Final = re.compile(
    r"(?P<group>.*?) +(?P<topic>orders) +(?P<number>\d+) +(?P<offset>\d+) .*"
)

Pair = tuple[bytes | None, bytes | None]
Groups = dict[str, dict[int, int]]
"""Group id -> partition of the topic -> committed offset."""


def group_at(name: str, log_partition: int) -> str:
    """The name with the smallest number behind it that lives in that partition."""
    tried = (f"{name} {number}" for number in range(1000))
    return next(each for each in tried if partition_for(each, PARTITIONS) == log_partition)


def commit(group_id: str, number: int, committed: int) -> Pair:
    """An offset commit as brokers up to 4.0 write it."""
    value = OffsetCommitValue(committed, "", 1_790_000_000_000)
    return encode_key(OffsetCommitKey(group_id, "orders", number)), encode_value(value, 3)


def of_group(group_id: str, lines: str) -> list[Pair]:
    """Records in shorthand, of that group."""
    found: list[Pair] = []
    for each in records(lines):
        key: Any = each.key
        key = type(key)(group_id, *key[1:])
        found.append((encode_key(key), None if each.value is None else encode_value(each.value, 0)))
    return found


def log_of(*batches: Sequence[Pair], transactional: int) -> bytes:
    """A batch for each list of records; that number of them is an open transaction."""
    out, log_offset = b"", 0
    for place, batch in enumerate(batches):
        held = [
            LoggedRecord(log_offset + number, 1_790_000_000_000 + log_offset, *pair)
            for number, pair in enumerate(batch)
        ]
        producer = LogProducer(7, 0) if place == transactional else LogProducer()
        out += encode_batch(held, 0, producer=producer)
        log_offset += len(held)
    return out


def faults(log_partition: int) -> list[Pair]:
    """What a coordinator of 4.3 fails at, something else in each partition."""
    group = group_at("at-fault", log_partition)
    key, value = commit(group, 0, 7)
    assert value is not None
    if log_partition == 0:
        return [(key, (9).to_bytes(2) + value[2:])]
    if log_partition == 1:
        return [(key, value[:7])]
    return of_group(group, "5 A; 3 2; 7 A 0-1; 6 2; 8 A 2/0 0-1; 3t")


def names(log_partition: int) -> list[str]:
    """Groups of a partition: some of them a CSV must quote, some no line of one can hold."""
    return [
        group_at(name, log_partition)
        for name in (
            "checkout",
            'a,"b"',
            "it's $HOME",
            "two\nlines",
            "grün",
            "#tab\there\r",
            "=1+1",
        )
    ]


def good_state(log_partition: int) -> Groups:
    """What is committed before the damage."""
    return {
        name: {number: 10 * log_partition + place + number for number in range(3)}
        for place, name in enumerate(names(log_partition))
    }


def failing_log(log_partition: int) -> bytes:
    """Good commits, an open transaction, the fault, commits after it."""
    good = good_state(log_partition)
    first = names(log_partition)[0]
    return log_of(
        [commit(group_id, number, 1) for group_id in good for number in range(3)],
        [
            commit(group_id, number, at)
            for group_id in good
            for number, at in good[group_id].items()
        ],
        [commit(first, 0, 40)],
        faults(log_partition),
        [commit(first, 1, 41)],
        transactional=2,
    )


def test_the_plan_brings_the_offsets_back(tmp_path: Path) -> None:
    """Groups of any name, of partitions that fail for different reasons, with one plan."""
    placed = tmp_path / "placed"
    for log_partition in range(3):
        folder = placed / f"{OFFSETS_TOPIC}-{log_partition}"
        folder.mkdir(parents=True)
        (folder / f"{0:020}.log").write_bytes(failing_log(log_partition))
    topics = {OFFSETS_TOPIC: ClusterTopic(b"consumer-offsets", PARTITIONS), "orders": TOPIC}
    with running_broker(tmp_path / "broker", placed, topics) as broker:
        data = broker.folder / "data"
        for log_partition in range(3):
            assert await_failure(broker, log_partition) == NOT_COORDINATOR
        plan = tmp_path / "plan"
        outcome = call("recover", data, "--out", plan, "--as", "4.3")
        assert outcome.code == 0, outcome.err

        broker.stop()
        for log_partition in range(3):
            shutil.move(
                data / f"{OFFSETS_TOPIC}-{log_partition}", tmp_path / f"kept-{log_partition}"
            )
        broker.start()
        fill(broker)
        for log_partition in range(3):
            await_service(broker, names(log_partition)[0])
        steps = {
            step["name"]: step["commands"]
            for step in json.loads((plan / "plan.json").read_text())["steps"]
        }
        run_plan_commands(broker, plan, steps["check-empty"])
        wanted = {
            group_id: offsets for each in range(3) for group_id, offsets in good_state(each).items()
        }
        run_plan_commands(broker, plan, steps["dry-run"])
        assert committed(broker, wanted) == {group_id: {} for group_id in wanted}
        run_plan_commands(broker, plan, steps["execute"])
        described = run_plan_commands(broker, plan, steps["compare"])
        assert committed(broker, wanted) == wanted
        columns = in_columns(described)
        on_one_line = {group_id for group_id in wanted if group_id.isprintable()}
        assert len(on_one_line) == 3 * 5
        assert all(columns[group_id] == wanted[group_id] for group_id in on_one_line)


def error_of(broker: Broker, group_id: str) -> int:
    """What the group's coordinator answers when it is asked for offsets."""
    asked = {"group_id": group_id, "topics": None, "member_id": None, "member_epoch": -1}
    with closing(Connection(broker.port, broker.jars, "recovery")) as connection:
        (group,) = connection.ask("OffsetFetch", groups=[asked], require_stable=0)["groups"]
    error: int = group["error_code"]
    return error


def await_failure(broker: Broker, log_partition: int) -> int:
    """Until the broker has given up loading the partition; what its groups' coordinator answers then.

    The broker logs the failure before it leaves the state of loading.
    """
    failed = f"Failed to load metadata from {OFFSETS_TOPIC}-{log_partition} "
    deadline = time.monotonic() + LOAD_SECONDS_MAX
    error = LOAD_IN_PROGRESS
    while error == LOAD_IN_PROGRESS:
        assert time.monotonic() < deadline, broker.log_tail()
        time.sleep(0.1)
        if failed in (broker.folder / "broker.log").read_text():
            error = error_of(broker, names(log_partition)[0])
    return error


def await_service(broker: Broker, group_id: str) -> None:
    """Until the group's coordinator answers."""
    deadline = time.monotonic() + LOAD_SECONDS_MAX
    while error_of(broker, group_id):
        assert time.monotonic() < deadline, broker.log_tail()
        time.sleep(0.1)


def in_columns(printed: str) -> Groups:
    """What `--describe` says, of groups whose names stand on one line."""
    found: Groups = {}
    for line in printed.split("\n"):
        if row := DESCRIBED.fullmatch(line):
            found.setdefault(row["group"].strip(), {})[int(row["number"])] = int(row["offset"])
    return found


def fill(broker: Broker) -> None:
    """As many records in each partition of the topic as the offsets need."""
    producer = Producer(broker.client_settings)
    for number in range(TOPIC.partition_count):
        for _ in range(RECORDS):
            producer.produce("orders", b"", partition=number)
    assert producer.flush(LOAD_SECONDS_MAX) == 0


def committed(broker: Broker, group_ids: Iterable[str]) -> Groups:
    """By the admin interface, which any name passes through."""
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    try:
        answer = admin.list_group_offsets(list(group_ids))
    finally:
        admin.close()
    return {
        group_id: {number: held.offset for (_, number), held in sorted(offsets.items())}
        for group_id, offsets in answer.items()
    }
