"""Golden bytes to fields and back."""

import pytest

from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.json_shape import key_data, value_data
from rebalance_audit.wire.records import (
    Record,
    decode_record,
    encode_key,
    encode_value,
    group_id_of,
)
from tests.wire.golden_records import (
    CapturedRecord,
    KeyVector,
    ValueVector,
    captured_records,
    key_vectors,
    plain_key,
    value_vectors,
)


@pytest.mark.parametrize("vector", key_vectors(), ids=lambda v: str(v.record_type))
def test_keys_read_and_write_as_kafka_does(vector: KeyVector) -> None:
    """A key decodes to Kafka's fields and its group, and encodes to the same bytes."""
    record = decode_record(vector.key, None)
    assert isinstance(record, Record)
    assert record.record_type == vector.record_type
    assert record.value is None
    assert key_data(record) == vector.data
    assert group_id_of(record.key) == vector.data.get("group", vector.data.get("groupId"))
    assert encode_key(record.key) == vector.key


@pytest.mark.parametrize(
    "vector", value_vectors(), ids=lambda v: f"{v.record_type}-v{v.value_version}"
)
def test_values_read_and_write_as_kafka_does(vector: ValueVector) -> None:
    """A value decodes to Kafka's fields, absent ones included, and encodes to the same bytes."""
    record = decode_record(plain_key(vector.record_type), vector.value)
    assert isinstance(record, Record)
    assert (record.record_type, record.value_version) == (vector.record_type, vector.value_version)
    assert record.layout == ""
    assert record.value is not None
    assert list(value_data(record).items()) == list(vector.data.items())
    assert encode_value(record.value, vector.value_version) == vector.value


@pytest.mark.parametrize("golden", captured_records(), ids=lambda r: r.name)
def test_records_of_real_brokers_read_as_kafka_reads_them(golden: CapturedRecord) -> None:
    """What brokers 3.3 to 4.4 wrote decodes to what Kafka prints, and encodes to the same bytes."""
    record = decode_record(golden.key, golden.value)
    assert isinstance(record, Record)
    assert {"type": int(record.record_type), "data": key_data(record)} == golden.kafka["key"]
    assert encode_key(record.key) == golden.key
    if record.value is None:
        assert golden.kafka["value"] is None
        return
    shown = {"version": record.value_version, "data": value_data(record)}
    assert shown == golden.kafka["value"]
    assert record.value_version is not None
    assert encode_value(record.value, record.value_version, record.layout) == golden.value


def test_the_golden_records_cover_what_they_should() -> None:
    """No vector is missing, and every released type, version and dialect is among the golden bytes."""
    assert (len(key_vectors()), len(value_vectors()), len(captured_records())) == (22, 39, 143)
    unreleased_or_removed = {9, 18, 24}
    assert {v.record_type for v in key_vectors()} == set(RecordType) - unreleased_or_removed
    versions = {(v.record_type, v.value_version) for v in value_vectors()}
    assert {(1, v) for v in range(5)} | {(2, v) for v in range(5)} <= versions
    layouts = set()
    for golden in captured_records():
        record = decode_record(golden.key, golden.value)
        assert isinstance(record, Record)
        layouts.add((int(record.record_type), record.layout))
    assert {(number, "3.7") for number in (4, 5, 7, 8)} <= layouts
