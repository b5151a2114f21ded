"""Members of the classic protocol, and the join phases in which all of them meet."""

import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from rebalance_audit.wire.generic import decode, encode
from rebalance_audit.wire.schema import record_schemas
from workshop.lab.connection import PATIENCE_S, Connection
from workshop.lab.world import PASSING, RefusedError, answered, error_of

REBALANCE_IN_PROGRESS: Final = 27
MEMBER_ID_REQUIRED: Final = 79
PROTOCOL_TYPE: Final = "consumer"
COOPERATIVE: Final = "cooperative-sticky"
EMBEDDED_VERSION: Final = 1
SESSION_MS: Final = 600_000
PAUSE_S: Final = 0.05

Owned: TypeAlias = dict[str, list[int]]
"""Topic -> partitions."""


def _embedded(name: str, value: dict[str, Any]) -> bytes:
    message = record_schemas().embedded[name]
    body = encode(message, EMBEDDED_VERSION, message.layouts[0], value)
    return struct.pack(">h", EMBEDDED_VERSION) + body


def _rows(owned: Owned) -> list[dict[str, Any]]:
    return [{"topic": topic, "partitions": numbers} for topic, numbers in owned.items()]


class ClassicMember:
    """One member."""

    def __init__(self, connection: Connection, group_id: str, instance_id: str | None) -> None:
        self.connection = connection
        self.group_id = group_id
        self.instance_id = instance_id
        self.member_id = ""
        self.generation = -1
        self.alive = True
        self.topics: list[str] = []
        self.assignors = ["range"]
        self.session_ms = SESSION_MS
        self.rebalance_ms = SESSION_MS
        self.reason: str | None = None
        self.owns: Owned = {}

    @property
    def epoch(self) -> int:
        """The generation that the member is in."""
        return self.generation

    def configure(self, options: Mapping[str, str]) -> None:
        """Take over what a story says."""
        if "topics" in options:
            self.topics = [name for name in options["topics"].split(",") if name]
        if "assignor" in options:
            self.assignors = options["assignor"].split(",")
        self.session_ms = int(options.get("session", self.session_ms))
        self.rebalance_ms = int(options.get("timeout", self.rebalance_ms))
        self.reason = options.get("reason")

    def send_join(self) -> None:
        """Ask to join; a new dynamic member asks for its id first."""
        if not self.member_id and self.instance_id is None:
            answer = self.connection.ask("JoinGroup", **self._join_fields())
            while error_of(answer)[0] in PASSING:
                time.sleep(PAUSE_S)
                answer = self.connection.ask("JoinGroup", **self._join_fields())
            if answer["error_code"] != MEMBER_ID_REQUIRED:
                raise RefusedError(*error_of(answer))
            self.member_id = answer["member_id"]
        self.connection.send("JoinGroup", **self._join_fields())

    def take_join(self) -> dict[str, Any]:
        """The answer to the join."""
        answer = self.connection.answer()
        if answer["error_code"]:
            raise RefusedError(*error_of(answer))
        self.member_id = answer["member_id"]
        self.generation = answer["generation_id"]
        return answer

    def sync(self, protocol: str, assignments: Mapping[str, Owned]) -> None:
        """Get the assignment; the leader brings it."""
        rows = [
            {
                "member_id": member_id,
                "assignment": _embedded(
                    "ConsumerProtocolAssignment",
                    {"assigned_partitions": _rows(owned), "user_data": None},
                ),
            }
            for member_id, owned in assignments.items()
        ]
        answer = answered(
            self.connection,
            "SyncGroup",
            **self._who(),
            protocol_type=PROTOCOL_TYPE,
            protocol_name=protocol,
            assignments=rows,
        )
        message = record_schemas().embedded["ConsumerProtocolAssignment"]
        data = answer["assignment"]
        if data:
            version = struct.unpack_from(">h", data)[0]
            value = decode(message, version, message.layouts[0], data, 2).value
            self.owns = {row["topic"]: row["partitions"] for row in value["assigned_partitions"]}

    def is_called(self) -> bool:
        """A heartbeat: whether the group rebalances."""
        code, message = error_of(self.connection.ask("Heartbeat", **self._who()))
        if code and code != REBALANCE_IN_PROGRESS and code not in PASSING:
            raise RefusedError(code, message)
        return code == REBALANCE_IN_PROGRESS

    def leave(self, reason: str | None) -> None:
        """Leave for good."""
        row = {
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "reason": reason,
        }
        answered(self.connection, "LeaveGroup", group_id=self.group_id, members=[row])
        self.alive = False

    def _who(self) -> dict[str, Any]:
        return {
            "group_id": self.group_id,
            "generation_id": self.generation,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
        }

    def _join_fields(self) -> dict[str, Any]:
        protocols = [{"name": name, "metadata": self._metadata(name)} for name in self.assignors]
        return {
            "group_id": self.group_id,
            "session_timeout_ms": self.session_ms,
            "rebalance_timeout_ms": self.rebalance_ms,
            "member_id": self.member_id,
            "group_instance_id": self.instance_id,
            "protocol_type": PROTOCOL_TYPE,
            "protocols": protocols,
            "reason": self.reason,
        }

    def _metadata(self, assignor: str) -> bytes:
        owned = self.owns if assignor == COOPERATIVE else {}
        value = {"topics": self.topics, "user_data": None, "owned_partitions": _rows(owned)}
        return _embedded("ConsumerProtocolSubscription", value)


def rally(
    first: Sequence[ClassicMember], others: Sequence[ClassicMember], counts: Mapping[str, int]
) -> None:
    """A join phase if there is one: `first` have asked to join; `others` do so when a heartbeat calls them.

    The leader then hands the partitions out (`counts`: how many each topic has), and all sync.
    """
    joining = list(first)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        for member in others:
            if member not in joining and member.is_called():
                member.send_join()
                joining.append(member)
        if all(member.connection.answered() for member in joining):
            break
        assert time.monotonic() < deadline, "a join phase does not end"
        time.sleep(PAUSE_S)
    joined = [(member, member.take_join()) for member in joining]
    leading = [each for each in joined if each[1]["leader"] == each[0].member_id]
    following = [each for each in joined if each not in leading]
    for member, answer in leading:
        assignments = _handed_out(answer, {each.member_id: each for each in joining}, counts)
        member.sync(answer["protocol_name"], {} if answer["skip_assignment"] else assignments)
    for member, answer in following:
        member.sync(answer["protocol_name"], {})


def _handed_out(
    answer: Mapping[str, Any], members: Mapping[str, ClassicMember], counts: Mapping[str, int]
) -> dict[str, Owned]:
    """Partitions in turn; in the cooperative protocol none that another member has not given up yet."""
    held = {
        (topic, number): member_id
        for member_id, member in members.items()
        if answer["protocol_name"] == COOPERATIVE
        for topic, numbers in member.owns.items()
        for number in numbers
    }
    ids = sorted(row["member_id"] for row in answer["members"])
    assignments: dict[str, Owned] = {member_id: {} for member_id in ids}
    topics = {topic for member in members.values() for topic in member.topics} & counts.keys()
    for topic in sorted(topics):
        takers = [each for each in ids if each not in members or topic in members[each].topics]
        for number in range(counts[topic]):
            taker = takers[number % len(takers)]
            if held.get((topic, number), taker) == taker:
                assignments[taker].setdefault(topic, []).append(number)
    return assignments
