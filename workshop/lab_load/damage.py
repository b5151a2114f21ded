"""Damage to the bytes of one batch, with a checksum that holds or one that does not."""

import struct
from collections.abc import Callable
from typing import Final

from rebalance_audit.wire.segments.c_reader import crc32c

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_CRC_COVERS_FROM: Final = 21
_FIELDS: Final = (
    "base_offset", "length", "leader_epoch", "magic", "crc", "attributes", "last_offset_delta",
    "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "record_count",
)  # fmt: skip


def changed_header(batch: bytes, **changes: Callable[[int], int]) -> bytes:
    """The batch with other numbers in its header, and with the checksum of these bytes."""
    fields = list(HEADER.unpack_from(batch))
    for name, change in changes.items():
        place = _FIELDS.index(name)
        fields[place] = change(fields[place])
    return _sealed(fields, batch[HEADER.size :])


def changed_body(batch: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The batch with other bytes after its header, and with the length and the checksum of these bytes."""
    fields = list(HEADER.unpack_from(batch))
    body = change(batch[HEADER.size :])
    fields[1] = HEADER.size - 12 + len(body)
    return _sealed(fields, body)


def wrong_checksum(batch: bytes) -> bytes:
    """The batch with a flipped bit in its checksum."""
    fields = list(HEADER.unpack_from(batch))
    fields[4] ^= 1
    return HEADER.pack(*fields) + batch[HEADER.size :]


def cut_to(size: float) -> Callable[[bytes], bytes]:
    """A cut after a number of bytes, or after a share of them if it is below 1."""
    return lambda batch: batch[: int(size * len(batch) if size < 1 else size)]


def _sealed(fields: list[int], body: bytes) -> bytes:
    fields[4] = 0
    fields[4] = crc32c(HEADER.pack(*fields)[_CRC_COVERS_FROM:] + body)
    return HEADER.pack(*fields) + body
