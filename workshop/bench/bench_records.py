"""Microseconds to decode one record: `python -m workshop.bench.bench_records`."""

import sys
import timeit
from collections.abc import Callable
from functools import partial

import orjson

from rebalance_audit.wire.consumer_protocol import Subscription, encode_subscription
from rebalance_audit.wire.generated.messages import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentTopicPartitions,
    ConsumerGroupCurrentMemberAssignmentValue,
    GroupMetadataKey,
    GroupMetadataMember,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from rebalance_audit.wire.json_shape import key_data, value_data
from rebalance_audit.wire.records import (
    Record,
    decode_record,
    decode_record_by_schema,
    encode_key,
    encode_value,
)

REPEATS = 5


def topic(number: int) -> ConsumerGroupCurrentMemberAssignmentTopicPartitions:
    """One topic with four partitions."""
    epochs = (8, 8, 9, 10)
    return ConsumerGroupCurrentMemberAssignmentTopicPartitions(
        bytes((number,)) * 16, (0, 1, 2, 3), epochs
    )


def member(number: int) -> GroupMetadataMember:
    """One member of a classic group."""
    subscription = Subscription(("orders", "payments"), None, (("orders", (number,)),), 5, None)
    name = f"consumer-{number}-12693108-4635-49fa-a419-ee970287b99a"
    payload = encode_subscription(subscription)
    return GroupMetadataMember(name, f"consumer-{number}", "/10.0.0.1", 45000, payload, payload)


MEMBERS = tuple(member(number) for number in range(10))
RECORDS: dict[str, tuple[bytes, bytes]] = {
    "offset commit": (
        encode_key(OffsetCommitKey("orders-service", "orders.created", 17)),
        encode_value(OffsetCommitValue(123456, "", 1700000000000, 5, -1, b"t" * 16), 4),
    ),
    "current assignment, 2 topics": (
        encode_key(ConsumerGroupCurrentMemberAssignmentKey("g", "5hyokUhLRLmuXDKTmYmeYQ")),
        encode_value(
            ConsumerGroupCurrentMemberAssignmentValue(10, 9, (topic(1), topic(2)), (), state=0), 0
        ),
    ),
    "classic generation, 10 members": (
        encode_key(GroupMetadataKey("g")),
        encode_value(GroupMetadataValue("consumer", 5, "range", "m", MEMBERS, 1700000000000), 3),
    ),
}


def microseconds(call: Callable[[], object], number: int = 2000) -> float:
    """Best time of one call."""
    return min(timeit.repeat(call, number=number, repeat=REPEATS)) / number * 1e6


def to_json(key: bytes, value: bytes) -> bytes:
    """The work of `decode` on one record."""
    record = decode_record(key, value)
    assert isinstance(record, Record)
    return orjson.dumps({"key": key_data(record), "value": value_data(record)})


def main() -> None:
    """Print a line per record kind."""
    sys.stdout.write(f"{'microseconds':32}{'decode':>10}{'to JSON':>10}{'by schema':>10}\n")
    for name, (key, value) in RECORDS.items():
        fast = microseconds(partial(decode_record, key, value))
        shown = microseconds(partial(to_json, key, value))
        slow = microseconds(partial(decode_record_by_schema, key, value), 200)
        sys.stdout.write(f"{name:32}{fast:10.2f}{shown:10.2f}{slow:10.2f}\n")


if __name__ == "__main__":
    main()
