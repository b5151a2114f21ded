"""The records of one batch as Kafka's own iterator reads them, whatever its checksum says.

Sources: DefaultRecordBatch.RecordIterator, DefaultRecord.readFrom, ByteUtils of org.apache.kafka.common.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from rebalance_audit.wire.primitives import CorruptError, TruncatedError, read_wrapping_uvarint
from rebalance_audit.wire.segments import batches
from rebalance_audit.wire.segments.codecs import CODEC_NAMES, CompressionError, decompress
from rebalance_audit.wire.segments.columns import ColumnChunk, Run

_MAGIC_AT: Final = 16
_LEGACY_ATTRIBUTES_AT: Final = 17
_LEGACY_KEY_AT: Final = (18, 26)
"""By magic: where the size of the key is."""
_VARLONG_BYTES_MAX: Final = 10


class Unreadable(NamedTuple):
    """Where the iterator throws."""

    detail: str
    is_certain: bool = True
    """False: a bound of ours was met, none of Kafka's."""


class _Broken(Exception):  # noqa: N818 - ends the reading of a batch
    """Bytes at which Kafka's reader throws."""


def records_as_kafka_reads_them(batch: bytes) -> Iterator[ColumnChunk | Unreadable]:
    """The records up to the one at which the iterator throws, as one chunk; then that, if it does."""
    if len(batch) < batches.HEADER.size:
        yield Unreadable(f"it has {len(batch)} bytes, fewer than a header")
        return
    header = batches.HEADER.unpack_from(batch)
    count, attributes = header[batches.RECORD_COUNT], header[batches.ATTRIBUTES]
    codec = attributes & batches.CODEC_MASK
    if count == 0:
        return
    if count < 0:
        yield Unreadable(f"it claims {count} records")
        return
    if count > batches.BATCH_RECORDS_MAX:
        yield Unreadable(f"it claims {count} records", is_certain=count > len(batch) and not codec)
        return
    body = batch[batches.HEADER.size :]
    if codec >= len(CODEC_NAMES):
        yield Unreadable(f"it has compression codec {codec}")
        return
    if codec:
        try:
            body = decompress(codec, body)
        except CompressionError as error:
            yield Unreadable(f"it {error}", is_certain="more than" not in str(error))
            return
    reader = _Reader(body)
    rows: list[tuple[int, int, bytes | None, bytes | None]] = []
    problem: str | None = None
    for number in range(count):
        try:
            row = reader.record(header, is_last=number == count - 1)
        except _Broken as broken:
            problem = str(broken)
            break
        rows.append(row)
    if rows and (
        problem is None or not codec
    ):  # a compressed batch is read whole before its first record counts
        run = Run(
            len(rows),
            header[batches.LEADER_EPOCH],
            header[batches.PRODUCER_ID],
            header[batches.PRODUCER_EPOCH],
            bool(attributes & batches.TRANSACTIONAL),
            bool(attributes & batches.CONTROL),
            batches.timestamp_type_of(2, attributes),
        )
        offsets, times, keys, values = (list(column) for column in zip(*rows, strict=True))
        yield ColumnChunk(offsets, times, keys, values, [run])
    if problem is not None:
        yield Unreadable(problem)


def message_as_kafka_reads_it(message: bytes) -> Iterator[ColumnChunk | Unreadable]:
    """The same for a message of magic 0 or 1 (`LegacyRecord`): its sizes must fit; a compressed one is left open."""
    magic = message[_MAGIC_AT]
    at = _LEGACY_KEY_AT[magic]
    fields: list[bytes | None] = []
    for name in ("key", "value"):
        size = int.from_bytes(message[at : at + 4], signed=True)
        if at + 4 > len(message) or size > len(message) - at - 4:
            yield Unreadable(f"its {name} claims more bytes than it has")
            return
        fields.append(None if size < 0 else message[at + 4 : at + 4 + size])
        at += 4 + max(size, 0)
    attributes = message[_LEGACY_ATTRIBUTES_AT]
    if attributes & batches.CODEC_MASK:
        yield Unreadable("it is a compressed message of an old format", is_certain=False)
        return
    run = Run(1, None, -1, -1, False, False, batches.timestamp_type_of(magic, attributes))
    log_offset = int.from_bytes(message[:8], signed=True)
    yield ColumnChunk([log_offset], [-1], fields[:1], fields[1:], [run])


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def record(
        self, header: tuple[int, ...], *, is_last: bool
    ) -> tuple[int, int, bytes | None, bytes | None]:
        """Offset, time, key and value of the next record; nothing may follow the last."""
        size = self._varint()
        begin = self.at
        if len(self.data) - begin < size:
            raise _Broken(f"a record claims {size} bytes, more than are left")
        self._take(1)
        at_ms = header[batches.BASE_TIMESTAMP] + self._varlong()
        if header[batches.ATTRIBUTES] & batches.LOG_APPEND_TIME:
            at_ms = header[batches.MAX_TIMESTAMP]
        log_offset = header[batches.BASE_OFFSET] + self._varint()
        key, value = self._blob(), self._blob()
        count = self._varint()
        if not 0 <= count <= len(self.data) - self.at:
            raise _Broken(f"a record claims {count} headers")
        for _ in range(count):
            if self._blob() is None:
                raise _Broken("a header has no name")
            self._blob()
        if self.at - begin != size:
            raise _Broken(f"a record claims {size} bytes and has {self.at - begin}")
        if is_last and self.at != len(self.data):
            raise _Broken("bytes follow its last record")
        return log_offset, at_ms, key, value

    def _blob(self) -> bytes | None:
        size = self._varint()
        return None if size < 0 else self._take(size)

    def _take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise _Broken("a record ends before its fields do")
        self.at += size
        return self.data[self.at - size : self.at]

    def _varint(self) -> int:
        try:
            raw, self.at = read_wrapping_uvarint(self.data, self.at)
        except (TruncatedError, CorruptError) as error:
            raise _Broken(str(error)) from error
        raw &= 0xFFFF_FFFF
        return (raw >> 1) ^ -(raw & 1)

    def _varlong(self) -> int:
        raw = 0
        for place in range(_VARLONG_BYTES_MAX):
            (byte,) = self._take(1)
            raw |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                raw &= (1 << 64) - 1
                return (raw >> 1) ^ -(raw & 1)
        raise _Broken("a number has more than ten bytes")
