"""The compiled record reader of aiokafka, behind one import.

Importing it costs as much as the rest of a short command together, so the modules around it load this one on first use.
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
    MemoryError,  # a length that no machine has
)
"""All that iterating a batch raises on bytes whose checksum holds and whose records are nonsense."""
