"""User data that the sticky assignors of the Java client put into a member's subscription.

`sticky` rebalances eagerly, so members own nothing when they join; what they had goes here, with its generation
(StickyAssignor's schemas 0 and 1). `cooperative-sticky` adds the generation for subscriptions that have no field for
it.
"""

import struct
from typing import Final, NamedTuple

from rebalance_audit.coordinator.assignors.client_members import NamedPartition, grouped
from rebalance_audit.replay.java_order import hash_map_order

NO_GENERATION: Final = -1

_INT16: Final = struct.Struct(">h")
_INT32: Final = struct.Struct(">i")


class Claim(NamedTuple):
    """Partitions that a member says it had, and in which generation."""

    partitions: tuple[NamedPartition, ...] = ()
    generation: int = NO_GENERATION


def encode_sticky(claim: Claim) -> bytes:
    """User data of `sticky`, schema 1."""
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
    """User data of `cooperative-sticky`."""
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
