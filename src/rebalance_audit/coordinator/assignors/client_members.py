"""What the leader of a classic group knows, and what it sends back.

Racks are ignored: Java's range and sticky assignors look at them only if some racks have no replica of a partition.
"""

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, TypeVar

from rebalance_audit.coordinator.assignors.group_spec import static_first
from rebalance_audit.replay.java_order import hash_map_order
from rebalance_audit.wire.consumer_protocol import Assignment, Subscription

T = TypeVar("T", str, bytes)

NamedPartition: TypeAlias = tuple[str, int]
PartitionLists: TypeAlias = dict[str, list[NamedPartition]]
"""Member id -> its partitions, in the order in which it was given them."""


class JoinedMember(NamedTuple):
    """One member of the JoinGroup response to the leader."""

    member_id: str
    instance_id: str | None
    subscription: Subscription


Assign: TypeAlias = Callable[[Sequence[JoinedMember], Mapping[str, int]], dict[str, Assignment]]
"""(members in the order of the response, topic name -> partition count) -> assignment of every member.

Topics that do not exist have no count; their subscribers get nothing for them.
"""


def by_hash(members: Sequence[JoinedMember]) -> list[JoinedMember]:
    """Members in the order in which the Java client iterates over them."""
    of_id = {member.member_id: member for member in members}
    return [of_id[member_id] for member_id in hash_map_order(of_id)]


def by_place(members: Iterable[JoinedMember]) -> list[JoinedMember]:
    """Static members by instance id, then dynamic ones by member id."""
    return sorted(members, key=lambda member: static_first(member.instance_id, member.member_id))


def known_topics(members: Sequence[JoinedMember], counts: Mapping[str, int]) -> dict[str, int]:
    """Subscribed topics that exist, with their partition counts, in the Java client's order."""
    asked = dict.fromkeys(topic for member in members for topic in member.subscription.topics)
    known = hash_map_order(topic for topic in hash_map_order(asked) if counts.get(topic, 0) > 0)
    return {topic: counts[topic] for topic in known}


def to_assignments(lists: Mapping[str, Sequence[NamedPartition]]) -> dict[str, Assignment]:
    """Assignments for the SyncGroup request; topics in the order of each member's first partition of them."""
    return {
        member_id: Assignment(grouped(partitions), user_data=None)
        for member_id, partitions in lists.items()
    }


def grouped(partitions: Iterable[tuple[T, int]]) -> tuple[tuple[T, tuple[int, ...]], ...]:
    """Partitions as requests and the consumer protocol write them: each topic with its numbers, in the order given."""
    numbers: dict[T, list[int]] = {}
    for topic, number in partitions:
        numbers.setdefault(topic, []).append(number)
    return tuple((topic, tuple(of_topic)) for topic, of_topic in numbers.items())


NO_GENERATION: Final = -1

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")


class Claim(NamedTuple):
    """Partitions that a member says it had, and in which generation."""

    partitions: tuple[NamedPartition, ...] = ()
    generation: int = NO_GENERATION


def encode_sticky(claim: Claim) -> bytes:
    """User data of `sticky`, schema 1.

    Members rebalance eagerly and so own nothing when they join: what they had goes here, with its generation.
    """
    topics = dict(grouped(claim.partitions))
    parts = [_INT32.pack(len(topics))]
    for topic in hash_map_order(topics):
        name, numbers = topic.encode(), topics[topic]
        parts += [_INT16.pack(len(name)), name, _INT32.pack(len(numbers))]
        parts += map(_INT32.pack, numbers)
    return b"".join((*parts, _INT32.pack(claim.generation)))


def decode_sticky(user_data: bytes | None) -> Claim:
    """What a member had, from its user data; nothing where the bytes are empty or damaged."""
    if not user_data:
        return Claim()
    try:
        partitions, end = _read_partitions(user_data)
    except (struct.error, UnicodeDecodeError, ValueError):
        return Claim()
    if len(user_data) - end < _INT32.size:
        return Claim(partitions)  # schema 0
    return Claim(partitions, _INT32.unpack_from(user_data, end)[0])


def encode_generation(generation: int) -> bytes:
    """User data of `cooperative-sticky`, for subscriptions that have no field for the generation."""
    return _INT32.pack(generation)


def decode_generation(user_data: bytes | None) -> int:
    """Generation from the user data of `cooperative-sticky`, -1 where there is none."""
    if user_data is None or len(user_data) < _INT32.size:
        return NO_GENERATION
    generation: int = _INT32.unpack_from(user_data)[0]
    return generation


def _read_partitions(data: bytes) -> tuple[tuple[NamedPartition, ...], int]:
    found: list[NamedPartition] = []
    position = _INT32.size
    for _ in range(_length(_INT32, data, 0)):
        size = _length(_INT16, data, position)
        position += _INT16.size
        if size > len(data) - position:
            raise ValueError("topic name beyond the end")
        topic = data[position : position + size].decode()
        position += size
        count = _length(_INT32, data, position)
        position += _INT32.size
        numbers = struct.unpack_from(f">{count}i", data, position)
        position += count * _INT32.size
        found.extend((topic, number) for number in numbers)
    return tuple(found), position


def _length(kind: struct.Struct, data: bytes, position: int) -> int:
    length: int = kind.unpack_from(data, position)[0]
    if length < 0:
        raise ValueError("negative length")
    return length
