"""Plays a trace of `spec/consumer.qnt` to the handlers, one step at a time, and compares what both have after it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from rebalance_audit.coordinator.assignors.group_spec import GroupSpec
from rebalance_audit.coordinator.assignors.server_assignors import SERVER_ASSIGNORS
from rebalance_audit.coordinator.consumer.release import RELEASES
from rebalance_audit.coordinator.handling import (
    CoordinatorConfig,
    Dialect,
    ErrorCode,
    Timer,
    TimerKind,
    TopicDescription,
)
from rebalance_audit.coordinator.requests.consumer import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicIdPartitions,
)
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from rebalance_audit.replay.groups import ModernGroup, ModernMember
from rebalance_audit.replay.partitions import Partitions, each
from rebalance_audit.wire.generated.messages import ZERO_UUID
from tests.spec.engine import plain
from tests.support.coordinator_driver import CoordinatorDriver, Topics

GROUP_ID: Final = "g"
NEVER_MS: Final = 1 << 50
TIMEOUT_MS: Final = 300_000
TOPIC_ID_VERSION: Final = 10
"""From this version on OffsetCommit names topics by id (4.1)."""


class DifferenceError(AssertionError):
    """Handlers and specification differ; the message says where."""


Pairs = frozenset[tuple[int, int]]


class Player:
    """One trace: a coordinator that does what the specification does."""

    def __init__(self, first: Mapping[str, Any]) -> None:
        """A coordinator of the trace's release, with its topics and no group."""
        self._dialect = Dialect(first["release"])
        self._release = RELEASES[self._dialect]
        self._names: dict[int, str] = {}
        topics = self._described(first["image"], 1)
        config = CoordinatorConfig(dialect=self._dialect, consumer_assignment_interval_ms=0)
        self._driver = CoordinatorDriver(config, topics)
        self._target: Mapping[str, Pairs] = {}
        self._was_computed = False

    # --- steps -------------------------------------------------------------------------------------

    def step(self, state: Mapping[str, Any]) -> None:
        """Do what happened on the way to this state, and compare. Raises DifferenceError."""
        kind, event = state["event"]
        with self._assignor():
            heard = getattr(self, f"_{kind.lower()}")(event)
        answer = state["answer"]
        if heard is not None and heard != answer:
            raise DifferenceError(f"{kind} {event}: answer {heard}, by the specification {answer}")
        expected, found = self._expected(state), self._found()
        for name, value in expected.items():
            if found[name] != value:
                raise DifferenceError(
                    f"{kind} {event}: {name} is {found[name]}, by the specification {value}"
                )

    def _heartbeat(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        self._driver.config.consumer_assignment_interval_ms = 0 if event["due"] else NEVER_MS
        self._target = event["target"]
        self._was_computed = False
        heard = self._send(event["request"])
        if self._was_computed != bool(event["target"]):
            raise DifferenceError(f"{event}: target computed: {self._was_computed}")
        return heard

    def _leave(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._send(request)

    def _sessionends(self, member_id: str) -> None:
        self._fire(TimerKind.SESSION, member_id)

    def _revocationends(self, member_id: str) -> None:
        self._fire(TimerKind.REBALANCE, member_id)

    def _commit(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        topic, number = event["partition"]
        by_id = self._dialect not in {Dialect.R3_9, Dialect.R4_0}
        request = OffsetCommitRequest(
            GROUP_ID,
            (
                OffsetCommitRequestTopic(
                    "" if by_id else self._names[topic],
                    (OffsetCommitRequestPartition(number, 42),),
                    topic_id(topic) if by_id else ZERO_UUID,
                ),
            ),
            event["epoch"],
            event["member"],
            api_version=TOPIC_ID_VERSION if by_id else TOPIC_ID_VERSION - 1,
        )
        response = self._driver.ask(request)
        assert isinstance(response, OffsetCommitResponse)
        error = response.topics[0].partitions[0].error_code
        return {"error": _error(error), "epoch": 0, "assigned": None}

    def _topics(self, image: Mapping[str, Any]) -> None:
        version = self._driver.topics.metadata_version + 1
        self._driver.change_topics(self._described(image, version))

    def _failover(self, _: object) -> None:
        self._driver.fail_over()

    def _clientacts(self, _: object) -> None:
        """Nothing reaches the coordinator."""

    def _send(self, event: Mapping[str, Any]) -> Mapping[str, Any]:
        owned, names = event["owned"], event["topics"]
        request = ConsumerGroupHeartbeatRequest(
            GROUP_ID,
            event["member"],
            event["epoch"],
            event["instance"] or None,
            rebalance_timeout_ms=-1 if names is None else TIMEOUT_MS,
            subscribed_topic_names=None if names is None else tuple(sorted(names)),
            topic_partitions=None if owned is None else _by_topic(owned),
            client_id="client",
        )
        response = self._driver.ask(request)
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        if response.error_code is not ErrorCode.NONE:
            return {"error": _error(response.error_code), "epoch": 0, "assigned": None}
        assignment = response.assignment
        return {
            "error": "",
            "epoch": response.member_epoch,
            "assigned": None
            if assignment is None
            else frozenset(
                (number_of(topic.topic_id), number)
                for topic in assignment.topic_partitions
                for number in topic.partitions
            ),
        }

    def _fire(self, kind: TimerKind, member_id: str) -> None:
        timer = Timer(kind, GROUP_ID, member_id)
        if timer not in self._driver.deadlines:
            raise DifferenceError(f"the timer {timer} is not armed")
        del self._driver.deadlines[timer]
        self._driver._carry_out(self._driver.coordinator.fire(timer, self._driver.now_ms))

    @contextmanager
    def _assignor(self) -> Iterator[None]:
        """The only assignor answers what the trace says."""

        def assign(spec: GroupSpec) -> Mapping[str, Partitions]:
            self._was_computed = True
            members = {each.member_id for each in spec.members}
            if members != self._target.keys():
                raise DifferenceError(f"the assignor sees {members}, not {set(self._target)}")
            return {member_id: _partitions(pairs) for member_id, pairs in self._target.items()}

        with patch.dict(SERVER_ASSIGNORS, {"uniform": assign}):
            yield

    def _described(self, image: Mapping[str, Any], version: int) -> Topics:
        descriptions = {}
        for name, topic in image.items():
            self._names[topic["id"]] = name
            racks = (f"rack-{topic['racks']}",) if topic["racks"] else ()
            descriptions[name] = TopicDescription(
                topic_id(topic["id"]), name, (racks,) * topic["count"]
            )
        return Topics(descriptions, version)

    # --- states ------------------------------------------------------------------------------------

    def _expected(self, state: Mapping[str, Any]) -> Mapping[str, Any]:
        group = state["group"]
        members: Mapping[str, Any] = group["members"]
        return {
            "exists": group["exists"],
            "epoch": group["epoch"],
            "assignmentEpoch": group["assignmentEpoch"],
            "target": {
                member_id: group["target"].get(member_id, frozenset()) for member_id in members
            },
            "members": members,
            "sessions": set(members),
            "revoking": set(group["revoking"]),
        }

    def _found(self) -> Mapping[str, Any]:
        group = self._driver.group(GROUP_ID)
        armed = {
            kind: {timer.member_id for timer in self._driver.deadlines if timer.kind is kind}
            for kind in (TimerKind.SESSION, TimerKind.REBALANCE)
        }
        timers = {"sessions": armed[TimerKind.SESSION], "revoking": armed[TimerKind.REBALANCE]}
        first = self._release.first_epoch
        if group is None:
            absent = {"exists": False, "epoch": first, "assignmentEpoch": first}
            return {**absent, "target": {}, "members": {}, **timers}
        assert isinstance(group, ModernGroup)
        targets = group.targets.keys() | group.members.keys()
        return {
            "exists": True,
            "epoch": group.group_epoch if group.has_epoch_record else first,
            "assignmentEpoch": group.assignment_epoch if group.has_assignment_record else first,
            "target": {member_id: _pairs(group.target_of(member_id)) for member_id in targets},
            "members": {name: self._member(each) for name, each in group.members.items()},
            **timers,
        }

    def _member(self, member: ModernMember) -> Mapping[str, Any]:
        return {
            "instance": member.instance_id or "",
            "topics": frozenset(member.subscribed_topic_names),
            "epoch": member.member_epoch,
            "previous": member.previous_member_epoch,
            "state": member.member_state,
            "classic": member.classic is not None,
            "assigned": self._with_epochs(member, member.assigned),
            "pending": self._with_epochs(member, member.pending_revocation),
        }

    def _with_epochs(
        self, member: ModernMember, partitions: Partitions
    ) -> Mapping[tuple[int, int], int]:
        known = self._release.assignment_epochs
        return {
            (number_of(topic), number): member.assignment_epoch_of(topic, number) if known else 0
            for topic, number in each(partitions)
        }


def play(trace: Mapping[str, Any]) -> int:
    """Play a whole trace in ITF; returns how many steps it had. Raises DifferenceError, with seed and step."""
    first, *states = trace["states"]
    player = Player(plain(first))
    for index, state in enumerate(states, 1):
        try:
            player.step(plain(state))
        except DifferenceError as error:
            seed = trace["#meta"]["seed"]
            raise DifferenceError(f"trace {seed}, step {index}: {error}") from None
    return len(states)


def topic_id(number: int) -> bytes:
    """The id of a topic that the specification numbers."""
    return (number + 1).to_bytes(16, "big")


def number_of(topic: bytes | str) -> int:
    """The inverse."""
    assert isinstance(topic, bytes)
    return int.from_bytes(topic, "big") - 1


def _pairs(partitions: Partitions) -> Pairs:
    return frozenset((number_of(topic), number) for topic, number in each(partitions))


def _partitions(pairs: Pairs) -> Partitions:
    topics = {topic for topic, _ in pairs}
    return {
        topic_id(topic): frozenset(number for other, number in pairs if other == topic)
        for topic in topics
    }


def _by_topic(pairs: Pairs) -> tuple[TopicIdPartitions, ...]:
    return tuple(
        TopicIdPartitions(topic, tuple(sorted(numbers)))  # type: ignore[arg-type]
        for topic, numbers in sorted(_partitions(pairs).items())
    )


def _error(error: ErrorCode) -> str:
    return "" if error is ErrorCode.NONE else error.name
