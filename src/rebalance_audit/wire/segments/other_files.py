"""Files that lie where a segment should and are none: compressed segments, text, anything without a batch."""

import os
from codecs import getincrementaldecoder
from pathlib import Path
from typing import Final

from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.regular_file import open_regular
from rebalance_audit.wire.segments.walk import SegmentWalk

UNPACK: Final = "is compressed: unpack it first"
COMPRESSED_SUFFIXES: Final = frozenset({".bz2", ".gz", ".lz4", ".xz", ".zip", ".zst"})
ARCHIVE_SUFFIXES: Final = COMPRESSED_SUFFIXES | {".tar", ".tgz", ".tbz2", ".txz", ".tzst"}

_COMPRESSED: Final = (
    b"BZh",
    b"\x1f\x8b",
    b"\x04\x22\x4d\x18",
    b"\xfd7zXZ",
    b"PK\x03\x04",
    b"\x28\xb5\x2f\xfd",
)
"""How such files begin. A segment begins with an offset, and so with a zero."""
_BLANKS: Final = "\t\n\v\f\r"
_HEAD_BYTES: Final = 4096


def other_kind(path: Path) -> str | None:
    """What is wrong with a file that is compressed, text or no batch at all, to follow its name; None for any other.

    A segment with an overwritten beginning is a damaged segment. Raises OSError.
    """
    with SegmentWalk(path) as walk:
        _, following, found = next(walk.steps(), (0, 0, None))
        if not isinstance(found, BadBytes | TailNote) or following < walk.size_bytes:
            return None
    with os.fdopen(open_regular(path), "rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(_COMPRESSED):
        return UNPACK
    if _is_text(head):
        return "is a text file, not a segment"
    is_unlike_batch = isinstance(found, BadBytes) and found.base_offset is None
    return "holds no batch of records: it is not a segment" if is_unlike_batch else None


def _is_text(head: bytes) -> bool:
    """Whether a file that begins so is UTF-8 without control characters, and not empty."""
    try:
        text = getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return bool(text) and all(char.isprintable() or char in _BLANKS for char in text)
