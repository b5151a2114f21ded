"""Plays in which classic members take part.

Commands in addition to those of `play`:

    C asks [topics=foo] [owns=0-2] [instance=i1] [session=45000] [timeout=300000] [protocol=range]   JoinGroup
    C syncs [gives=C:0-2,D:3-5]      C pings      C quits      admin removes named=i1,i2

A member is known by its letter; its real member id, which the coordinator makes, shows as that letter in records.
`answered` is the answer to the last request: an error's name, the generation, or the partitions.
"""

from dataclasses import dataclass, field

from rebalance_audit.coordinator.handling import ErrorCode
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
from rebalance_audit.wire.consumer_protocol import (
    Assignment,
    Subscription,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from tests.coordinator.consumer.play import Play
from tests.dsl.partitions import topic_partitions, topics_text
from tests.support.coordinator_driver import CoordinatorDriver


@dataclass(slots=True)
class MixedPlay:
    """A play and its classic members."""

    acting: Play
    ids: dict[str, str] = field(default_factory=dict)
    """Letter -> member id."""
    generations: dict[str, int] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    """Letter -> token of its JoinGroup that may still be parked."""
    answered: str = ""

    @property
    def driver(self) -> CoordinatorDriver:
        """The coordinator."""
        return self.acting.driver

    def run(self, command: str) -> str:
        """Carry out one command; returns the records that it wrote, with letters for member ids."""
        start = len(self.driver.log)
        letter, verb, *words = command.split()
        options = dict(word.split("=", 1) for word in words if "=" in word)
        serve = {
            "asks": self._join,
            "syncs": self._sync,
            "pings": self._ping,
            "quits": self._quit,
            "removes": self._remove_instances,
        }.get(verb)
        if serve is None:
            text = self.acting.run(command)
            if letter not in {"wait", "topics", "fail", "delete"}:
                self.answered = self.acting.answer()
        else:
            serve(letter, options)
            text = self.acting.text(self.driver.records_since(start))
        self._hear()
        for known, member_id in self.ids.items():
            text = text.replace(member_id, known)
        return text

    def _join(self, letter: str, options: dict[str, str]) -> None:
        request = JoinGroupRequest(
            "g",
            int(options.get("session", "45000")),
            int(options.get("timeout", "300000")),
            self.ids.get(letter, ""),
            options.get("type", "consumer"),
            tuple(
                JoinGroupProtocol(name, self._subscription(options))
                for name in options.get("protocol", "range").split(",")
            ),
            options.get("instance"),
            client_id=letter.lower(),
        )
        token = self.tokens[letter] = self.driver.send(request)
        response = self.driver.replies.get(token)
        self.answered = "parked"
        if isinstance(response, JoinGroupResponse):
            self.answered = response.error_code.name
            if response.error_code is ErrorCode.MEMBER_ID_REQUIRED:
                self.ids[letter] = response.member_id
                del self.tokens[letter]

    def _subscription(self, options: dict[str, str]) -> bytes:
        owned = topic_partitions(options.get("owns", "-"))
        if "bytes" in options:
            return bytes.fromhex(options["bytes"])
        topics = tuple(options.get("topics", "foo").split(","))
        return encode_subscription(Subscription(topics, None, owned))

    def _hear(self) -> None:
        """Take the answers to JoinGroups that have arrived."""
        for letter, token in list(self.tokens.items()):
            response = self.driver.replies.get(token)
            if isinstance(response, JoinGroupResponse):
                del self.tokens[letter]
                if response.error_code is ErrorCode.NONE:
                    self.ids[letter] = response.member_id
                    self.generations[letter] = response.generation_id
                    self.answered = f"generation {response.generation_id}"
                else:
                    self.answered = response.error_code.name

    def _sync(self, letter: str, options: dict[str, str]) -> None:
        gives = []
        for given in filter(None, options.get("gives", "").split(",,")):
            name, _, share = given.partition(":")
            user_data = options.get("data", "").encode()
            bytes_ = encode_assignment(Assignment(topic_partitions(share), user_data))
            gives.append(SyncGroupAssignment(self.ids[name], bytes_))
        request = SyncGroupRequest(
            "g",
            int(options.get("generation", self.generations.get(letter, 0))),
            options.get("id", self.ids.get(letter, letter)),
            options.get("instance"),
            options.get("type", "consumer"),
            options.get("protocol", "range"),
            tuple(gives),
        )
        response = self.driver.replies.get(self.driver.send(request))
        if response is None:
            self.answered = "parked"
            return
        assert isinstance(response, SyncGroupResponse)
        self.answered = response.error_code.name
        if response.error_code is ErrorCode.NONE:
            assignment = decode_assignment(response.assignment)
            assert assignment is not None
            self.answered = topics_text(assignment.assigned_partitions)

    def _ping(self, letter: str, options: dict[str, str]) -> None:
        request = HeartbeatRequest(
            "g",
            int(options.get("generation", self.generations.get(letter, 0))),
            options.get("id", self.ids.get(letter, letter)),
            options.get("instance"),
        )
        response = self.driver.ask(request)
        assert isinstance(response, HeartbeatResponse)
        self.answered = response.error_code.name

    def _quit(self, letter: str, options: dict[str, str]) -> None:
        self._leave(MemberIdentity(self.ids.get(letter, letter), options.get("instance")))

    def _remove_instances(self, _letter: str, options: dict[str, str]) -> None:
        names = options.get("named", "i1").split(",")
        self._leave(*(MemberIdentity(group_instance_id=name) for name in names))

    def _leave(self, *identities: MemberIdentity) -> None:
        response = self.driver.ask(LeaveGroupRequest("g", identities))
        assert isinstance(response, LeaveGroupResponse)
        self.answered = ",".join(member.error_code.name for member in response.members)


def perform_mixed(mixed: MixedPlay, scenario: list[tuple[str, ...]]) -> None:
    """Carry out rows of (command, records) or (command, records, answer)."""
    for command, records, *expected in scenario:
        assert mixed.run(command) == records, command
        if expected:
            assert mixed.answered == expected[0], command
