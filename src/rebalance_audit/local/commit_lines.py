"""Offset commits as lines of JSON, made of parts of earlier lines.

Two commits of one key differ in little more than two numbers, the committed offset and the time of the commit. So a
line is printed field by field once; another one with the same key, and a value that has the same other bytes, is put
together from its parts. What is not met again costs a look-up.
"""

from typing import Final, NamedTuple

import numpy as np

from rebalance_audit.audit.commits.summary import POSITION_AT
from rebalance_audit.segments.columns import Blobs, Columns, Int64s
from rebalance_audit.segments.commits import committed_positions

_KNOWN_MAX: Final = 1 << 15
_KNOWN_BYTES_MAX: Final = 512
"""Longer keys and values are printed field by field each time, so that a cache stays below a few megabytes."""
_FLEXIBLE: Final = 4
_EXPIRES: Final = 1
_TEXT_SIZE_AT: Final = 14
"""Where a value of version 4 has the length of its metadata, with one added; one byte for those that are short."""
_SHORT_MAX: Final = 127
_NUMBER_BYTES: Final = 8
_KEY: Final = '"key":'
_COMMITTED: Final = '"data":{"offset":'
_MOMENT: Final = '"commitTimestamp":'


class ValueParts(NamedTuple):
    """The values of some records in parts, where they may be those of offset commits."""

    others: list[bytes | None]
    """All bytes, with zeros for those of both numbers; None where it is no value of a commit."""
    committed: list[int]
    moments_ms: list[int]
    """Time of the commit (epoch ms)."""

    @classmethod
    def of(cls, found: Columns, rows: Int64s) -> "ValueParts":
        """Reads both numbers where a value of its size has them; whether it is a value is for the decoder to say."""
        values, begins, sizes = found.values, found.values.begins, found.values.sizes
        version = values.numbers(begins, ">u2")
        text_size = values.numbers(begins + _TEXT_SIZE_AT, "u1")
        from_end = np.where(version == _EXPIRES, 2 * _NUMBER_BYTES, _NUMBER_BYTES)
        moment_at = np.where(version == _FLEXIBLE, _TEXT_SIZE_AT + text_size, sizes - from_end)
        of_coordinator = (not run.is_control and run.leader_epoch is not None for run in found.runs)
        are_parted = (
            found.have_commit_keys()
            & found.run_flags(of_coordinator)
            & (version <= _FLEXIBLE)
            & ((version < _FLEXIBLE) | ((text_size > 0) & (text_size <= _SHORT_MAX)))
            & (moment_at >= POSITION_AT + _NUMBER_BYTES)
            & (moment_at + _NUMBER_BYTES <= sizes)
            & (sizes <= _KNOWN_BYTES_MAX)
            & (found.keys.sizes <= _KNOWN_BYTES_MAX)
        )
        data = values.data.copy()
        for at in (begins[are_parted] + POSITION_AT, (begins + moment_at)[are_parted]):
            for byte in range(_NUMBER_BYTES):
                data[at + byte] = 0
        return cls(
            Blobs(values.ends, data, are_parted.astype(np.uint8)).at(rows),
            committed_positions(found)[rows].tolist(),
            values.numbers((begins + moment_at)[rows], ">i8").tolist(),
        )


class LineParts(NamedTuple):
    """The line of an offset commit, from its key on, without both numbers."""

    before: str
    between: str
    after: str


class CommitLines:
    """Lines that were printed."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes | None, bytes | None], LineParts] = {}
        self.parts_of: Final = self._known.get
        """Of (key, `ValueParts.others`), or None."""

    def learn(
        self, line: str, key: bytes | None, other: bytes | None, committed: int, moment_ms: int
    ) -> None:
        """Take the line of a commit apart, whose value has no bytes after its fields; see `ValueParts`."""
        # No text of JSON has these marks: a quote in a text is escaped.
        before, _, rest = line[line.index(_KEY) :].partition(_COMMITTED)
        between, _, after = rest.partition(_MOMENT)
        number, moment = str(committed), str(moment_ms)
        if other is not None and between.startswith(number) and after.startswith(moment):
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            self._known[key, other] = LineParts(
                before + _COMMITTED,
                between.removeprefix(number) + _MOMENT,
                after.removeprefix(moment),
            )
