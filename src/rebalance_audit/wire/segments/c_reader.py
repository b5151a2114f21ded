"""The compiled record reader of aiokafka, in one import.

Importing it costs as much as the rest of a short command, so other modules load this one on first use.
"""

from typing import Final

from aiokafka.errors import CorruptRecordException
from aiokafka.record._crecords import DefaultRecordBatch
from aiokafka.record._crecords import crc32c_cython as crc32c

__all__ = ["DECODE_ERRORS", "DefaultRecordBatch", "crc32c"]

DECODE_ERRORS: Final = (
    CorruptRecordException,  # lengths and counts that contradict each other
    ValueError,  # a header key that is not UTF-8
    OverflowError,  # a length that no bytes object can have
    MemoryError,  # a length that exceeds any machine's memory
)
"""All that iterating a batch raises if its checksum holds but its records are nonsense."""
