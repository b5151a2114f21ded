"""What a segment file may hold besides batches: damage and an unfinished end. Both are values, never exceptions."""

from enum import StrEnum
from typing import Final, NamedTuple

from rebalance_audit import limits

RAW_BYTES_MAX: Final = limits.RAW_BYTES.most
"""Bytes kept of one damaged stretch; a batch of Kafka's default size limit fits whole."""


class BadBytesReason(StrEnum):
    """Why a stretch of a segment could not be read."""

    NOT_A_BATCH = "not_a_batch"
    """There is no header of a known format where a batch should begin."""
    CRC_MISMATCH = "crc_mismatch"
    """The checksum differs from the one in the header; nothing of the batch was decoded."""
    BAD_COMPRESSION = "bad_compression"
    """The codec is unknown, or the compressed bytes do not decompress to a sane size."""
    BAD_RECORDS = "bad_records"
    """The checksum holds, but lengths, counts or offsets of the records contradict each other."""
    BAD_MARKER = "bad_marker"
    """A control record whose key or value is not that of a marker."""


class BadBytes(NamedTuple):
    """A damaged stretch of a segment, kept for quarantine. Reading continues after it."""

    path: str
    byte_position: int
    size_bytes: int
    reason: BadBytesReason
    detail: str
    """One sentence for people."""
    base_offset: int | None
    """Offset of the first record according to the header; None if no header could be read."""
    raw: bytes
    """The first RAW_BYTES_MAX of the bytes."""
    log_partition: int | None = None


class TailKind(StrEnum):
    """How a healthy segment may end."""

    PREALLOCATED = "preallocated"
    """Zeros: the broker reserved the file's size in advance or had not written the pages yet."""
    TORN = "torn"
    """The beginning of a batch whose end was not written."""


class TailNote(NamedTuple):
    """The end of a segment that holds no whole batch, as a running or crashed broker leaves it."""

    path: str
    byte_position: int
    size_bytes: int
    kind: TailKind
    log_partition: int | None = None
