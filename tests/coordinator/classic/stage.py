"""Stories of the classic protocol as tables: what a client does, the answers, the records written.

One line per step, `step | answers | records`. The clock starts at 1000. Clients are capital letters and remember their
member id and generation as a real client does; the member ids that client A is given are called A, A2, A3, …

    join A                   JoinGroup (options: protocols=range,sticky topics=foo session=10000 rebalance=60000
                             type=connect v=3 id=B; `@i1` behind the name makes the client static)
    sync A A=0-2 B=3-5       SyncGroup, from a leader with assignments (options: gen=1 id=B protocol=range)
    beat A                   Heartbeat (options: gen=1 id=B)
    leave A                  LeaveGroup with what the client knows (`leave A,B` is one request; options: v=2)
    remove @i1,@i2           LeaveGroup by instance ids alone, as an administrator sends it
    commit A foo:0=42        OffsetCommit as a member (`commit - foo:0=42` without a member; options: gen= id= v=)
    restart A                the client forgets its member id and generation
    wait 3000                time passes
    failover                 another coordinator loads the log

Answers: `A=id` (MEMBER_ID_REQUIRED and the id to use), `A joined 1 range` or, for the leader, `A joined 1 range of A,B`
(`skips` when it must not assign), `A synced 0-2`, `A ok`, or the error's name. Records: `[2] 1 range A: A=0-2 B=3-5
@4000` is generation, protocol, leader, members and assignments, and since when the state held; `[2] 0 empty @1000`.
"""

from dataclasses import dataclass, field
from typing import Any

from rebalance_audit.coordinator.classic.handlers import ClassicHandlers
from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.handling import CoordinatorConfig, ErrorCode
from rebalance_audit.coordinator.requests.classic import (
    UNKNOWN_GENERATION,
    UNKNOWN_MEMBER_ID,
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
from rebalance_audit.replay.shard import Shard
from rebalance_audit.wire.consumer_protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record
from tests.support.coordinator_driver import CoordinatorDriver

GROUP_ID = "g"


@dataclass(slots=True)
class Client:
    """What one client remembers."""

    name: str
    member_id: str = UNKNOWN_MEMBER_ID
    generation: int = UNKNOWN_GENERATION
    instance_id: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    """Options of its last JoinGroup, which the next one repeats."""
    ids: int = 0


class Stage:
    """One group, its clients, and a coordinator."""

    def __init__(self, config: CoordinatorConfig | None = None) -> None:
        """No client has joined."""
        self.driver = CoordinatorDriver(config or CoordinatorConfig())
        self.clients: dict[str, Client] = {}
        self._senders: dict[int, Client] = {}
        self._names: dict[str, str] = {UNKNOWN_MEMBER_ID: "-"}
        self._seen = 0

    def continue_with(self, story: str) -> None:
        """Play a story and compare each line; lines that begin with # are remarks."""
        lines = [line.strip() for line in story.strip().splitlines()]
        expected = [
            " | ".join(part.strip() for part in (line + " | | ").split("|")[:3])
            for line in lines
            if line and not line.startswith("#")
        ]
        assert expected
        assert [self.play(line.partition(" | ")[0]) for line in expected] == expected

    # --- steps -------------------------------------------------------------------------------------

    def play(self, step: str) -> str:
        """Do one step; returns its line of the table."""
        log_length = len(self.driver.log)
        verb, *words = step.split()
        options = dict(word.split("=", 1) for word in words if _is_option(word))
        plain = [word for word in words if not _is_option(word)]
        getattr(self, f"_{verb}")(plain, options)
        answers = "; ".join(self._new_answers())
        records = "; ".join(
            self.record_text(record) for record in self.driver.records_since(log_length)
        )
        self.check_invariants()
        return f"{step} | {answers} | {records}"

    def _join(self, plain: list[str], options: dict[str, str]) -> None:
        client = self._client(plain[0])
        client.options |= options
        known = client.options
        topics = tuple(known.get("topics", "foo").split(","))
        metadata = encode_subscription(Subscription(topics, None, (), -1, None, 1))
        names = known.get("protocols", "range").split(",")
        self._send(
            client,
            JoinGroupRequest(
                GROUP_ID,
                int(known.get("session", 45_000)),
                int(known.get("rebalance", 300_000)),
                self._id(client, options),
                known.get("type", "consumer"),
                tuple(JoinGroupProtocol(name, metadata) for name in names if name),
                client.instance_id,
                client_id=client.name,
                api_version=int(known.get("v", 9)),
            ),
        )

    def _sync(self, plain: list[str], options: dict[str, str]) -> None:
        client = self._client(plain[0])
        assignments = tuple(
            SyncGroupAssignment(self._member_id(name), assignment_bytes(text))
            for name, text in (word.split("=") for word in plain[1:])
        )
        request = SyncGroupRequest(
            GROUP_ID,
            self._generation(client, options),
            self._id(client, options),
            client.instance_id,
            options.get("type"),
            options.get("protocol"),
            assignments,
        )
        self._send(client, request)

    def _beat(self, plain: list[str], options: dict[str, str]) -> None:
        client = self._client(plain[0])
        generation, member_id = self._generation(client, options), self._id(client, options)
        self._send(client, HeartbeatRequest(GROUP_ID, generation, member_id, client.instance_id))

    def _leave(self, plain: list[str], options: dict[str, str]) -> None:
        clients = [self._client(name) for name in plain[0].split(",")]
        identities = tuple(
            MemberIdentity(self._id(client, options), client.instance_id, "going")
            for client in clients
        )
        version = int(options.get("v", 5))
        self._send(clients[0], LeaveGroupRequest(GROUP_ID, identities, version))

    def _remove(self, plain: list[str], _options: dict[str, str]) -> None:
        identities = tuple(
            MemberIdentity(group_instance_id=name.removeprefix("@"), reason="scaled down")
            for name in plain[0].split(",")
        )
        self._send(self._client("admin"), LeaveGroupRequest(GROUP_ID, identities))

    def _commit(self, plain: list[str], options: dict[str, str]) -> None:
        without_member = plain[0] == "-"
        client = Client("-") if without_member else self._client(plain[0])
        topics = []
        for word in plain[1:]:
            place, _, committed = word.partition("=")
            name, _, number = place.partition(":")
            partition = OffsetCommitRequestPartition(int(number), int(committed))
            topics.append(OffsetCommitRequestTopic(name, (partition,)))
        request = OffsetCommitRequest(
            GROUP_ID,
            tuple(topics),
            self._generation(client, options),
            self._id(client, options),
            client.instance_id,
            api_version=int(options.get("v", 9)),
        )
        self._send(client, request)

    def _restart(self, plain: list[str], _options: dict[str, str]) -> None:
        client = self._client(plain[0])
        client.member_id, client.generation = UNKNOWN_MEMBER_ID, UNKNOWN_GENERATION

    def _wait(self, plain: list[str], _options: dict[str, str]) -> None:
        self.driver.sleep(int(plain[0]))

    def _failover(self, _plain: list[str], _options: dict[str, str]) -> None:
        self.driver.fail_over()

    # --- clients -----------------------------------------------------------------------------------

    def _client(self, text: str) -> Client:
        name, _, instance_id = text.partition("@")
        client = self.clients.setdefault(name, Client(name))
        if instance_id:
            client.instance_id = instance_id
        return client

    def _id(self, client: Client, options: dict[str, str]) -> str:
        return self._member_id(options["id"]) if "id" in options else client.member_id

    def _member_id(self, name: str) -> str:
        return next((known for known, each in self._names.items() if each == name), name)

    @staticmethod
    def _generation(client: Client, options: dict[str, str]) -> int:
        return int(options.get("gen", client.generation))

    def _send(self, client: Client, request: tuple[object, ...]) -> None:
        self._senders[self.driver.send(request)] = client

    def _new_answers(self) -> list[str]:
        new = list(self.driver.replies.items())[self._seen :]
        self._seen += len(new)
        # The test itself checks the requests that it sends outside the story.
        return [
            self._answer(self._senders[token], response)
            for token, response in new
            if token in self._senders
        ]

    def _answer(self, client: Client, response: Any) -> str:
        match response:
            case JoinGroupResponse():
                return self._joined(client, response)
            case SyncGroupResponse(error_code=ErrorCode.NONE):
                return f"{client.name} synced {assignment_text(response.assignment)}"
            case LeaveGroupResponse(members=(_, *_) as members):
                errors = [_error_text(each.error_code) for each in members]
                return f"{client.name} {','.join(errors)}"
            case OffsetCommitResponse(topics=topics):
                errors = [
                    _error_text(each.error_code) for topic in topics for each in topic.partitions
                ]
                return f"{client.name} {','.join(errors)}"
            case HeartbeatResponse() | SyncGroupResponse() | LeaveGroupResponse():
                return f"{client.name} {_error_text(response.error_code)}"
        raise AssertionError(response)

    def _joined(self, client: Client, response: JoinGroupResponse) -> str:
        if response.error_code is ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = response.member_id
            return f"{client.name}={self._name(client, response.member_id)}"
        if response.error_code is not ErrorCode.NONE:
            return f"{client.name} {response.error_code.name}"
        client.member_id, client.generation = response.member_id, response.generation_id
        self._name(client, response.member_id)
        text = f"{client.name} joined {response.generation_id} {response.protocol_name}"
        if response.members:
            names = sorted(self.name_of(member.member_id) for member in response.members)
            text += " of " + ",".join(names)
        return text + " skips" * response.skip_assignment

    def _name(self, client: Client, member_id: str) -> str:
        if member_id not in self._names:
            client.ids += 1
            self._names[member_id] = client.name + (str(client.ids) if client.ids > 1 else "")
        return self._names[member_id]

    def name_of(self, member_id: str) -> str:
        """The story's name for a member id; one that no client has yet becomes its sender's next."""
        if member_id not in self._names:
            client_id = member_id.partition("-")[0]
            for client in self.clients.values():
                if client_id in {client.name, client.instance_id}:
                    return self._name(client, member_id)
        return self._names[member_id]

    # --- pictures ----------------------------------------------------------------------------------

    def record_text(self, record: Record) -> str:
        """One record in a few words."""
        number = f"[{int(record.record_type)}{'t' if record.value is None else ''}]"
        key: Any = record.key
        value: Any = record.value
        if record.record_type is RecordType.OFFSET_COMMIT:
            place = f"{number} {key.topic}:{key.partition}"
            return place if value is None else f"{place}={value.offset}"
        if record.record_type is not RecordType.GROUP_METADATA or value is None:
            return number
        since = f"@{value.current_state_timestamp}"
        if not value.members:
            return f"{number} {value.generation} empty {since}"
        members = " ".join(
            f"{self.name_of(member.member_id)}={assignment_text(member.assignment)}"
            for member in sorted(value.members, key=lambda each: self.name_of(each.member_id))
        )
        leader = self.name_of(value.leader)
        return f"{number} {value.generation} {value.protocol} {leader}: {members} {since}"

    # --- invariants --------------------------------------------------------------------------------

    def live(self) -> LiveGroup | None:
        """The group's soft state."""
        return handlers_of(self.driver).live(GROUP_ID)

    def check_invariants(self) -> None:
        """What must hold after every step."""
        assert_coordinator_holds_together(self.driver, GROUP_ID)


def handlers_of(driver: CoordinatorDriver) -> ClassicHandlers:
    """The classic handlers of the driver's coordinator."""
    (classic,) = (
        each for each in driver.coordinator._protocols if isinstance(each, ClassicHandlers)
    )
    return classic


def assert_coordinator_holds_together(driver: CoordinatorDriver, group_id: str) -> None:
    """Replay of the log equals hard state; soft and hard state agree where nothing is under way."""
    assert _hard(driver.reloaded(), group_id) == _hard(driver.shard, group_id)
    live = handlers_of(driver).live(group_id)
    hard = driver.group(group_id)
    if live is None:
        return
    assert not live.parked_joins.keys() - live.members.keys()
    assert not live.parked_syncs.keys() - live.members.keys()
    assert not live.pending_sync.keys() - live.members.keys()
    assert not live.pending_members.keys() & live.members.keys()
    assert live.static_members == {
        member.instance_id: member.member_id
        for member in live.members.values()
        if member.instance_id is not None
    }
    assert (live.leader_member_id in live.members) == bool(live.members)
    if live.state is not ClassicState.PREPARING_REBALANCE:
        assert not live.parked_joins
    if live.state is not ClassicState.COMPLETING_REBALANCE:
        assert not live.parked_syncs
    assert (live.state is ClassicState.EMPTY) <= (not live.members)
    if isinstance(hard, ClassicGroup) and hard.has_record:
        assert live.generation >= hard.generation
        if live.state is ClassicState.STABLE:
            assert live.leader_member_id == hard.leader_member_id
            assert live.generation == hard.generation
            assert {each.member_id: each.assignment for each in live.members.values()} == {
                each.member_id: each.assignment_bytes for each in hard.members.values()
            }
            assert _snapshot(LiveGroup.from_hard(hard), live.protocol_name) == _snapshot(
                live, live.protocol_name
            )


def _snapshot(live: LiveGroup, protocol_name: str | None) -> object:
    """What the record of a generation holds."""
    return (
        live.protocol_type,
        protocol_name,
        {
            member.member_id: (
                member.instance_id,
                member.session_timeout_ms,
                member.rebalance_timeout_ms,
                member.metadata_for(protocol_name),
            )
            for member in live.members.values()
        },
    )


def _hard(shard: Shard, group_id: str) -> object:
    slot = shard.slot(group_id)
    return None if slot is None else (slot.group, slot.offsets, slot.pending_offsets)


def check(story: str, config: CoordinatorConfig | None = None) -> Stage:
    """Play a story on a new stage and compare each line; lines that begin with # are remarks."""
    stage = Stage(config)
    stage.continue_with(story)
    return stage


def _is_option(word: str) -> bool:
    name, equals, _ = word.partition("=")
    return bool(equals) and name.islower() and ":" not in name


def _error_text(error: ErrorCode) -> str:
    return "ok" if error is ErrorCode.NONE else error.name


def assignment_bytes(text: str) -> bytes:
    """Partitions of topic foo, as `0-2`, as the bytes of an assignment."""
    first, _, last = text.partition("-")
    numbers = tuple(range(int(first), int(last or first) + 1))
    return encode_assignment(Assignment((("foo", numbers),), None, 1))


def assignment_text(data: bytes) -> str:
    """The inverse; `-` for no assignment."""
    if not data:
        return "-"
    assignment = decode_assignment(data)
    assert assignment is not None
    ((_, numbers),) = assignment.assigned_partitions
    return f"{numbers[0]}-{numbers[-1]}" if len(numbers) > 1 else str(numbers[0])
