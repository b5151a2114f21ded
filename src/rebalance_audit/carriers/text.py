"""The text of a file as blocks of UTF-8: in any Unicode encoding, and as container runtimes write it."""

import codecs
import re
from collections.abc import Iterator
from typing import IO, Final

from rebalance_audit import limits

BLOCK_BYTES: Final = 1 << 20
_LINE_BYTES_MAX: Final = limits.BROKER_LOG_LINE_BYTES.most
_CRI: Final = re.compile(rb"(?:\xef\xbb\xbf)?[\dT:.+Z-]{20,40} (stdout|stderr) [FP] ")
_CRI_LINE: Final = re.compile(rb"[\dT:.+Z-]{20,40} (stdout|stderr) ([FP]) ")
_HEAD_BYTES: Final = 512


def text_blocks(file: IO[bytes]) -> Iterator[bytes]:
    """Blocks of UTF-8 without a byte order mark; lines that a container runtime split are whole again."""
    return _joined_by_runtime(_utf8(_blocks_of(file)))


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
        if end == 0 and len(data) < 2 * _LINE_BYTES_MAX:
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
            if sizes.get(stream, 0) <= 2 * _LINE_BYTES_MAX:
                pieces.append(piece.rstrip(b"\r\n"))
            sizes[stream] = sizes.get(stream, 0) + len(piece)
            if tag == b"F":
                out.append(b"".join(pieces) + b"\n")
                del parts[stream], sizes[stream]
        yield b"".join(out)
    left = b"".join(b"".join(pieces) + b"\n" for pieces in parts.values())
    if left:
        yield left
