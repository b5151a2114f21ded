"""The record reader of aiokafka, which is compiled where its wheel is, in one import.

Importing it costs as much as the rest of a short command, so other modules load this one on first use.
"""

from typing import Final

from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.util import calc_crc32c as crc32c

__all__ = ["DECODE_ERRORS", "DefaultRecordBatch", "crc32c"]

DECODE_ERRORS: Final = (
    CorruptRecordException,  # lengths and counts that contradict each other
    ValueError,  # a header key that is not UTF-8
    OverflowError,  # a length that no bytes object can have
    MemoryError,  # a length that exceeds any machine's memory
)
"""All that iterating a batch raises if its checksum holds but its records are nonsense."""
