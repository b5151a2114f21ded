"""The columns in which every source delivers the records of a log."""

from collections.abc import Iterable, Mapping
from typing import Final

RECORD: Final[Mapping[str, str]] = {
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestamp_type": "string",
    "leader_epoch": "int",
    "producer_id": "bigint",
    "producer_epoch": "int",
    "is_transactional": "boolean",
    "is_control": "boolean",
    "key": "binary",
    "value": "binary",
}
"""Name and type of what bronze.records keeps of a record; null if the source does not show."""

DAMAGE: Final = "damage"
PASSED_OVER: Final = "passed_over"
OF_SEGMENTS: Final[Mapping[str, str]] = {
    **RECORD,
    DAMAGE: (
        "struct<reason: string, detail: string, source_file: string, byte_position: bigint,"
        " raw: binary, before_offset: bigint>"
    ),
    PASSED_OVER: "bigint",
}
"""What the segment reader can deliver besides records: rows for a damaged stretch, and rows for a number of records of
types that were left out. Both have the partition, and no other column of a record except perhaps offset or time."""


def ddl(names: Iterable[str]) -> str:
    """The schema, as DDL, of the named columns of OF_SEGMENTS."""
    return ", ".join(f"{name} {OF_SEGMENTS[name]}" for name in names)
