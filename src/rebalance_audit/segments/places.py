"""Words between the compiled walk and those who read its arrays: why it stopped, and what is in which column."""

from typing import Final

DONE: Final = 0
"""Every batch that begins before the end was taken."""
CUT: Final = 1
"""The batch reaches beyond the window."""
FULL: Final = 2
"""The arrays may not have room for the batch."""
COMPRESSED: Final = 3
"""The batch has its checksum; its records are compressed."""
ODD: Final = 4
"""The batch is left to the readers of `wire.segments`."""
WHOLE: Final = 5
"""The batch is as it should be."""

RECORDS, KEPT, RUNS, KEY_BYTES, VALUE_BYTES, EXCLUDED, EXCLUDED_LAST_MS, EXCLUDED_LAST_OFFSET = (
    range(8)
)
"""Places in `tally`: records that were walked, and how much of the arrays is in use. EXCLUDED: records that were left
out; the others are those of `wire.segments.columns.ColumnChunk`."""
TALLIES: Final = 8

HEAD_RECORDS, HEAD_BITS, HEAD_LAST_MS, HEAD_EPOCH, HEAD_PRODUCER, HEAD_PRODUCER_EPOCH = range(6)
"""Places in `head`: fields of a batch's header."""
HEADS: Final = 6

ROW_OFFSET, ROW_MS, ROW_KEY, ROW_KEY_BYTES, ROW_VALUE, ROW_VALUE_BYTES = range(6)
"""Columns of `batch`; a length of -1 is null."""
EPOCH, PRODUCER_ID, PRODUCER_EPOCH, BITS, RUN_RECORDS = range(5)
"""Columns of `runs`."""
