"""Groups as a broker's admin interface describes them, in the shape of `state` as far as it goes.

Of classic groups there is no epoch, and of offsets no time of commit. Consumer groups are asked for with
ConsumerGroupDescribe itself, as no client library shows the epochs.
"""

import socket
import struct
import time
from collections.abc import Iterable
from typing import Any, Final

from confluent_kafka import ConsumerGroupType
from confluent_kafka.admin import AdminClient
from kafka import KafkaAdminClient

from rebalance_audit.wire.primitives import read_uvarint, uvarint
from tests.support.broker import Broker

LOAD_SECONDS_MAX: Final = 300
CONSUMER_GROUP_DESCRIBE: Final = 69


def described_groups(broker: Broker, group_ids: Iterable[str]) -> list[dict[str, Any]]:
    """All groups of the broker by id, once those named are loaded."""
    admin = broker.admin()
    types = _types(admin, set(group_ids))
    modern = sorted(each for each, kind in types.items() if kind == ConsumerGroupType.CONSUMER)
    classic = sorted(each for each, kind in types.items() if kind == ConsumerGroupType.CLASSIC)
    assert len(modern) + len(classic) == len(types)
    described = {group["group_id"]: group for group in _consumer_groups(broker.port, modern)}
    if classic:
        for group_id, answer in admin.describe_consumer_groups(classic).items():
            described[group_id] = _classic_group(answer.result())
    for group_id, offsets in _offsets(broker, list(described)).items():
        described[group_id]["offsets"] = offsets
    return [described[group_id] for group_id in sorted(described)]


def as_admin_shows(described: dict[str, Any]) -> dict[str, Any]:
    """Our own description less what the admin interface does not show."""
    shown = dict(described)
    if shown["type"] == "Classic":
        shown["epoch"] = None
    shown["offsets"] = {
        topic: {
            number: {name: value for name, value in offset.items() if name != "committed_at"}
            for number, offset in numbers.items()
        }
        for topic, numbers in described["offsets"].items()
    }
    return shown


def _types(admin: AdminClient, awaited: set[str]) -> dict[str, ConsumerGroupType]:
    """Group id -> type, as soon as the coordinator has loaded the awaited groups and fails on no partition."""
    deadline = time.monotonic() + LOAD_SECONDS_MAX
    while True:
        listing = admin.list_consumer_groups().result()
        found = {group.group_id: group.type for group in listing.valid}
        if not listing.errors and awaited <= set(found):
            return found
        assert time.monotonic() < deadline, (awaited - set(found), listing.errors)
        time.sleep(0.05)


def _classic_group(group: Any) -> dict[str, Any]:
    members = [
        {
            "member_id": member.member_id,
            "instance_id": member.group_instance_id,
            "client_id": member.client_id,
            "client_host": member.host,
            "epoch": None,
            "assignment": _topics(
                (each.topic, each.partition) for each in member.assignment.topic_partitions
            ),
            "target": None,
        }
        for member in group.members
    ]
    return {
        "group_id": group.group_id,
        "type": "Classic",
        "state": group.state.name.title().replace("_", ""),
        "epoch": None,
        "assignment_epoch": None,
        "assignor": group.partition_assignor,
        "members": sorted(members, key=lambda member: member["member_id"]),
    }


def _offsets(broker: Broker, group_ids: list[str]) -> dict[str, dict[str, dict[str, Any]]]:
    """Asked with kafka-python: librdkafka 2.16 reads beyond the end of a commit's metadata."""
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    try:
        answer = admin.list_group_offsets(group_ids)
    finally:
        admin.close()
    groups: dict[str, dict[str, dict[str, Any]]] = {}
    for group_id, offsets in answer.items():
        topics = groups[group_id] = {}
        for (topic, number), held in sorted(offsets.items()):
            topics.setdefault(topic, {})[str(number)] = {
                "offset": held.offset,
                "leader_epoch": None if held.leader_epoch < 0 else held.leader_epoch,
                "metadata": held.metadata,
            }
    return groups


def _topics(partitions: Iterable[tuple[str, int]]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        topics.setdefault(topic, []).append(number)
    return topics


# --- ConsumerGroupDescribe, version 0 -----------------------------------------------------------


def _consumer_groups(port: int, group_ids: list[str]) -> list[dict[str, Any]]:
    no_tags, no_operations = b"\0", b"\0"
    header = struct.pack(">hhih", CONSUMER_GROUP_DESCRIBE, 0, 1, -1) + no_tags
    asked = b"".join(uvarint(len(text) + 1) + text for text in map(str.encode, group_ids))
    request = header + uvarint(len(group_ids) + 1) + asked + no_operations + no_tags
    with socket.create_connection(("127.0.0.1", port), LOAD_SECONDS_MAX) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        with connection.makefile("rb") as stream:
            (size,) = struct.unpack(">i", stream.read(4))
            answer = _Answer(stream.read(size))
    answer.int32()  # correlation id
    answer.tags()
    answer.int32()  # throttle time
    return answer.array(answer.group)


class _Answer:
    """The response, field by field."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def _number(self, layout: str) -> int:
        number: int = struct.unpack_from(layout, self.data, self.position)[0]
        self.position += struct.calcsize(layout)
        return number

    def int32(self) -> int:
        return self._number(">i")

    def _size(self) -> int:
        size, self.position = read_uvarint(self.data, self.position)
        return size - 1

    def string(self) -> str | None:
        size = self._size()
        if size < 0:
            return None
        self.position += size
        return self.data[self.position - size : self.position].decode()

    def array(self, element: Any) -> list[Any]:
        return [element() for _ in range(self._size())]

    def tags(self) -> None:
        assert self.data[self.position] == 0
        self.position += 1

    def group(self) -> dict[str, Any]:
        error, message = self._number(">h"), self.string()
        assert error == 0, (error, message)
        group = {
            "group_id": self.string(),
            "type": "Consumer",
            "state": self.string(),
            "epoch": self.int32(),
            "assignment_epoch": self.int32(),
            "assignor": self.string(),
            "members": sorted(self.array(self.member), key=lambda member: member["member_id"]),
        }
        self.int32()  # authorized operations
        self.tags()
        return group

    def member(self) -> dict[str, Any]:
        member_id, instance_id, _rack = self.string(), self.string(), self.string()
        member_epoch, client_id, client_host = self.int32(), self.string(), self.string()
        self.array(self.string)  # subscribed topic names
        self.string()  # subscribed regular expression
        member = {
            "member_id": member_id,
            "instance_id": instance_id,
            "client_id": client_id,
            "client_host": client_host,
            "epoch": member_epoch,
            "assignment": self.assignment(),
            "target": self.assignment(),
        }
        self.tags()
        return member

    def assignment(self) -> dict[str, list[int]]:
        topics = self.array(self.topic)
        self.tags()
        return _topics((topic, number) for topic, numbers in topics for number in numbers)

    def topic(self) -> tuple[str | None, list[int]]:
        self.position += 16  # topic id
        found = self.string(), self.array(self.int32)
        self.tags()
        return found
