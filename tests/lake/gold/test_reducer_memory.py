"""What a task of the reducer holds of what it has to say, whatever the records are like."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from rebalance_audit.lake.gold.group_memory import ReducerOptions
from rebalance_audit.lake.gold.outputs import BATCH_ROWS
from rebalance_audit.lake.gold.reducer import HELD_BYTES, reduced
from rebalance_audit.lake.records.commit_packs import INPUT
from rebalance_audit.tables.arrow_types import column_of
from rebalance_audit.wire.consumer_protocol import Subscription, encode_subscription
from rebalance_audit.wire.generated.messages import (
    GroupMetadataKey,
    GroupMetadataMember,
    GroupMetadataValue,
)
from rebalance_audit.wire.records import encode_key, encode_value
from tests.support.stream_rows import unpacked_stream

KINDS = (
    *("int", "string", "bigint", "timestamp", "int", "bigint", "boolean", "binary", "binary"),
    "string",
)
"""Types of INPUT."""
RECORDS = 80
RECORD_BYTES = 1 << 18


def batches(groups: int, size: int) -> Iterator[pa.RecordBatch]:
    """Generations of so many groups, `size` of them in a batch; what the member sends makes them large."""
    subscription = encode_subscription(
        Subscription(("orders",), bytes(RECORD_BYTES), (), 1, None, 3)
    )
    rows = []
    for generation in range(1, RECORDS + 1):
        member = GroupMetadataMember("m", "c", "/h", 6_000, subscription, b"", None, 60_000)
        value = GroupMetadataValue("consumer", generation, "range", "m", (member,), 1_000)
        group_id = f"g-{(generation - 1) * groups // RECORDS}"
        key = encode_key(GroupMetadataKey(group_id))
        given = (generation, 1_000 * generation, 0, None, None, key, encode_value(value, 3), None)
        rows.append((0, group_id, *given))
    for first in range(0, RECORDS, size):
        columns = zip(*rows[first : first + size], strict=True)
        arrays = [column_of(kind, cells) for kind, cells in zip(KINDS, columns, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=[*INPUT])


@pytest.mark.parametrize(("groups", "size"), [(1, 4), (20, 4), (1, RECORDS)])
def test_rows_of_large_records_do_not_wait_for_a_full_batch(groups: int, size: int) -> None:
    """Some dozen records may have as many bytes as a task may hold: their rows go out, however few they are."""
    sizes = [
        len(rows)
        for table, _, rows in unpacked_stream(reduced(batches(groups, size), ReducerOptions()))
        if table == "group_records"
    ]
    assert sum(sizes) == RECORDS < BATCH_ROWS
    assert max(sizes) * RECORD_BYTES <= HELD_BYTES + RECORD_BYTES
