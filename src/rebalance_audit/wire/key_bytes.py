"""Keys of coordinator records as bytes: enough to skip a record without decoding it."""

from collections.abc import Iterable
from typing import Final

from rebalance_audit.wire.generated.messages import RecordType

TYPE_BYTES: Final = 2
"""Every key begins with its type as an int16; the group id follows, preceded by its length as an int16."""


def of_types(record_types: Iterable[int]) -> tuple[bytes, ...]:
    """What keys of these types begin with."""
    return tuple(number.to_bytes(TYPE_BYTES) for number in record_types)


OFFSET_COMMIT_TYPES: Final = frozenset({RecordType.LEGACY_OFFSET_COMMIT, RecordType.OFFSET_COMMIT})
"""Record types of offset commits; brokers still load type 0, which early releases wrote."""
OFFSET_COMMIT_PREFIXES: Final = of_types(OFFSET_COMMIT_TYPES)
"""What the key of an offset commit begins with."""


def of_groups(group_ids: Iterable[str]) -> tuple[bytes, ...]:
    """What keys of these groups contain from byte TYPE_BYTES on."""
    encoded = (group_id.encode() for group_id in group_ids)
    return tuple(len(group_id).to_bytes(2) + group_id for group_id in encoded)


def group_bytes(key: bytes | None) -> bytes | None:
    """The id of the group that a key names; None without a key, or for one too short, as a transaction marker's is."""
    if key is None or len(key) <= TYPE_BYTES + 2:
        return None
    begin = TYPE_BYTES + 2
    end = begin + int.from_bytes(key[TYPE_BYTES:begin])
    return key[begin:end] if end <= len(key) else None


def group_id_text(group: bytes | None) -> str | None:
    """A group's id as text; None where there is none, and for bytes that are not UTF-8, which name no group."""
    try:
        return None if group is None else group.decode()
    except UnicodeDecodeError:
        return None
