"""Real clients at work on a broker: groups of both protocols that come, read, commit and go."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from confluent_kafka.cimpl import NewTopic

from tests.support.broker import Broker
from tests.support.broker_folder import OFFSETS_TOPIC

Answer = TypeVar("Answer")

TOPIC: Final = "orders"
TOPIC_PARTITIONS: Final = 4
POLL_SECONDS: Final = 0.02
PAUSE_SECONDS: Final = 0.5
"""Between two groups: Spark shall get on too."""
PATIENCE_S: Final = 300
STUCK_S: Final = 20
"""How long no member makes progress before all start anew.

librdkafka gives up a ConsumerGroupHeartbeat after one interval and does not ask again for the assignment that its lost
answer had: on a machine that stood still for a second such a member keeps what it has for ever, or nothing.
"""
PASSING: Final = frozenset(
    {
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.STALE_MEMBER_EPOCH,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError._NO_OFFSET,
        KafkaError._ASSIGNMENT_LOST,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
    }
)
"""What a commit gets that comes during a rebalance, or from a broker on a machine with much else to do."""
HASTE: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "500",
}
"""Settings of a broker whose groups must rebalance without long waits."""
PROTOCOLS: Final = ("classic", "consumer")


def make_topic(broker: Broker) -> None:
    """The topic that all groups subscribe to. Nothing is in it: who commits need not have read."""
    admin = broker.admin()

    def make() -> None:
        try:
            for made in admin.create_topics([NewTopic(TOPIC, TOPIC_PARTITIONS, 1)]).values():
                made.result()
        except KafkaException as error:
            # By an earlier attempt whose answer was lost.
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise

    _answered(make)


def compact_at_once(broker: Broker) -> None:
    """Let the cleaner of a broker that has one take every record of the offsets topic that a later one overrides."""
    at_once = {
        "cleanup.policy": "compact",  # a topic that the coordinator did not make has the broker's default
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.0",
    }
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in at_once.items()
    ]
    topic = ConfigResource(ResourceType.TOPIC, OFFSETS_TOPIC, incremental_configs=entries)
    admin = broker.admin()

    def alter() -> None:
        for altered in admin.incremental_alter_configs([topic]).values():
            altered.result()

    _answered(alter)


def work(broker: Broker, name: str, commits: int = 10) -> None:
    """A group of each protocol: two members join one after the other, commit, and leave.

    In the end both groups are empty: none of them has any more to write into the log.
    """
    for protocol in PROTOCOLS:
        join = partial(_member, broker, f"{name}-{protocol}", protocol)
        members: list[Consumer] = []
        try:
            for _ in range(2):
                members.append(join())
                _commit(members, commits, join)
        finally:
            _close(members)
    _await_empty(broker, {f"{name}-{protocol}" for protocol in PROTOCOLS})


@contextmanager
def at_work(broker: Broker) -> Iterator[None]:
    """Groups come and go, again and again, while inside."""
    over = threading.Event()
    failures: list[BaseException] = []

    def keep_on() -> None:
        number = 0
        try:
            while not over.wait(PAUSE_SECONDS):
                work(broker, f"busy-{number % 3}")
                number += 1
        except BaseException as error:  # noqa: BLE001 - raised again below, in the test's thread
            failures.append(error)

    worker = threading.Thread(target=keep_on, daemon=True)
    worker.start()
    try:
        yield
    finally:
        over.set()
        worker.join()
    if failures:
        raise failures[0]


def commit_in_transactions(broker: Broker) -> Producer:
    """Offsets of a group committed in a transaction that commits, in one that aborts, and in one that stays open.

    The open one is so until its producer, which is returned, ends it.
    """
    join = partial(_member, broker, "in-transactions", "classic")
    members = [join()]
    producer = Producer(
        {
            **broker.client_settings,
            "transactional.id": "test-transactions",
            # The longest that a broker allows: then it would abort the open one.
            "transaction.timeout.ms": 900_000,
        }
    )
    producer.init_transactions()
    try:
        _commit(members, 1, join)
        for number, end in enumerate(("commit", "abort", "open")):
            producer.begin_transaction()
            offsets = [TopicPartition(TOPIC, 0, 100 + number)]
            producer.send_offsets_to_transaction(offsets, members[0].consumer_group_metadata())
            if end == "commit":
                producer.commit_transaction()
            elif end == "abort":
                producer.abort_transaction()
    finally:
        _close(members)
    return producer


def _member(broker: Broker, group_id: str, protocol: str) -> Consumer:
    settings: dict[str, Any] = {
        **broker.client_settings,
        "group.id": group_id,
        "group.protocol": protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    if protocol == "classic":
        settings |= {"heartbeat.interval.ms": 100, "session.timeout.ms": 120_000}
    member = Consumer(settings)
    member.subscribe([TOPIC])
    return member


def _close(members: list[Consumer]) -> None:
    while members:
        members.pop().close()


def _commit(members: list[Consumer], commits: int, join: Callable[[], Consumer]) -> None:
    """Let all take part in the group until the last of them has committed so often."""
    done = 0
    got_on = time.monotonic()
    deadline = got_on + PATIENCE_S
    while done < commits:
        assert time.monotonic() < deadline, "a group does not get on"
        if time.monotonic() > got_on + STUCK_S:
            count = len(members)
            _close(members)
            members.extend(join() for _ in range(count))
            got_on = time.monotonic()
        for member in members:
            member.poll(POLL_SECONDS)
            offsets = [
                TopicPartition(TOPIC, place.partition, done) for place in member.assignment()
            ]
            if not offsets:
                continue
            try:
                member.commit(offsets=offsets, asynchronous=False)
            except KafkaException as error:
                if error.args[0].code() not in PASSING:
                    raise
                continue
            if member is members[-1]:
                done += 1
                got_on = time.monotonic()


def _await_empty(broker: Broker, group_ids: set[str]) -> None:
    admin = broker.admin()
    deadline = time.monotonic() + PATIENCE_S
    while True:
        groups = _answered(lambda: admin.list_consumer_groups().result()).valid
        empty = {group.group_id for group in groups if group.state is ConsumerGroupState.EMPTY}
        if group_ids <= empty:
            return
        assert time.monotonic() < deadline, f"members stay in {group_ids - empty}"
        time.sleep(POLL_SECONDS)


def _answered(ask: Callable[[], Answer]) -> Answer:
    """Ask a broker until it answers: on a machine with much else to do it may be late, or lack a leader."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return ask()
        except KafkaException:
            if time.monotonic() > deadline:
                raise
        time.sleep(POLL_SECONDS)
