"""Finds the coordinator's marks in a stream of bytes, in bounded memory whatever the lengths of its lines.

Every line of a coordinator about groups has a mark: `[GroupCoordinator 1]: ` in the old coordinator,
`[GroupCoordinator id=1 topic=__consumer_offsets partition=2] ` in the new one. Most lines of a broker's log have none,
so bytes are searched for marks before anything is split into lines.
"""

import re
from collections.abc import Iterator
from functools import cached_property
from typing import IO, Final

from rebalance_audit import limits
from rebalance_audit.carriers.text import text_blocks

_HEAD_BYTES: Final = 512
LINE_BYTES_MAX: Final = limits.BROKER_LOG_LINE_BYTES.most
"""How much of a line is read before its mark, and after it. What is beyond is counted."""

MARK: Final = re.compile(
    r"\[(?:GroupCoordinator|GroupMetadataManager) (?:id=|brokerId=)?(?P<broker>\d{1,10})"
    r"(?: topic=\S{1,255} partition=(?P<log_partition>\d{1,9}))?\]:? ?"
)
_BEGINS: Final = (b"[GroupCoordinator ", b"[GroupMetadataManager ")
UNMARKED: Final = b"given member.id "
"""Begins the one line about groups without a mark (kafka.coordinator.group.GroupMetadata up to 2.8)."""
_STARTS: Final = re.compile(b"|".join(map(re.escape, (*_BEGINS, UNMARKED))))
_FIRST_OF: Final = (b"[Group", UNMARKED)

_ESCAPED_TO_QUOTE: Final = re.compile(rb'(?:[^"\\\n]|\\.|"")*"')
_ANSI: Final = re.compile(
    r"(?:\x1b|\^\[|#033|\\u001b|\\x1b|\\e|\\033)\[[0-9;:?]{0,32}[A-Za-z]"
    r"|\x1b\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)"
)
"""Colours and links of terminals, also as syslog and viewers write their escape character."""
_ANSI_BEGINS: Final = ("\x1b", "^[", "#033", "\\u001b", "\\x1b", "\\e[", "\\033")


class Passage:
    """A mark and the text around it."""

    __slots__ = ("__dict__", "_data", "_mark", "end", "number", "start")

    def __init__(self, data: bytes, mark: int, number: int) -> None:
        """`data` holds the mark at `mark`, and a line's length before and after it unless the file ends."""
        self._data = data
        self._mark = mark
        low, high = max(0, mark - LINE_BYTES_MAX), min(len(data), mark + LINE_BYTES_MAX)
        self.start = data.rfind(b"\n", low, mark) + 1 or low
        end = data.find(b"\n", mark, high)
        self.end = high if end < 0 else end
        self.number = number
        """Number of its line, from 1."""

    @property
    def is_cut(self) -> bool:
        """Whether its line is longer than what is read."""
        return self.end == self._mark + LINE_BYTES_MAX and self.end < len(self._data)

    @cached_property
    def head(self) -> str:
        """The line up to the mark."""
        return stripped_text(_text(self._data[self.start : self._mark]))

    @cached_property
    def body(self) -> str:
        """The line from the mark on."""
        return stripped_text(_text(self._data[self._mark : self.end]))

    @cached_property
    def before(self) -> str:
        """The lines before, as far as they may be part of the same document."""
        return _text(self._data[max(0, self._mark - LINE_BYTES_MAX) : self.start])

    def lines_before(self, most: int) -> Iterator[str]:
        """The lines before, the last one first."""
        end = self.start - 1
        for _ in range(most):
            if end <= 0:
                return
            low = max(0, end - LINE_BYTES_MAX)
            begin = self._data.rfind(b"\n", low, end) + 1 or low
            yield stripped_text(_text(self._data[begin:end]))
            end = begin - 1

    @property
    def is_from_start(self) -> bool:
        """Whether `head` begins where its line does."""
        return self.start == 0 or self._data[self.start - 1 : self.start] == b"\n"

    @cached_property
    def after(self) -> str:
        """What follows the line, with its line break."""
        return _text(self._data[self.end : min(len(self._data), self.end + LINE_BYTES_MAX)])

    @property
    def end_of_field(self) -> int:
        """Where the quoted text with the mark ends in `data`, at the latest with the line."""
        found = _ESCAPED_TO_QUOTE.match(self._data, self._mark, self.end)
        return self.end if found is None else found.end()


def stripped_text(text: str) -> str:
    """The text without colours of terminals and without the carriage return before a line break."""
    if any(begin in text for begin in _ANSI_BEGINS):
        text = _ANSI.sub("", text)
    return text.rstrip("\r\n")


class PassageReader:
    """Reads the passages of one file. A caller says after each where the next search begins."""

    def __init__(self, file: IO[bytes]) -> None:
        """`file`: its bytes, unpacked."""
        self._blocks = text_blocks(file)
        self.lines = 0
        """Number of lines read; complete at the end."""
        self.bytes_read = 0
        self.is_text = True
        self.resume_at = 0
        """Where in the current data the next search begins."""

    def passages(self) -> Iterator[Passage]:
        """Every mark at or after `resume_at`, which the caller moves on."""
        data, before = b"", 0  # `before`: number of line breaks before `data`
        last = b""
        blocks = iter(self._blocks)
        block = next(blocks, b"")
        self.is_text = b"\0" not in block[:_HEAD_BYTES]
        while block:
            following = next(blocks, b"")
            self.bytes_read += len(block)
            last = block
            data += block
            yield from self._in(data, before, is_last=not following)
            cut = max(0, len(data) - 2 * LINE_BYTES_MAX)
            before += data.count(b"\n", 0, cut)
            data = data[cut:]
            self.resume_at = max(0, self.resume_at - cut)
            block = following
        self.lines = before + data.count(b"\n") + (bool(last) and not last.endswith(b"\n"))

    def _in(self, data: bytes, before: int, *, is_last: bool) -> Iterator[Passage]:
        """The marks with enough of the file after them; the others come with the next block."""
        until = len(data) if is_last else len(data) - LINE_BYTES_MAX
        counted_to, number = 0, before
        while True:
            at = _next_mark(data, self.resume_at, until)
            if at < 0:
                self.resume_at = max(self.resume_at, until)
                return
            number += data.count(b"\n", counted_to, at)
            counted_to = at
            self.resume_at = at + 1
            yield Passage(data, at, number + 1)


def _next_mark(data: bytes, begin: int, until: int) -> int:
    # Two searches for fixed bytes are several times faster than one for either of them.
    best = -1
    for first in _FIRST_OF:
        at = data.find(first, begin, until + len(first) if best < 0 else best)
        while at >= 0 and not _STARTS.match(data, at):
            at = data.find(first, at + 1, until + len(first) if best < 0 else best)
        if 0 <= at < until and (best < 0 or at < best):
            best = at
    return best


def _text(data: bytes) -> str:
    # Bytes that are not UTF-8 occur only in client ids and reasons; the rest of the line still counts.
    return data.decode("utf-8", "replace")
