"""Text from outside, made harmless where it is output: what a terminal would obey is shown as an escape.

Client ids, member ids, group ids, topics and hosts are chosen by whoever may join a group. Rows, JSON and messages
keep them as they are; each writer passes what it prints through here, once.
"""

import unicodedata
from hashlib import blake2b
from typing import Final

NAME_MAX: Final = 512
"""Characters of one name in a text for people. A topic has 249 at most (`Topic.MAX_NAME_LENGTH`), an id 32,767."""
TEXT_MAX: Final = 2000
"""Characters of one sentence that a table holds."""
_TAIL: Final = 24
"""Characters of a cut name that are kept of its end, where ids differ."""
_DIGEST_BYTES: Final = 4
_MARKS_MAX: Final = 4
"""Combining marks on one letter; more of them cover the lines above and below."""

_UNSEEN: Final = frozenset(
    [
        0x034F,  # combining grapheme joiner
        0x115F,
        0x1160,  # Hangul fillers
        0x17B4,
        0x17B5,  # Khmer vowels without a shape
        *range(0x180B, 0x1810),  # Mongolian variation selectors
        0x2800,  # Braille blank
        0x3164,
        0xFFA0,  # Hangul fillers
        *range(0xFE00, 0xFE10),  # variation selectors
        *range(0xE0100, 0xE01F0),
    ]
)
"""Letters, marks and symbols to Unicode that leave nothing on a screen: two ids that differ by them look alike."""


def visible(text: str) -> str:
    r"""`text` with invisible characters and terminal controls as escapes, as in `\x1b`; it has no line breaks any more.

    Escaped are controls (C0, DEL, C1), format characters (bidi controls, zero-width ones), separators other than the
    blank, surrogates, private and unassigned characters (`str.isprintable`), letters without a shape, and combining
    marks that begin a word or pile up. What is visible stays as it is, so that a second call changes nothing.
    """
    if text.isascii() and text.isprintable():
        return text
    found, marks = [], _MARKS_MAX
    for char in text:
        is_mark = unicodedata.category(char)[0] == "M"
        marks = marks + 1 if is_mark else _MARKS_MAX if char == " " else 0
        shown = char.isprintable() and ord(char) not in _UNSEEN and marks <= _MARKS_MAX
        found.append(char if shown else _escaped(char))
    return "".join(found)


def shortened(name: str, at_most: int = NAME_MAX) -> str:
    """A name of more characters cut in its middle; a digest of the whole keeps two long names distinguishable.

    `aaaaaaaa…9f86d081…aaaa`. The whole name is in rows and in JSON.
    """
    if len(name) <= at_most:
        return name
    digest = blake2b(name.encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
    between = f"…{digest}…"
    tail = min(_TAIL, at_most // 3)
    return f"{name[: max(0, at_most - tail - len(between))]}{between}{name[-tail:]}"


def _escaped(char: str) -> str:
    """As Python writes it; a mark or letter that Python would print, by its number."""
    if not char.isprintable():
        return repr(char)[1:-1]
    number = ord(char)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
