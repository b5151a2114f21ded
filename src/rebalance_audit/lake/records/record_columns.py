"""The columns in which every source gives the records of a log."""

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
"""Name and type of what bronze.records keeps of a record; null where the source does not tell."""

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
"""What the segment reader can give besides: rows that stand for a damaged stretch, and rows that stand for as many
records of types that were not wanted. Both have the partition, and nothing else of a record but perhaps the offset."""


def ddl(names: Iterable[str]) -> str:
    """A schema of the named columns of OF_SEGMENTS."""
    return ", ".join(f"{name} {OF_SEGMENTS[name]}" for name in names)
