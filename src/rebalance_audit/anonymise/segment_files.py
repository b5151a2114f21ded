"""Segments with other records in the batches that they had: offsets, gaps, producers, times and compression stay."""

import struct
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rebalance_audit.anonymise.pseudonyms import Pseudonyms
from rebalance_audit.anonymise.records import LeftOut
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord, encode_like
from rebalance_audit.wire.segments import batches, message_sets
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import LEGACY_ATTRIBUTES_AT
from rebalance_audit.wire.segments.walk import SegmentWalk

_CRC: Final = struct.Struct(">I")
_LENGTH: Final = struct.Struct(">i")


class SegmentRewriter:
    """Rewrites segments; `renamed` gets the records of each batch that is no control batch."""

    def __init__(
        self,
        names: Pseudonyms,
        renamed: Callable[[batches.BatchRecords], batches.BatchRecords],
        left_out: Counter[LeftOut],
    ) -> None:
        self._names = names
        self._renamed = renamed
        self._left_out = left_out

    def rewrite(self, source: Path, target: Path) -> None:
        """Write the segment with other records. Raises OSError that names the file."""
        with SegmentWalk(source) as walk, target.open("wb") as out:
            for position, following, found in walk.steps():
                if isinstance(found, BadBytes | TailNote):
                    self._left_out[LeftOut.DAMAGE] += following - position
                    continue
                batch = walk.view(position, following)
                records = batches.judged(found, batch)
                if isinstance(records, batches.Damage):
                    self._left_out[LeftOut.DAMAGE] += following - position
                elif found[batches.MAGIC] == 2:
                    out.write(self._batch(found, records))
                else:
                    out.write(
                        self._messages(found[batches.MAGIC], batch[LEGACY_ATTRIBUTES_AT], records)
                    )

    def _batch(self, header: batches.RawHeader, records: batches.BatchRecords) -> bytes:
        is_control = bool(header[batches.ATTRIBUTES] & batches.CONTROL)
        new = self._markers(records) if is_control else self._renamed(records)
        fields = list(header)
        for place in (batches.BASE_TIMESTAMP, batches.MAX_TIMESTAMP):
            fields[place] = self._names.moment(fields[place])
        changed: batches.RawHeader = batches.HEADER.unpack(batches.HEADER.pack(*fields))
        return encode_like(changed, [LoggedRecord(*each) for each in zip(*new, strict=True)])

    def _markers(self, records: batches.BatchRecords) -> batches.BatchRecords:
        """Transaction markers without anything after their fields."""
        kept = batches.BatchRecords([], [], [], [])
        for log_offset, at_ms, key, value in zip(*records, strict=True):
            marker = batches.parse_marker(key, value)
            if not isinstance(marker, batches.TransactionMarker):
                self._left_out[LeftOut.CONTROL] += 1
                continue
            assert key is not None
            assert value is not None
            kept.log_offsets.append(log_offset)
            kept.record_timestamps_ms.append(self._names.moment(at_ms))
            kept.keys.append(key[: batches.MARKER_KEY.size])
            kept.values.append(value[: batches.MARKER_VALUE.size])
        return kept

    def _messages(self, magic: int, attributes: int, records: batches.BatchRecords) -> bytes:
        new = self._renamed(records)
        return b"".join(
            _message(magic, attributes & ~batches.CODEC_MASK, *each)
            for each in zip(*new, strict=True)
        )


def _message(
    magic: int,
    attributes: int,
    message_offset: int,
    at_ms: int,
    key: bytes | None,
    value: bytes | None,
) -> bytes:
    """One message of magic 0 or 1 without compression."""
    times = (at_ms,) if magic else ()
    parts = [
        _LENGTH.pack(-1) if part is None else _LENGTH.pack(len(part)) + part
        for part in (key, value)
    ]
    size = message_sets.HEADERS[magic].size - batches.LOG_OVERHEAD_BYTES + sum(map(len, parts))
    head = message_sets.HEADERS[magic].pack(message_offset, size, 0, magic, attributes, *times)
    made = bytearray(b"".join((head, *parts)))
    _CRC.pack_into(made, message_sets.CRC_AT, zlib.crc32(made[message_sets.MAGIC_AT :]))
    return bytes(made)
