"""Plays a trace of `spec/classic.qnt` to the handlers, one step at a time, and compares what both have after it."""

import itertools
from collections.abc import Mapping
from typing import Any, Final

from rebalance_audit.coordinator.handling import (
    CoordinatorConfig,
    ErrorCode,
    Timer,
    TimerKind,
)
from rebalance_audit.coordinator.requests.classic import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupProtocol,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    SyncGroupAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from rebalance_audit.replay.groups import ClassicGroup
from rebalance_audit.replay.java_order import hash_map_order
from tests.spec.consumer_player import DifferenceError
from tests.spec.engine import plain
from tests.support.coordinator_driver import CoordinatorDriver

GROUP_ID: Final = "g"
REBALANCE_MS: Final = 60_000
SESSION_MS: Final = 10_000
IDS: Final = ("a", "b", "c", "d", "e")
INSTANCES: Final = {"c": "i", "d": "i", "e": "j"}
PHASES: Final = {
    "EMPTY": "EMPTY",
    "PREPARING_REBALANCE": "PREPARING",
    "COMPLETING_REBALANCE": "COMPLETING",
    "STABLE": "STABLE",
}


def _real_ids() -> Mapping[str, str]:
    """Member ids that a HashMap goes through in the order of `IDS`: Kafka elects leaders in that order."""
    found: list[str] = []
    for name in IDS:
        prefix = INSTANCES.get(name, "client")
        for number in itertools.count():
            real = f"{prefix}-{name}{number}"
            if hash_map_order([real, *found]) == [*found, real]:
                found.append(real)
                break
    return dict(zip(IDS, found, strict=True))


REAL: Final = _real_ids()
NAMES: Final = {real: name for name, real in REAL.items()}


class _Ids:
    """Gives the id that the trace says."""

    def __init__(self) -> None:
        self.next = ""

    def uuid_text(self) -> str:
        """The part after the client's or instance's name."""
        return REAL[self.next].partition("-")[2]


class ClassicPlayer:
    """One trace: a coordinator that does what the specification does."""

    def __init__(self) -> None:
        """A coordinator without a group. The initial delay takes the whole rebalance timeout: no extension."""
        config = CoordinatorConfig(group_initial_rebalance_delay_ms=REBALANCE_MS)
        self._driver = CoordinatorDriver(config)
        self._ids = _Ids()
        self._driver.coordinator.context.ids = self._ids
        self._driver._ids = self._ids  # type: ignore[assignment]
        self._restart()
        self._senders: dict[int, str] = {}
        self._seen = 0

    def _restart(self) -> None:
        self._driver.fail_over()

    def step(self, state: Mapping[str, Any]) -> None:
        """Do what happened on the way to this state, and compare. Raises DifferenceError."""
        kind, event = state["event"]
        getattr(self, f"_{kind.lower()}")(event)
        found = {"answers": self._answers(), **self._found()}
        expected = {"answers": _due(state["answers"]), **_expected(state["group"])}
        for name, value in expected.items():
            if found[name] != value:
                raise DifferenceError(
                    f"{kind} {event}: {name} is {found[name]}, by the specification {value}"
                )

    def _joingroup(self, event: Mapping[str, Any]) -> None:
        self._ids.next = event["fresh"]
        request = JoinGroupRequest(
            GROUP_ID,
            SESSION_MS,
            REBALANCE_MS,
            REAL.get(event["member"], ""),
            "test",
            (JoinGroupProtocol("range", bytes((event["metadata"],))),),
            event["instance"] or None,
            client_id="client",
        )
        self._send(request, event["fresh"])

    def _syncgroup(self, event: Mapping[str, Any]) -> None:
        name = event["member"]
        shares = tuple(
            SyncGroupAssignment(REAL[member], bytes(sorted(share)))
            for member, share in event["assignment"].items()
        )
        request = SyncGroupRequest(
            GROUP_ID, event["generation"], REAL[name], INSTANCES.get(name), assignments=shares
        )
        self._send(request, name)

    def _heartbeat(self, event: Mapping[str, Any]) -> None:
        name = event["member"]
        instance = INSTANCES.get(name)
        self._send(HeartbeatRequest(GROUP_ID, event["generation"], REAL[name], instance), name)

    def _offsetcommit(self, event: Mapping[str, Any]) -> None:
        name = event["member"]
        partition = OffsetCommitRequestPartition(0, 42)
        request = OffsetCommitRequest(
            GROUP_ID,
            (OffsetCommitRequestTopic("foo", (partition,)),),
            event["generation"],
            REAL[name],
            INSTANCES.get(name),
            api_version=9,
        )
        self._send(request, name)

    def _leavegroup(self, name: str) -> None:
        identity = MemberIdentity(REAL[name], INSTANCES.get(name))
        self._send(LeaveGroupRequest(GROUP_ID, (identity,)), name)

    def _sessionends(self, name: str) -> None:
        live = self._driver.coordinator.live_group(GROUP_ID)
        assert live is not None
        is_pending = REAL[name] in live.pending_members
        self._fire(TimerKind.PENDING_MEMBER if is_pending else TimerKind.SESSION, REAL[name])

    def _jointimeends(self, _: object) -> None:
        self._fire(TimerKind.JOIN)

    def _synctimeends(self, _: object) -> None:
        self._fire(TimerKind.SYNC)

    def _failover(self, _: object) -> None:
        self._restart()

    def _clientacts(self, _: object) -> None:
        """Nothing reaches the coordinator."""

    def _send(self, request: tuple[object, ...], name: str) -> None:
        self._senders[self._driver.send(request)] = name

    def _fire(self, kind: TimerKind, member_id: str = "") -> None:
        timer = Timer(kind, GROUP_ID, member_id)
        if kind is not TimerKind.SESSION and timer not in self._driver.deadlines:
            raise DifferenceError(f"the timer {timer} is not armed")
        self._driver.deadlines.pop(timer, None)
        self._driver._carry_out(self._driver.coordinator.fire(timer, self._driver.now_ms))

    def _answers(self) -> Mapping[str, Any]:
        new = list(self._driver.replies.items())[self._seen :]
        self._seen += len(new)
        found: dict[str, Any] = {}
        for token, response in new:
            if isinstance(response, LeaveGroupResponse):
                response = HeartbeatResponse(response.members[0].error_code)  # noqa: PLW2901
                if response.error_code is ErrorCode.NONE:
                    continue
            found[self._senders[token]] = _answer(response)
        return found

    def _found(self) -> Mapping[str, Any]:
        live = self._driver.coordinator.live_group(GROUP_ID)
        if live is None:
            return _expected(EMPTY)
        phase = PHASES[live.state.name]
        hard = self._driver.group(GROUP_ID)
        return {
            "phase": phase,
            "initial": live.is_initial_rebalance(),
            "generation": live.generation,
            "leader": NAMES.get(live.leader_member_id or "", ""),
            "pending": frozenset(NAMES[each] for each in live.pending_members),
            "members": {
                NAMES[member_id]: {
                    "instance": member.instance_id or "",
                    "metadata": member.metadata_for("range")[0],
                    "joined": member_id in live.parked_joins,
                    "syncing": member_id in live.parked_syncs,
                    "owes": phase != "PREPARING" and member_id in live.pending_sync,
                    "isNew": member.is_new,
                    "assignment": frozenset(member.assignment),
                }
                for member_id, member in live.members.items()
            },
            "recorded": _recorded(hard),
        }


EMPTY: Final[Mapping[str, Any]] = {
    "phase": "EMPTY",
    "initial": False,
    "generation": 0,
    "leader": "",
    "pending": frozenset(),
    "members": {},
    "recorded": {"generation": 0, "leader": "", "members": {}},
}


def _recorded(hard: object) -> Mapping[str, Any]:
    if not isinstance(hard, ClassicGroup):
        recorded: Mapping[str, Any] = EMPTY["recorded"]
        return recorded
    return {
        "generation": hard.generation,
        "leader": NAMES.get(hard.leader_member_id or "", ""),
        "members": {
            NAMES[member.member_id]: (
                member.instance_id or "",
                member.subscription_bytes[0],
                frozenset(member.assignment_bytes),
            )
            for member in hard.members.values()
        },
    }


def _expected(group: Mapping[str, Any]) -> Mapping[str, Any]:
    recorded = group["recorded"]
    is_preparing = group["phase"] == "PREPARING"
    return {
        **group,
        "members": {
            name: {**member, "owes": member["owes"] and not is_preparing}
            for name, member in group["members"].items()
        },
        "recorded": {
            **recorded,
            "members": {
                name: member
                if isinstance(member, tuple)
                else (member["instance"], member["metadata"], member["assignment"])
                for name, member in recorded["members"].items()
            },
        },
    }


def _due(answers: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answers as replies can be compared: an error says nothing else."""
    return {
        name: answer if not answer["error"] else {"error": answer["error"]}
        for name, answer in answers.items()
    }


def _answer(response: Any) -> Mapping[str, Any]:
    match response:
        case OffsetCommitResponse():
            error = response.topics[0].partitions[0].error_code
        case _:
            error = response.error_code
    if error is not ErrorCode.NONE:
        return {"error": error.name}
    answer = {"error": "", "generation": -1, "leader": "", "assignment": frozenset()}
    match response:
        case JoinGroupResponse():
            return {
                **answer,
                "generation": response.generation_id,
                "leader": NAMES[response.leader],
            }
        case SyncGroupResponse():
            return {**answer, "assignment": frozenset(response.assignment)}
    return answer


def play_classic(trace: Mapping[str, Any]) -> int:
    """Play a whole trace in ITF; returns how many steps it had. Raises DifferenceError, with seed and step."""
    states = trace["states"][1:]
    player = ClassicPlayer()
    for index, state in enumerate(states, 1):
        try:
            player.step(plain(state))
        except DifferenceError as error:
            seed = trace["#meta"]["seed"]
            raise DifferenceError(f"trace {seed}, step {index}: {error}") from None
    return len(states)
