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

RECORDS, COMMITS, MARKERS, FIRST_MS, LAST_MS, NEXT_OFFSET = range(6)
"""Places in `tally`: what the batches held. Times and offset are those of any record."""
KEPT, KEPT_BEFORE, RUNS, KEYS, GROUPS, SUMMARIES, KEY_BYTES, CUTS, NAMING, TOPIC_IDS = range(6, 16)
"""Places in `tally`: how many rows of the arrays are in use. KEPT_BEFORE: records that were taken out of `kept`."""
VALUE_BYTES, EXCLUDED, EXCLUDED_LAST_MS, EXCLUDED_LAST_OFFSET = range(16, 20)
"""Places in `tally` of the walk that takes columns. EXCLUDED: records that were left out; the others are those of
`wire.segments.columns.ColumnChunk`."""
LINE_BYTES: Final = 20
"""Place in `tally` of the walk that prints: bytes of the lines."""
FIRST_OFFSET, HOLES = range(21, 23)
"""Places in `tally`: the first record's offset, and how many rows of `holes` are in use."""
TALLIES: Final = 23

HEAD_RECORDS, HEAD_BITS, HEAD_LAST_MS, HEAD_EPOCH, HEAD_PRODUCER, HEAD_PRODUCER_EPOCH = range(6)
"""Places in `head`: fields of a batch's header."""
HEADS: Final = 6

ROW_OFFSET, ROW_MS, ROW_KEY, ROW_KEY_BYTES, ROW_VALUE, ROW_VALUE_BYTES = range(6)
"""Columns of `kept`, `naming` and `batch`; a length of -1 is null."""
LINE_AT, RUN_OF_ROW = range(6, 8)
"""Further columns of `kept` where the walk prints: before which byte of the lines the record belongs, and its run."""
EPOCH, PRODUCER_ID, PRODUCER_EPOCH, BITS, RUN_RECORDS = range(5)
"""Columns of `runs`."""
KEY_AT, KEY_SIZE, KEY_GROUP, KEY_OPEN, KEY_HASH = range(5)
"""Columns of `keys`; KEY_OPEN: row of `summaries` that still grows, or -1."""
GROUP_KEY, GROUP_FIRST, GROUP_LAST, GROUP_HASH = range(4)
"""Columns of `groups`: a key of the group, and the first and last of its open summaries, or -1."""
FIRST_AT, LAST_AT, FIRST, LAST, COUNT, LONGEST, PAUSE, LEADER, TRANSACTION = range(9)
FIRST_POSITION, LAST_POSITION, UNCHANGED, KEY, NEXT = range(9, 14)
SUMMARY_COLUMNS: Final = 14
"""Columns of `summaries`, in the order of `CommitSummary`; NEXT: the group's next one, or -1."""
CUT_AT, CUT_GROUP, CUT_FIRST = range(3)
"""Columns of `cuts`: the kept record before which a group's summaries end, the group, the first summary."""
