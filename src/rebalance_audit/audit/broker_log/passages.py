"""Finds the coordinator's marks in a stream of bytes, in bounded memory whatever the lengths of its lines.

Every line of a coordinator about groups has a mark: `[GroupCoordinator 1]: ` in the old coordinator,
`[GroupCoordinator id=1 topic=__consumer_offsets partition=2] ` in the new one. Most lines of a broker's log have none,
so bytes are searched for marks before anything is split into lines.
"""

import codecs
import re
from collections.abc import Iterator
from functools import cached_property
from typing import IO, Final

BLOCK_BYTES: Final = 1 << 20
LINE_BYTES_MAX: Final = 64 << 10
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

_CRI: Final = re.compile(rb"(?:\xef\xbb\xbf)?[\dT:.+Z-]{20,40} (stdout|stderr) [FP] ")
_CRI_LINE: Final = re.compile(rb"[\dT:.+Z-]{20,40} (stdout|stderr) ([FP]) ")
_HEAD_BYTES: Final = 512


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
        return plain(_text(self._data[self.start : self._mark]))

    @cached_property
    def body(self) -> str:
        """The line from the mark on."""
        return plain(_text(self._data[self._mark : self.end]))

    @cached_property
    def before(self) -> str:
        """The lines before, as far as they may be part of the same document."""
        return _text(self._data[max(0, self._mark - LINE_BYTES_MAX) : self.start])

    @cached_property
    def line_before(self) -> str:
        """The last line before."""
        end = max(0, self.start - 1)
        return plain(_text(self._data[self._data.rfind(b"\n", max(0, end - 256), end) + 1 : end]))

    @cached_property
    def after(self) -> str:
        """What follows the line, with its line break."""
        return _text(self._data[self.end : min(len(self._data), self.end + LINE_BYTES_MAX)])

    @property
    def end_of_field(self) -> int:
        """Where the quoted text with the mark ends in `data`, at the latest with the line."""
        found = _ESCAPED_TO_QUOTE.match(self._data, self._mark, self.end)
        return self.end if found is None else found.end()


def plain(text: str) -> str:
    """The text without colours of terminals and without the carriage return before a line break."""
    if any(begin in text for begin in _ANSI_BEGINS):
        text = _ANSI.sub("", text)
    return text.rstrip("\r\n")


class PassageReader:
    """Reads the passages of one file. A caller says after each where the next search begins."""

    def __init__(self, file: IO[bytes]) -> None:
        """`file`: its bytes, unpacked."""
        self._blocks = _joined_by_runtime(_utf8(_blocks_of(file)))
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


def _blocks_of(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(BLOCK_BYTES):
        yield block


def _utf8(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks as UTF-8, whatever Unicode encoding the first of them shows."""
    first = next(blocks, b"")
    encoding = _encoding_of(first)
    if encoding is None:
        yield first.removeprefix(codecs.BOM_UTF8)
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first).removeprefix("\ufeff").encode("utf-8", "replace")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "replace")
    yield decoder.decode(b"", final=True).encode("utf-8", "replace")


def _encoding_of(first: bytes) -> str | None:
    """UTF-32 or UTF-16 by a byte order mark, or by where the zeros of ASCII characters are; None for UTF-8."""
    head = first[:_HEAD_BYTES]
    for bom, encoding in (
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if head.startswith(bom):
            return encoding
    even, odd = head[0::2], head[1::2]
    if len(odd) >= 16:
        if odd.count(0) * 10 >= len(odd) * 9 and even.count(0) * 10 <= len(even):
            return "utf-16-le"
        if even.count(0) * 10 >= len(even) * 9 and odd.count(0) * 10 <= len(odd):
            return "utf-16-be"
    return None


def _joined_by_runtime(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks; where a container runtime split long lines in parts (`stdout P`), with its lines whole again."""
    first = next(blocks, b"")
    if not _CRI.match(first):
        if first:
            yield first
        yield from blocks
        return
    parts: dict[bytes, list[bytes]] = {}
    sizes: dict[bytes, int] = {}
    rest = b""
    block: bytes | None = first
    while block:
        data = rest + block
        block = next(blocks, None)
        end = data.rfind(b"\n") + 1 if block else len(data)
        if end == 0 and len(data) < 2 * LINE_BYTES_MAX:
            rest = data
            continue
        end = end or len(data)
        rest = data[end:]
        data = data[:end]
        if not parts and b"stdout P " not in data and b"stderr P " not in data:
            yield data
            continue
        out: list[bytes] = []
        for line in data.splitlines(keepends=True):
            found = _CRI_LINE.match(line)
            if found is None:
                out.append(line)
                continue
            stream, tag = found[1], found[2]
            pieces = parts.setdefault(stream, [])
            piece = line if not pieces else line[found.end() :]
            if sizes.get(stream, 0) <= 2 * LINE_BYTES_MAX:
                pieces.append(piece.rstrip(b"\r\n"))
            sizes[stream] = sizes.get(stream, 0) + len(piece)
            if tag == b"F":
                out.append(b"".join(pieces) + b"\n")
                del parts[stream], sizes[stream]
        yield b"".join(out)
    left = b"".join(b"".join(pieces) + b"\n" for pieces in parts.values())
    if left:
        yield left
