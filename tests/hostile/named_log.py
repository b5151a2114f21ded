"""A log in which every name is chosen by whoever may join a group: ids, hosts, topics, assignors."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rebalance_audit.wire.consumer_protocol import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_audit.wire.generated import messages as m
from rebalance_audit.wire.records import encode_key, encode_value
from tests.wire.segments.hand_made import Rec, batch, segment

START_MS = 1_750_000_000_000
ROUNDS = 6
PARTITIONS = 4
TOPIC_ID = uuid.UUID(int=7).bytes

STABLE, UNREVOKED, UNRELEASED = 0, 1, 2


class Names(NamedTuple):
    """What stands in the log; of three members each, in the order in which the audit sorts their ids."""

    modern: str = "modern"
    classic: str = "classic"
    members: tuple[str, str, str] = ("member-1", "member-2", "member-3")
    clients: tuple[str, str, str] = ("client-1", "client-2", "client-3")
    instance: str = "instance-3"
    host: str = "/host"
    topic: str = "topic"
    assignor: str = "range"

    def mapped(self, change: Callable[[str], str]) -> "Names":
        """Every name changed."""
        return Names(
            *(
                tuple(map(change, name)) if isinstance(name, tuple) else change(name)  # type: ignore[arg-type]
                for name in self
            )
        )


class NamedLog:
    """Both groups: members that come and go, one that gives up its partitions late, one that is static."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._now_ms = START_MS
        self._records: list[Rec] = []
        self._epoch = 0
        for _ in range(ROUNDS):
            self._join_and_leave()
        for generation in range(1, 2 * ROUNDS):
            self._generation(generation)

    def write(self, folder: Path) -> Path:
        """The log under `folder`, as partition 0."""
        segment(folder / "__consumer_offsets-0", [batch(self._records)])
        return folder

    def _add(self, key: Any, value: Any = None, *, version: int = 0, after_ms: int = 0) -> None:
        self._now_ms += after_ms
        encoded = None if value is None else encode_value(value, version)
        self._records.append((len(self._records), self._now_ms, encode_key(key), encoded))

    # --- the group of the protocol of KIP-848 ----------------------------------------------------

    def _join_and_leave(self) -> None:
        first, second, _ = self._names.members
        everything, half = tuple(range(PARTITIONS)), tuple(range(PARTITIONS // 2))
        self._begin_epoch(first, {first: everything})
        self._reach(first, everything)
        self._begin_epoch(second, {first: half, second: everything[len(half) :]})
        self._reach(second, (), state=UNRELEASED)
        kept = everything[len(half) :]
        self._reach(first, half, pending=kept, state=UNREVOKED, came_from=self._epoch - 1)
        self._reach(first, half, after_ms=9_000)
        self._reach(second, kept)
        for member in (first, second):
            self._epoch += 1
            for key in (
                m.ConsumerGroupCurrentMemberAssignmentKey,
                m.ConsumerGroupTargetAssignmentMemberKey,
                m.ConsumerGroupMemberMetadataKey,
            ):
                self._add(key(self._names.modern, member), after_ms=100)
            self._add_epoch()

    def _begin_epoch(self, member: str, target: dict[str, tuple[int, ...]]) -> None:
        names, group = self._names, self._names.modern
        client = names.clients[names.members.index(member)]
        self._epoch += 1
        self._add(
            m.ConsumerGroupMemberMetadataKey(group, member),
            m.ConsumerGroupMemberMetadataValue(
                None, None, client, names.host, (names.topic,), None, 300_000, names.assignor
            ),
            after_ms=3_000,
        )
        topic = m.ConsumerGroupPartitionMetadataTopicMetadata(TOPIC_ID, names.topic, PARTITIONS, ())
        self._add(
            m.ConsumerGroupPartitionMetadataKey(group),
            m.ConsumerGroupPartitionMetadataValue((topic,)),
        )
        self._add(m.ConsumerGroupMetadataKey(group), m.ConsumerGroupMetadataValue(self._epoch))
        for each, numbers in target.items():
            shares = (m.ConsumerGroupTargetAssignmentMemberTopicPartitions(TOPIC_ID, numbers),)
            self._add(
                m.ConsumerGroupTargetAssignmentMemberKey(group, each),
                m.ConsumerGroupTargetAssignmentMemberValue(shares),
            )
        self._add(
            m.ConsumerGroupTargetAssignmentMetadataKey(group),
            m.ConsumerGroupTargetAssignmentMetadataValue(self._epoch),
        )

    def _add_epoch(self) -> None:
        group = self._names.modern
        self._add(m.ConsumerGroupMetadataKey(group), m.ConsumerGroupMetadataValue(self._epoch))
        self._add(
            m.ConsumerGroupTargetAssignmentMetadataKey(group),
            m.ConsumerGroupTargetAssignmentMetadataValue(self._epoch),
        )

    def _reach(
        self,
        member: str,
        has: tuple[int, ...],
        *,
        pending: tuple[int, ...] = (),
        state: int = STABLE,
        came_from: int | None = None,
        after_ms: int = 200,
    ) -> None:
        shares, releasing = (
            (m.ConsumerGroupCurrentMemberAssignmentTopicPartitions(TOPIC_ID, numbers),)
            if numbers
            else ()
            for numbers in (has, pending)
        )
        epoch = self._epoch if came_from is None else came_from
        self._add(
            m.ConsumerGroupCurrentMemberAssignmentKey(self._names.modern, member),
            m.ConsumerGroupCurrentMemberAssignmentValue(
                epoch, self._epoch - 1, shares, releasing, state
            ),
            after_ms=after_ms,
        )

    # --- the classic group -----------------------------------------------------------------------

    def _generation(self, number: int) -> None:
        names = self._names
        there = names.members[: 1 + number % len(names.members)]
        members = tuple(
            m.GroupMetadataMember(
                member,
                names.clients[place],
                names.host,
                10_000,
                encode_subscription(Subscription((names.topic,), b"", (), -1, None, 3)),
                encode_assignment(Assignment(((names.topic, (place,)),), b"", 3)),
                names.instance if place == len(names.members) - 1 else None,
                60_000,
            )
            for place, member in enumerate(there)
        )
        began_ms = self._now_ms
        self._add(
            m.GroupMetadataKey(names.classic),
            m.GroupMetadataValue("consumer", number, names.assignor, there[0], members, began_ms),
            version=3,
            after_ms=5_000,
        )
        self._add(
            m.OffsetCommitKey(names.classic, names.topic, 0),
            m.OffsetCommitValue(number, names.topic, self._now_ms),
            version=3,
            after_ms=10,
        )
