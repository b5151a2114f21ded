"""Scenarios of consumer groups as text: commands in, the records written and the answers out.

Commands, about group `g`; a member keeps the epoch of its last answer and the subscription it joined with:

    A joins [topics=foo,bar] [regex=fo.*] [instance=i1] [rack=r] [assignor=range] [timeout=300000] [id=] [assignors=...]
    A beats [epoch=3] [owns=0-2+bar:0] [topics=...] [regex=...] [rack=...] [assignor=...] [full]
    A leaves            A pauses (epoch -2)
    wait 45000          topics foo=7 bar=3          fail over          delete

Records, in the shorthand of `tests.dsl`: `5 A`, `3 2 hA` (hashes are lettered as they appear, h0 is
0), `7 A 0-2`, `6 3 t1000`, `8 A 2/2 UNREVOKED 0-2@2|3-5@2`; a topic that is not named is foo.

Answers: `2 has 0-2` (epoch and assignment), `2` (no assignment in it), or the name of an error.
"""

import string
from dataclasses import dataclass, field
from typing import Any

from rebalance_audit.coordinator.handling import CoordinatorConfig, ErrorCode
from rebalance_audit.coordinator.requests.consumer import (
    ClientAssignor,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicIdPartitions,
)
from rebalance_audit.coordinator.requests.offsets import DeleteGroupsRequest
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record
from tests.dsl.partitions import entries, spans
from tests.dsl.records import CODES
from tests.support.coordinator_driver import CoordinatorDriver, Topics

STATES = {code: name for name, code in CODES.items()}


@dataclass(slots=True)
class Play:
    """A coordinator and the members that a scenario talks about."""

    driver: CoordinatorDriver
    epochs: dict[str, int] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)
    last: ConsumerGroupHeartbeatResponse = field(default_factory=ConsumerGroupHeartbeatResponse)
    hashes: dict[int, str] = field(default_factory=lambda: {0: "h0"})

    def run(self, command: str) -> str:
        """Carry out one command; returns the records that it wrote."""
        start = len(self.driver.log)
        words = command.split()
        if words[0] == "wait":
            self.driver.sleep(int(words[1]))
        elif words[0] == "topics":
            counts = {name: int(count) for name, count in (word.split("=") for word in words[1:])}
            self.driver.change_topics(Topics.of(self.driver.topics.metadata_version + 1, **counts))
        elif command == "fail over":
            self.driver.fail_over()
        elif command == "delete":
            self.driver.ask(DeleteGroupsRequest(("g",)))
        else:
            self._heartbeat(words[0], words[1], words[2:])
        return self.text(self.driver.records_since(start))

    def answer(self) -> str:
        """The answer to the last heartbeat."""
        if self.last.error_code is not ErrorCode.NONE:
            return self.last.error_code.name
        text = str(self.last.member_epoch)
        if self.last.assignment is not None:
            text += f" has {self.partitions(self.last.assignment.topic_partitions)}"
        return text + (" computes" if self.last.should_compute_assignment else "")

    # --- requests ----------------------------------------------------------------------------------

    def _heartbeat(self, member_id: str, verb: str, words: list[str]) -> None:
        options: dict[str, Any] = {}
        for word in words:
            name, _, value = word.partition("=")
            options[name] = value if "=" in word else "yes"
        fields: dict[str, Any] = {}
        if verb == "joins":
            options = {"epoch": 0, "owns": "-", "timeout": 300_000, **options}
            if "regex" not in options:
                options.setdefault("topics", "foo")
            if "instance" in options:
                self.instances[member_id] = options["instance"]
        elif verb in {"leaves", "pauses"}:
            options["epoch"] = -1 if verb == "leaves" else -2
        if options.pop("full", None):
            options = {"owns": "-", "timeout": 300_000, "topics": "foo", **options}
        for name, key in (
            ("rack", "rack_id"),
            ("assignor", "server_assignor"),
            ("regex", "subscribed_topic_regex"),
        ):
            if name in options:
                fields[key] = options[name]
        if "timeout" in options:
            fields["rebalance_timeout_ms"] = int(options["timeout"])
        if "topics" in options:
            fields["subscribed_topic_names"] = tuple(filter(None, options["topics"].split(",")))
        if "owns" in options:
            fields["topic_partitions"] = self.owned(options["owns"])
        if "assignors" in options:
            fields["client_assignors"] = _assignors(options["assignors"])
        request = ConsumerGroupHeartbeatRequest(
            "g",
            options.get("id", member_id),
            int(options.get("epoch", self.epochs.get(member_id, 0))),
            instance_id=self.instances.get(member_id),
            client_id="client",
            api_version=int(options.get("version", 1)),
            **fields,
        )
        response = self.driver.ask(request)
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        self.last = response
        if response.error_code is ErrorCode.NONE:
            self.epochs[member_id] = response.member_epoch

    def owned(self, text: str) -> tuple[TopicIdPartitions, ...]:
        """Partitions as requests give them."""
        partitions = []
        for name, numbers, _ in entries(text):
            topic = self.driver.topics.topic(name)
            assert topic is not None
            partitions.append(TopicIdPartitions(topic.topic_id, numbers))
        return tuple(partitions)

    # --- records -----------------------------------------------------------------------------------

    def text(self, records: list[Record]) -> str:
        """Records in the shorthand."""
        return "; ".join(map(self._record, records))

    def _record(self, record: Record) -> str:
        number = int(record.record_type)
        key = " ".join(map(str, record.key[1:]))
        if record.value is None:
            return f"{number}t {key}".strip()
        value: Any = record.value
        match record.record_type:
            case RecordType.GROUP_METADATA:
                members = " ".join(f"{member.member_id}" for member in value.members)
                return f"2 {value.generation} at{value.current_state_timestamp} {members}".strip()
            case RecordType.CONSUMER_GROUP_METADATA:
                letter = string.ascii_uppercase[len(self.hashes) - 1]
                return (
                    f"3 {value.epoch} {self.hashes.setdefault(value.metadata_hash, 'h' + letter)}"
                )
            case RecordType.CONSUMER_GROUP_PARTITION_METADATA:
                topics = (f"{topic.topic_name}:{topic.num_partitions}" for topic in value.topics)
                return " ".join(("4", *topics))
            case RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA:
                return f"6 {value.assignment_epoch} t{value.assignment_timestamp}"
            case RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER:
                error = f" error={value.error}" if value.error else ""
                return f"7 {key} {self.partitions(value.topic_partitions)}{error}"
            case RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
                return self._current(key, value, is_early=record.layout == "3.7")
            case RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION:
                return (
                    f"16 {key} {','.join(value.topics) or '-'} v{value.version} t{value.timestamp}"
                )
        return f"{number} {key}"

    def _current(self, key: str, value: Any, *, is_early: bool) -> str:
        held = self.partitions(value.assigned_partitions)
        if value.partitions_pending_revocation:
            held += "|" + self.partitions(value.partitions_pending_revocation)
        epochs = f"{value.member_epoch}/{value.previous_member_epoch}"
        if not is_early:
            return f"8 {key} {epochs} {STATES[value.state]} {held}"
        waits = self.partitions(value.partitions_pending_assignment)
        return f"8 {key} {epochs} to={value.target_member_epoch} {held} waits={waits}"

    def partitions(self, topics: Any) -> str:
        """Partitions by topic name, with assignment epochs where given."""
        parts = []
        for entry in topics:
            topic = self.driver.topics.topic_by_id(entry.topic_id)
            name = entry.topic_id.hex() if topic is None else topic.name
            epochs = getattr(entry, "assignment_epochs", ()) or (None,) * len(entry.partitions)
            parts_of_topic = []
            for epoch in dict.fromkeys(epochs):
                pairs = zip(entry.partitions, epochs, strict=True)
                of_epoch = [number for number, at in pairs if at == epoch]
                suffix = "" if epoch is None else f"@{epoch}"
                parts_of_topic += [span + suffix for span in spans(of_epoch)]
            parts.append((name != "foo", name, ",".join(parts_of_topic)))
        texts = (text if name == "foo" else f"{name}:{text}" for _, name, text in sorted(parts))
        return "+".join(texts) or "-"


def _assignors(text: str) -> tuple[ClientAssignor, ...]:
    """`name:min..max:version[!reason]`, separated by commas."""
    found = []
    for part in filter(None, text.split(",")):
        plain, _, reason = part.partition("!")
        name, versions, version = plain.split(":")
        low, _, high = versions.partition("..")
        found.append(
            ClientAssignor(name, int(low), int(high), int(reason or 0), int(version), b"m")
        )
    return tuple(found)


def play(topics: Topics | None = None, /, **settings: Any) -> Play:
    """A play on an empty log; by default targets are computed at once."""
    config = CoordinatorConfig(**{"consumer_assignment_interval_ms": 0, **settings})
    return Play(CoordinatorDriver(config, topics or Topics.of(foo=6, bar=3)))


Scenario = list[tuple[str, ...]]
"""Rows of (command, records) or (command, records, answer)."""


def perform(acting: Play, scenario: Scenario) -> None:
    """Carry out the rows; each must write its records, in order, and get its answer."""
    for command, records, *answer in scenario:
        assert acting.run(command) == records, command
        if answer:
            assert acting.answer() == answer[0], command
