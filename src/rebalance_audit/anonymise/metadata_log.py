"""The `__cluster_metadata` log with pseudonyms: what it says about topics and racks, and nothing else of it."""

from collections import Counter

from rebalance_audit.anonymise.pseudonyms import Pseudonyms
from rebalance_audit.anonymise.records import LeftOut
from rebalance_audit.wire.metadata_records import (
    BrokerRegistered,
    MetadataRecord,
    PartitionPlaced,
    TopicMade,
    TopicRemoved,
    decode_metadata_record,
    encode_metadata_record,
)
from rebalance_audit.wire.primitives import DecodeError
from rebalance_audit.wire.segments.batches import BatchRecords


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
                record = None if value is None else decode_metadata_record(value)
            except DecodeError:
                record = None
            if record is None:
                self._left_out[LeftOut.METADATA] += 1
                continue
            kept.log_offsets.append(log_offset)
            kept.record_timestamps_ms.append(self._names.moment(at_ms))
            kept.keys.append(None)
            kept.values.append(encode_metadata_record(self._record(record)))
        return kept

    def _record(self, record: MetadataRecord) -> MetadataRecord:
        names = self._names
        match record:
            case BrokerRegistered(broker_id, rack):
                return BrokerRegistered(broker_id, None if rack is None else names.rack(rack))
            case TopicMade(topic_id, name):
                return TopicMade(names.topic_id(topic_id), names.topic(name))
            case PartitionPlaced(topic_id):
                return record._replace(topic_id=names.topic_id(topic_id))
            case TopicRemoved(topic_id):
                return TopicRemoved(names.topic_id(topic_id))
        return record
