"""The files that `kafka-consumer-groups --reset-offsets --from-file` reads, and what cannot be said in them.

The tool splits the file at line feeds before it looks at quotes, and reads each line by itself with Jackson's CSV
reader: the group (where the file has several), topic, partition, offset, without a heading. A quoted text may hold
anything but a line feed, with its quotes doubled. With one `--group` a file without groups is read as that group's.
Source: CsvUtils and parseResetPlan, in ConsumerGroupCommand (3.9, 4.0) or OffsetsUtils (from 4.1 on).
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from itertools import groupby
from typing import Final, NamedTuple

TOPIC_NAME: Final = re.compile(r"(?!\.{1,2}\Z)[a-zA-Z0-9._-]{1,249}")
"""What Kafka lets a topic be called (org.apache.kafka.common.internals.Topic)."""
PARTITION_MAX: Final = (1 << 31) - 1

GROUPS_OF_FILE_MAX: Final = 100
"""For each group the tool reads the whole file twice."""
NAME_BYTES_MAX: Final = 64 << 10
"""The groups of a file are arguments of one command line."""


class Unsaid(StrEnum):
    """Why no command line of the tool sets an offset."""

    NO_SUCH_TOPIC = "no_such_topic"
    """No topic can have this name or partition: the tool would refuse the whole file."""
    NEGATIVE_OFFSET = "negative_offset"
    """The tool refuses negative offsets, and the whole file with them."""
    EMPTY_GROUP_ID = "empty_group_id"
    """Kafka describes no group with an empty id, which the tool does first."""
    NUL_IN_GROUP_ID = "nul_in_group_id"
    """No argument of a command can hold the character U+0000."""


class OffsetRow(NamedTuple):
    """One offset to set."""

    group_id: str
    topic: str
    partition: int
    committed_offset: int


class ResetFile(NamedTuple):
    """One file, for one command line."""

    rows: tuple[OffsetRow, ...]

    @property
    def group_ids(self) -> tuple[str, ...]:
        """Its groups, in the order of the rows."""
        return tuple(dict.fromkeys(row.group_id for row in self.rows))

    @property
    def text(self) -> str:
        """As the tool reads it; the group's column is missing where there is one group."""
        rows = self.rows if len(self.group_ids) > 1 else [row[1:] for row in self.rows]
        out = io.StringIO()
        csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerows(rows)
        return out.getvalue()


def unsaid(row: OffsetRow) -> Unsaid | None:
    """Why the tool cannot set the offset; None if it can."""
    if not row.group_id:
        return Unsaid.EMPTY_GROUP_ID
    if "\0" in row.group_id:
        return Unsaid.NUL_IN_GROUP_ID
    if not TOPIC_NAME.fullmatch(row.topic) or not 0 <= row.partition <= PARTITION_MAX:
        return Unsaid.NO_SUCH_TOPIC
    return Unsaid.NEGATIVE_OFFSET if row.committed_offset < 0 else None


def reset_files(rows: Iterable[OffsetRow]) -> Iterator[ResetFile]:
    """The rows, in order of their groups and none of them `unsaid`, in as few files as one command line each can take.

    A group whose id has a line feed has a file of its own behind them, which need not name it.
    """
    together: list[OffsetRow] = []
    alone: list[ResetFile] = []
    groups = name_bytes = 0
    for group_id, found in groupby(rows, key=lambda row: row.group_id):
        if "\n" in group_id:
            alone.append(ResetFile(tuple(found)))
            continue
        size = len(group_id.encode())
        if groups == GROUPS_OF_FILE_MAX or (together and name_bytes + size > NAME_BYTES_MAX):
            yield ResetFile(tuple(together))
            together, groups, name_bytes = [], 0, 0
        together += found
        groups += 1
        name_bytes += size
    if together:
        yield ResetFile(tuple(together))
    yield from alone
