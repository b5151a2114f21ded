"""A partition in the shorthand of `tests.dsl`, as a reader of segments gives it."""

from rebalance_audit.verify.coordinators import Coordinator, coordinator_named
from rebalance_audit.verify.loading import Loading
from rebalance_audit.verify.partition_load import load_partition
from rebalance_audit.wire.records import encode_key, encode_value
from rebalance_audit.wire.segments.columns import ColumnChunk, Run
from tests.dsl import records

Raw = tuple[bytes | None, bytes | None]


def raw(lines: str) -> list[Raw]:
    """Keys and values of the records of the shorthand."""
    return [
        (
            encode_key(record.key),
            None
            if record.value is None
            else encode_value(record.value, record.value_version or 0, record.layout),
        )
        for record in records(lines)
    ]


def chunk(rows: list[Raw], first_offset: int = 0, producer_id: int = -1) -> ColumnChunk:
    """The records at consecutive offsets."""
    offsets = list(range(first_offset, first_offset + len(rows)))
    keys, values = [key for key, _ in rows], [value for _, value in rows]
    run = Run(len(rows), 0, producer_id, 0, producer_id >= 0, False, "CreateTime")
    return ColumnChunk(offsets, [1000] * len(rows), keys, values, [run])


def loading(lines: str, release: str) -> Loading:
    """What the coordinator of a release does with the records, which begin at offset 0."""
    return load_partition([chunk(raw(lines))], named(release), 0)


def named(release: str) -> Coordinator:
    """`4.3`, `3.9 new`, `3.9 classic`."""
    return coordinator_named(release)
