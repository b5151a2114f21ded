"""What a task of the reducer holds of what it has to say, whatever the records are like."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from rebalance_audit.lake.arrow_types import column_of
from rebalance_audit.lake.output_rows import BATCH_ROWS
from rebalance_audit.lake.reducer import HELD_BYTES, INPUT, ReducerOptions, reduced
from rebalance_audit.wire.consumer_protocol import Subscription, encode_subscription
from rebalance_audit.wire.messages import (
    GroupMetadataKey,
    GroupMetadataMember,
    GroupMetadataValue,
)
from rebalance_audit.wire.records import encode_key, encode_value

KINDS = ("int", "string", "bigint", "timestamp", "int", "bigint", "boolean", "binary", "binary")
"""Types of INPUT."""
BATCHES = 20


def batches(groups: int) -> Iterator[pa.RecordBatch]:
    """Generations of so many groups; what their member sends with its subscription makes a megabyte of a batch."""
    each = 1 << 18
    subscription = encode_subscription(Subscription(("orders",), bytes(each), (), 1, None, 3))
    for number in range(BATCHES):
        rows = []
        for at in range(4):
            member = GroupMetadataMember("m", "c", "/h", 6_000, subscription, b"", None, 60_000)
            generation = 4 * number + at + 1
            value = GroupMetadataValue("consumer", generation, "range", "m", (member,), 1_000)
            group_id = f"g-{number * groups // BATCHES}"
            key = encode_key(GroupMetadataKey(group_id))
            given = (generation, 1_000 * generation, 0, None, None, key, encode_value(value, 3))
            rows.append((0, group_id, *given))
        columns = zip(*rows, strict=True)
        arrays = [column_of(kind, cells) for kind, cells in zip(KINDS, columns, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=[*INPUT])


@pytest.mark.parametrize("groups", [1, BATCHES])
def test_rows_of_large_records_do_not_wait_for_a_full_batch(groups: int) -> None:
    """Some dozen records may have as many bytes as a task is to hold: their rows go out, however few they are."""
    held = most = rows = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal held, most
        for batch in batches(groups):
            held += batch.nbytes
            most = max(most, held)
            yield batch

    for batch in reduced(counted(), ReducerOptions()):
        if batch.column("table")[0].as_py() == "group_records":
            rows += len(batch)
            held = 0
    assert rows == 4 * BATCHES < BATCH_ROWS
    assert most < 2 * HELD_BYTES
