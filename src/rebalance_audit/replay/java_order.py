"""The order in which Java's and Kafka's hash tables iterate, as far as the protocol's outcome depends on it.

Kafka breaks ties between members, topics and partitions by the iteration order of `java.util.HashMap`, `HashSet` and
its own `TimelineHashMap`. Results equal Kafka's only if ties are broken the same way. Capacities are those of Java 17.
Slots with nine or more keys in a table of 64 or more slots, which Java turns into trees, are not modelled: their keys
stay in insertion order.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, TypeAlias, TypeVar

from rebalance_audit.replay.partitions import Topic

Key: TypeAlias = str | bytes | int | tuple[str, int]
"""A String, a Uuid (16 bytes), an Integer (a partition number), a TopicPartition of the Java client."""

K = TypeVar("K", bound=Key)

DEFAULT_CAPACITY: Final = 16
"""Slots of a HashMap created without a size."""

_INT_BITS: Final = 32
_INT_LEAST: Final = -(1 << 31)
"""Has no absolute value in Java: `Utils.abs` makes it 0."""
_INT_MASK: Final = 0xFFFF_FFFF
_CACHED_LENGTH: Final = 256
_LONG_MASK: Final = 0xFFFF_FFFF_FFFF_FFFF
_SLOT_KEYS_MAX: Final = 8
_NO_TREES_BELOW: Final = 64
_TIMELINE_FACTOR: Final = -7046029254386353131


def hash_code(key: Key) -> int:
    """What `hashCode()` of the key's Java class returns: an int32 with its sign."""
    match key:
        case str():
            return _string_hash(key)
        case bytes():
            most, least = int.from_bytes(key[:8]), int.from_bytes(key[8:])
            mixed = most ^ least
            return _signed(mixed >> _INT_BITS ^ mixed)
        case int():
            return _signed(key)
        case (topic, number):
            return _signed(31 * (31 + number) + _string_hash(topic))


def _string_hash(text: str) -> int:
    """String.hashCode: base 31 over UTF-16 code units."""
    return (_known_string_hash if len(text) <= _CACHED_LENGTH else _hash_of_units)(text)


def _hash_of_units(text: str) -> int:
    hashed = 0
    if text.isascii():
        for unit in text.encode():
            hashed = (31 * hashed + unit) & _INT_MASK
    else:
        units = text.encode("utf-16-be", "surrogatepass")
        for high, low in zip(units[::2], units[1::2], strict=True):
            hashed = (31 * hashed + (high << 8 | low)) & _INT_MASK
    return _signed(hashed)


_known_string_hash: Final = lru_cache(1 << 16)(_hash_of_units)


def _signed(value: int) -> int:
    """The low 32 bits as a Java int."""
    low = value & _INT_MASK
    return low - (1 << _INT_BITS) if low >> (_INT_BITS - 1) else low


def partition_for(group_id: str, partition_count: int) -> int:
    """The partition of `__consumer_offsets` that holds a group (`partitionFor`): by the absolute hash of its id."""
    hashed = hash_code(group_id)
    return 0 if hashed == _INT_LEAST else abs(hashed) % partition_count


def string_rank(text: str) -> bytes:
    """Sort key that orders texts as String.compareTo does: by UTF-16 code units, not by code points."""
    return text.encode("utf-16-be", "surrogatepass")


def topic_rank(topic: Topic) -> tuple[int, int] | bytes:
    """Sort key that orders topic ids as Kafka's Uuid.compareTo does (two signed longs), and names as Strings."""
    if isinstance(topic, str):
        return string_rank(topic)
    return int.from_bytes(topic[:8], signed=True), int.from_bytes(topic[8:], signed=True)


def hash_map_order(keys: Iterable[K], capacity: int = DEFAULT_CAPACITY) -> list[K]:
    """Order in which a HashMap or HashSet iterates keys that were put in this order, none of them twice.

    `capacity` is the number of slots that it started with; it grows with the keys.
    """
    ordered = list(keys)
    return slot_order(ordered, _grown_capacity(ordered, capacity))


def slot_order(keys: Sequence[K], capacity: int) -> list[K]:
    """Keys ordered by their slots in a HashMap of exactly that many slots; inside a slot they keep this order."""
    mask = capacity - 1
    slots = [_spread(key) & mask for key in keys]
    return [keys[index] for index in sorted(range(len(keys)), key=slots.__getitem__)]


def copied_capacity(size: int) -> int:
    """Slots of a HashSet that was made as a copy of a collection of that size (`new HashSet<>(collection)`)."""
    return _power_of_two(max(int(size / 0.75) + 1, DEFAULT_CAPACITY))


def map_copy_capacity(size: int) -> int:
    """Slots of a HashMap that was made as a copy of a map of that size (`new HashMap<>(map)`)."""
    return _power_of_two(int(size / 0.75 + 1)) if size else DEFAULT_CAPACITY


def timeline_order(keys: Sequence[str], entries_max: int) -> list[str]:
    """Order in which a TimelineHashMap iterates keys that were put in this order.

    A put makes room for one more entry even if it replaces a value, and the table never shrinks: `entries_max` is the
    most entries that any put found, plus one. So a group whose members were all written again after the last of them
    joined has its largest member count plus one.
    """
    slot_bits = 1
    while entries_max * 0.75 > 1 << slot_bits:
        slot_bits += 1
    shift = 64 - slot_bits
    slots = [(hash_code(key) * _TIMELINE_FACTOR & _LONG_MASK) >> shift for key in keys]
    # Inside a slot the last key comes first.
    return [keys[index] for index in sorted(range(len(keys)), key=lambda at: (slots[at], -at))]


def _spread(key: Key) -> int:
    """HashMap.hash: the upper half of the hash folded into the lower, without its sign."""
    unsigned = hash_code(key) & _INT_MASK
    return unsigned ^ unsigned >> 16


def _power_of_two(least: int) -> int:
    """HashMap.tableSizeFor: the smallest power of two that is not below `least`."""
    return 1 << (least - 1).bit_length()


def _grown_capacity(keys: Sequence[Key], capacity: int) -> int:
    """Slots after the puts: doubled when three quarters are exceeded, and in small tables by a slot's ninth key."""
    if capacity < _NO_TREES_BELOW and len(keys) > _SLOT_KEYS_MAX:
        return _capacity_after_puts([_spread(key) for key in keys], capacity)
    while len(keys) > capacity * 0.75:
        capacity *= 2
    return capacity


def _capacity_after_puts(spread: Sequence[int], capacity: int) -> int:
    for index, value in enumerate(spread):
        if capacity < _NO_TREES_BELOW and index >= _SLOT_KEYS_MAX:
            mask = capacity - 1
            slot = value & mask
            if sum(other & mask == slot for other in spread[:index]) >= _SLOT_KEYS_MAX:
                capacity *= 2
        while index + 1 > capacity * 0.75:
            capacity *= 2
    return capacity
