"""The content of a classic member's bytes is shown in place of them."""

from rebalance_audit.wire.consumer_protocol import Subscription, encode_subscription
from rebalance_audit.wire.generated.messages import (
    GroupMetadataKey,
    GroupMetadataMember,
    GroupMetadataValue,
    RecordType,
)
from rebalance_audit.wire.json_shape import value_data
from rebalance_audit.wire.records import Record, decode_record, encode_key, encode_value


def test_bytes_are_shown_alike_however_long_and_however_often() -> None:
    """Short ones are cached for the next generation, long ones are not; undecodable ones stay base64."""
    short, long = (
        encode_subscription(Subscription(("orders",), user_data, (), 5, "rack-1"))
        for user_data in (b"u", b"u" * 5000)
    )
    for _generation in range(2):
        shown = [_shown(payload) for payload in (short, long, b"\xff")]
        assert [each["subscription"] for each in shown[:2]] == [
            {
                "topics": ["orders"],
                "userData": user_data,
                "ownedPartitions": [],
                "generationId": 5,
                "rackId": "rack-1",
            }
            for user_data in ("dQ==", "dXV1" * 1666 + "dXU=")
        ]
        assert shown[2]["subscription"] == "/w=="


def _shown(subscription: bytes) -> dict[str, object]:
    """A member with that subscription as the only one of its generation."""
    member = GroupMetadataMember("m", "client", "/10.0.0.1", 45_000, subscription, b"")
    value = GroupMetadataValue("consumer", 1, "range", "m", (member,), 1)
    record = decode_record(encode_key(GroupMetadataKey("g")), encode_value(value, 3))
    assert isinstance(record, Record)
    assert record.record_type is RecordType.GROUP_METADATA
    shown: dict[str, object]
    (shown,) = value_data(record)["members"]
    return shown
