"""What all stories of one broker share: its release, its topics, and the moments when it is restarted."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from workshop.lab.connection import PATIENCE_S, Connection

NONE: Final = 0
PASSING: Final = frozenset({14, 15, 16, 51})
"""COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, CONCURRENT_TRANSACTIONS."""
LEADERSHIP_MISSING: Final = frozenset({3, 5, 6})
"""UNKNOWN_TOPIC_OR_PARTITION, LEADER_NOT_AVAILABLE, NOT_LEADER_OR_FOLLOWER."""
PUBLISHED_S: Final = 0.3
"""A broker's coordinator hears of the cluster's metadata last, some milliseconds after the partitions have a leader."""


class RefusedError(Exception):
    """The broker answered with an error."""

    def __init__(self, code: int, message: object) -> None:
        super().__init__(f"error {code}: {message}")
        self.code = code


class Restarts:
    """The broker is restarted when every story that still goes on waits for it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._going_on = 0
        self._waiting = 0
        self._count = 0

    def begin(self, stories: int) -> None:
        """Number of stories that will go on."""
        self._going_on = stories

    def wait(self) -> None:
        """A story waits for the next restart."""
        with self._changed:
            before = self._count
            self._waiting += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._count > before)

    def over(self) -> None:
        """A story is over."""
        with self._changed:
            self._going_on -= 1
            self._changed.notify_all()

    def serve(self, restart: Callable[[], None]) -> None:
        """Restart whenever all wait, until all stories are over."""
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting == self._going_on)
                if not self._going_on:
                    return
                try:
                    restart()
                finally:
                    self._waiting = 0
                    self._count += 1
                    self._changed.notify_all()


@dataclass
class World:
    """One broker."""

    port: int
    jars: Path
    release: str
    restarts: Restarts = field(default_factory=Restarts)
    partition_counts: dict[str, int] = field(default_factory=dict)

    def connect(self, client_id: str) -> Connection:
        """A connection of its own."""
        return Connection(self.port, self.jars, client_id)


def answered(connection: Connection, name: str, **fields: Any) -> dict[str, Any]:
    """Ask until the coordinator is there. Raises RefusedError for any other error."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        answer = connection.ask(name, **fields)
        code, message = error_of(answer)
        if code == NONE:
            return answer
        if code not in PASSING or time.monotonic() > deadline:
            raise RefusedError(code, message)
        time.sleep(0.1)


def error_of(answer: dict[str, Any]) -> tuple[int, object]:
    """The error of an answer, of its first row if it answers in rows."""
    rows = [answer]
    for name in ("groups", "coordinators", "responses", "results", "topics", "members"):
        first = answer.get(name)
        if first and isinstance(first[0], dict):
            rows.append(first[0])
    for row in rows:
        if row.get("error_code"):
            return row["error_code"], row.get("error_message")
    return NONE, None


class Admin:
    """Topics and configurations, as an administrator changes them."""

    def __init__(self, world: World, connection: Connection) -> None:
        self._world = world
        self._connection = connection

    def await_coordinator(self) -> None:
        """Wait until there are coordinators; this creates `__consumer_offsets` if need be."""
        answered(self._connection, "FindCoordinator", key_type=0, coordinator_keys=["lab"])

    def create_topics(self, partition_counts: Mapping[str, int]) -> None:
        """Create topics, and wait until the coordinator knows them."""
        rows = [
            {"name": name, "num_partitions": count, "replication_factor": 1}
            for name, count in partition_counts.items()
        ]
        answered(self._connection, "CreateTopics", topics=rows, timeout_ms=60_000)
        self._world.partition_counts.update(partition_counts)
        self.await_published(partition_counts)

    def grow_topic(self, name: str, partition_count: int) -> None:
        """Let a topic grow, and wait until the coordinator knows it."""
        row = {"name": name, "count": partition_count, "assignments": None}
        answered(self._connection, "CreatePartitions", topics=[row], timeout_ms=60_000)
        self._world.partition_counts[name] = partition_count
        self.await_published({name: partition_count})

    def await_published(self, partition_counts: Mapping[str, int]) -> None:
        """Wait until the last partition of each topic has a leader, and the coordinator knows of it."""
        rows = [
            {"name": name, "partitions": [{"partition_index": count - 1, "timestamp": -1}]}
            for name, count in partition_counts.items()
        ]
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._connection.ask("ListOffsets", replica_id=-1, topics=rows)
            codes = {row["error_code"] for each in answer["topics"] for row in each["partitions"]}
            if codes == {NONE}:
                break
            assert codes <= LEADERSHIP_MISSING | {NONE}, codes
            assert time.monotonic() < deadline, "a topic is not published"
            time.sleep(0.1)
        time.sleep(PUBLISHED_S)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        del self._world.partition_counts[name]
        row = {"name": name}
        answered(self._connection, "DeleteTopics", topics=[row], timeout_ms=60_000)
        while not self._is_unknown(name):
            time.sleep(0.1)
        time.sleep(PUBLISHED_S)

    def _is_unknown(self, name: str) -> bool:
        answer = self._connection.ask(
            "Metadata", topics=[{"name": name, "topic_id": bytes(16)}], allow_auto_topic_creation=0
        )
        return bool(answer["topics"][0]["error_code"] in LEADERSHIP_MISSING)

    def configure_group(self, group_id: str, settings: dict[str, str]) -> None:
        """Set a group's own configuration (KIP-1043)."""
        rows = [{"name": name, "value": value} for name, value in settings.items()]
        resource = {"resource_type": 32, "resource_name": group_id, "configs": rows}
        answered(self._connection, "IncrementalAlterConfigs", resources=[resource])
        asked = {"resource_type": 32, "resource_name": group_id, "configuration_keys": None}
        while True:
            answer = self._connection.ask("DescribeConfigs", resources=[asked])
            configs = {row["name"]: row["value"] for row in answer["results"][0]["configs"]}
            if settings.items() <= configs.items():
                break
            time.sleep(0.1)
        time.sleep(PUBLISHED_S)

    def delete_group(self, group_id: str) -> None:
        """Delete a group without members."""
        answered(self._connection, "DeleteGroups", groups_names=[group_id])
