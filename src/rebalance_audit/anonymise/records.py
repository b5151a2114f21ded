"""Records of `__consumer_offsets` with pseudonyms, from bytes to bytes.

Of the `__cluster_metadata` log, too: what it says about topics and racks, and nothing else of it.
"""

from collections import Counter
from enum import StrEnum
from typing import Final

from rebalance_audit.anonymise.embedded_bytes import MemberBytes
from rebalance_audit.anonymise.pseudonyms import Pseudonyms
from rebalance_audit.anonymise.record_fields import renamed
from rebalance_audit.anonymise.topic_hashes import TopicHashes
from rebalance_audit.wire import metadata_records
from rebalance_audit.wire.consumer_protocol import PROTOCOL_TYPE
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.primitives import SCALARS, DecodeError
from rebalance_audit.wire.records import (
    Record,
    Undecodable,
    UndecodableReason,
    decode_record,
    encode_key,
    encode_value,
    group_id_of,
)
from rebalance_audit.wire.segments.batches import BatchRecords
from rebalance_audit.wire.topic_names import ZERO_TOPIC_ID

_INT16: Final = SCALARS["int16"]
_KEYS_KEPT: Final = 1 << 15
_KEY_BYTES_KEPT: Final = 512


class LeftOut(StrEnum):
    """Bytes that do not reach the anonymised log, because their meaning is not known."""

    UNDECODABLE = "undecodable records, in whose place are others without content"
    AFTER_FIELDS = "bytes after the last field of a key or value"
    UNKNOWN_TAGS = "tagged fields that no known release writes"
    DAMAGE = "bytes of damage in segments"
    CONTROL = "control records that end no transaction"
    METADATA = "records of the cluster's metadata log that are not about topics or racks"
    LINES = "lines of brokers' logs that no rule reads"


class RecordRenamer:
    """Renames the records of a log, batch by batch in order of their offsets."""

    def __init__(self, names: Pseudonyms, hashes: TopicHashes, left_out: Counter[LeftOut]) -> None:
        """`left_out`: counts what is not copied."""
        self.names = names
        self.hashes = hashes
        self.left_out = left_out
        self._keys: dict[bytes, bytes] = {}
        self.kept = 0
        """Records that were written."""
        self.last_ms: int | None = None
        """Time of the latest record before any shift (epoch ms)."""

    def renamed(self, batch: BatchRecords) -> BatchRecords:
        """The records of one batch, none of them a control record."""
        decoded = [decode_record(*pair) for pair in zip(batch.keys, batch.values, strict=True)]
        self.hashes.follow(each for each in decoded if isinstance(each, Record))
        keys: list[bytes | None] = []
        values: list[bytes | None] = []
        rows = zip(decoded, batch.keys, batch.values, batch.record_timestamps_ms, strict=True)
        for record, key, value, at_ms in rows:
            if isinstance(record, Undecodable):
                self.left_out[LeftOut.UNDECODABLE] += 1
                new = self._refused_alike(record, value)
            else:
                new = self._key(record, key), self._value(record, value, at_ms)
            keys.append(new[0])
            values.append(new[1])
        self.kept += len(keys)
        self.last_ms = max((self.last_ms or 0, *batch.record_timestamps_ms))
        times = [self.names.moment(at_ms) for at_ms in batch.record_timestamps_ms]
        return BatchRecords(batch.log_offsets, times, keys, values)

    def _key(self, record: Record, key: bytes | None) -> bytes:
        assert key is not None
        known = self._keys.get(key)
        if known is None:
            if record.key_trailing:
                self.left_out[LeftOut.AFTER_FIELDS] += 1
            known = encode_key(renamed(self.names, record.key))
            if len(key) <= _KEY_BYTES_KEPT and not record.key_trailing:
                if len(self._keys) >= _KEYS_KEPT:
                    self._keys.clear()
                self._keys[key] = known
        return known

    def _value(self, record: Record, data: bytes | None, at_ms: int) -> bytes | None:
        value = record.value
        if value is None or data is None:
            return None
        if record.value_trailing:
            self.left_out[LeftOut.AFTER_FIELDS] += 1
        if record.unknown_tags:
            self.left_out[LeftOut.UNKNOWN_TAGS] += 1
        if (
            isinstance(value, messages.OffsetCommitValue)
            and not (
                value.metadata
                or record.value_trailing
                or record.unknown_tags
                or self.names.shift_ms
            )
            and value.topic_id == ZERO_TOPIC_ID
        ):
            return data  # nine of ten records of most logs
        assert record.value_version is not None
        new = self._inside(record.key, renamed(self.names, value), value, at_ms)
        return encode_value(new, record.value_version, record.layout)

    def _inside(
        self, key: messages.Key, new: messages.Value, old: messages.Value, at_ms: int
    ) -> messages.Value:
        """The value with what only its neighbours explain."""
        match new, old:
            case messages.GroupMetadataValue(), messages.GroupMetadataValue():
                inside = MemberBytes(self.names, old.protocol_type, old.protocol)
                members = [
                    each._replace(
                        subscription=inside.subscription(each.subscription),
                        assignment=inside.assignment(each.assignment),
                    )
                    for each in new.members
                ]
                return new._replace(members=tuple(members))
            case (
                messages.ConsumerGroupMemberMetadataValue(classic_member_metadata=classic),
                messages.ConsumerGroupMemberMetadataValue(classic_member_metadata=given),
            ) if classic is not None and given is not None:
                protocols = zip(classic.supported_protocols, given.supported_protocols, strict=True)
                written = [
                    each._replace(
                        metadata=MemberBytes(self.names, PROTOCOL_TYPE, before.name).subscription(
                            each.metadata
                        )
                    )
                    for each, before in protocols
                ]
                return new._replace(
                    classic_member_metadata=classic._replace(supported_protocols=tuple(written))
                )
            case (
                messages.ConsumerGroupMetadataValue()
                | messages.ShareGroupMetadataValue()
                | messages.StreamsGroupMetadataValue(),
                _,
            ):
                group = group_id_of(key)
                return new._replace(
                    metadata_hash=self.hashes.renamed(group, new.metadata_hash, at_ms)
                )
        return new

    def _refused_alike(
        self, refused: Undecodable, value: bytes | None
    ) -> tuple[bytes | None, bytes | None]:
        """A key and a value without content that are refused for the same reason, or for one close to it."""
        empty = None if value is None else b""
        if refused.record_type is None:
            return (None if refused.reason is UndecodableReason.NO_KEY else b""), empty
        if refused.key is None:
            return _INT16.pack(refused.record_type), empty
        key = encode_key(renamed(self.names, refused.key))
        version = refused.value_version
        return key, (b"" if version is None else _INT16.pack(version))


class MetadataRenamer:
    """Renames the records of the metadata log, batch by batch."""

    def __init__(self, names: Pseudonyms, left_out: Counter[LeftOut]) -> None:
        self._names = names
        self._left_out = left_out

    def renamed(self, batch: BatchRecords) -> BatchRecords:
        """The records of one batch that are read, under pseudonyms."""
        kept = BatchRecords([], [], [], [])
        for log_offset, at_ms, _, value in zip(*batch, strict=True):
            try:
                record = None if value is None else metadata_records.decode_metadata_record(value)
            except DecodeError:
                record = None
            if record is None:
                self._left_out[LeftOut.METADATA] += 1
                continue
            kept.log_offsets.append(log_offset)
            kept.record_timestamps_ms.append(self._names.moment(at_ms))
            kept.keys.append(None)
            kept.values.append(metadata_records.encode_metadata_record(self._record(record)))
        return kept

    def _record(self, record: metadata_records.MetadataRecord) -> metadata_records.MetadataRecord:
        names = self._names
        match record:
            case metadata_records.BrokerRegistered(broker_id, rack):
                return metadata_records.BrokerRegistered(
                    broker_id, None if rack is None else names.rack(rack)
                )
            case metadata_records.TopicMade(topic_id, name):
                return metadata_records.TopicMade(names.topic_id(topic_id), names.topic(name))
            case metadata_records.PartitionPlaced(topic_id):
                return record._replace(topic_id=names.topic_id(topic_id))
            case metadata_records.TopicRemoved(topic_id):
                return metadata_records.TopicRemoved(names.topic_id(topic_id))
        return record
