"""Forms that no writer produces but Kafka's readers accept."""

import pytest

from rebalance_audit.wire.generated.messages import ConsumerGroupMetadataValue
from rebalance_audit.wire.records import Record, decode_record, encode_value
from tests.wire.golden_records import plain_key

STREAMER = "0000 00 00 0263 0268 00000000 00000000 0270"
LENIENT = [
    (
        "a size that is wrong",
        3,
        "0000 0000000a 01 00 05 1122334455667788",
        "0000 0000000a 01 00 08 1122334455667788",
    ),
    ("a varint with a spare byte", 7, "0000 8100 00", "0000 01 00"),
    ("a tag count with a spare byte", 3, "0000 0000000a 8000", "0000 0000000a 00"),
    ("a tag with its default", 3, "0000 0000000a 01 00 08 0000000000000000", "0000 0000000a 00"),
    ("a null struct marked -2", 19, f"{STREAMER} fe 01 00", f"{STREAMER} ff 01 00"),
    (
        "a struct marked 0",
        19,
        f"{STREAMER} 00 0268 0001 00 01 00",
        f"{STREAMER} 01 0268 0001 00 01 00",
    ),
    (
        "a null string of length -2",
        2,
        "0003 0000 00000000 fffe fffe 00000000000004d2 00000000",
        "0003 0000 00000000 ffff ffff 00000000000004d2 00000000",
    ),
]


@pytest.mark.parametrize(
    ("record_type", "odd", "canonical"), [c[1:] for c in LENIENT], ids=[c[0] for c in LENIENT]
)
def test_kafkas_readers_take_it_and_so_do_we(record_type: int, odd: str, canonical: str) -> None:
    """It decodes to the same value as the form that writers produce, which is also the one written here."""
    key = plain_key(record_type)
    record = decode_record(key, bytes.fromhex(odd))
    assert isinstance(record, Record), record
    assert record == decode_record(key, bytes.fromhex(canonical))
    assert record.value is not None
    assert record.value_version is not None
    written = encode_value(record.value, record.value_version)
    assert written.hex() == bytes.fromhex(canonical).hex()


def test_an_absent_tag_is_the_default_of_the_schema() -> None:
    """A group epoch record of a release before 4.1 has no hash: 0."""
    record = decode_record(plain_key(3), bytes.fromhex("0000 0000000a 00"))
    assert isinstance(record, Record)
    assert record.value == ConsumerGroupMetadataValue(epoch=10, metadata_hash=0)
