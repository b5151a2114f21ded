"""JSON wherever it is in a text, and the objects of interest wherever they are in JSON.

Tools export arrays, lists, pages, lines of JSON, or one document after another; shippers and stores of logs wrap an
object in objects of their own, in a text of JSON, in a line with a prefix, or in a field of CSV. None of them is known
here by name: an object is taken where one is found that a reader knows, the outermost first.
"""

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, Final, NamedTuple, TypeAlias

import orjson

from rebalance_audit.carriers.text import text_blocks

_BRACKET: Final = re.compile(
    r"""[^"{}\[\]]*+(?:"(?:[^"\\]|\\.)*+(?:"|\\?\Z)[^"{}\[\]]*+)*+([{}\[\]]|\Z)""", re.DOTALL
)
"""The next bracket that is in no string, or the end; a string that does not end goes up to the end."""
_OPENING: Final = re.compile(r"[{\[]")
_HAS_OBJECT: Final = re.compile(r'\{\s*"')
_DEPTH_MAX: Final = 64
"""Objects and arrays in one another, down to the one that is looked for."""
_TEXTS_MAX: Final = 4
"""JSON in a text of JSON, and so on."""
_EFFORT_FREE: Final = 256
_EFFORT: Final = 4
"""Characters that are looked at for each one of a text that is no JSON: linear, whatever it holds."""
_EFFORT_OPENING: Final = 30
"""What a bracket that begins no document costs beside them."""


class Document(NamedTuple):
    """A JSON object or array of a text."""

    line: int
    """In which it begins, from 1."""
    value: object


class JsonDocuments:
    """The documents of a file, in order; `unread` and `first_unread` count once they were read."""

    def __init__(self, file: IO[bytes], most_bytes: int) -> None:
        """`most_bytes`: of a file that does not have a document in each line, and of a line."""
        self._file = file
        self._most = most_bytes
        self.unread = 0
        """Lines with text that belong to no document."""
        self.first_unread = 0
        """The first of them."""
        self.is_cut = False
        """Whether the file has more than is read."""

    def __iter__(self) -> Iterator[Document]:
        lines = self._lines()
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            value = _decoded(line)
            if isinstance(value, dict | list):
                yield Document(number, value)
                continue
            rest = [line]
            size = len(line)
            for each in lines:
                size += len(each)
                if size > self._most:
                    self.is_cut = True
                    break
                rest.append(each)
            yield from self._in_text("".join(rest), number)
            return

    def _lines(self) -> Iterator[str]:
        held = b""
        for block in text_blocks(self._file):
            *whole, held = (held + block).split(b"\n")
            for line in whole:
                yield line.decode("utf-8", "replace") + "\n"
            if len(held) > self._most:
                self.is_cut = True
                return
        if held:
            yield held.decode("utf-8", "replace")

    def _in_text(self, text: str, number: int) -> Iterator[Document]:
        end = 0
        for begin, after, value in _documents_in(text):
            self._note_unread(text, end, begin, number)
            number += text.count("\n", end, begin)
            yield Document(number, value)
            number += text.count("\n", begin, after)
            end = after
        self._note_unread(text, end, len(text), number)

    def _note_unread(self, text: str, begin: int, end: int, number: int) -> None:
        """Lines between two documents; what is beside one in its line belongs to it."""
        between = text[begin:end].split("\n")
        first = 0 if begin == 0 else 1
        last = len(between) - (0 if end == len(text) else 1)
        for index in range(first, last):
            if between[index].strip(" \t\r,;"):
                self.unread += 1
                self.first_unread = self.first_unread or number + index


def _decoded(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _documents_in(text: str) -> Iterator[tuple[int, int, object]]:
    """(begin, end, value) of every object and array that is in no other."""
    whole = _decoded(text)
    if isinstance(whole, dict | list):
        yield 0, len(text), whole
        return
    if '{""' in text:  # a field of CSV
        text = text.replace('""', '"')
    left = _EFFORT_FREE + _EFFORT * len(text)
    unclosed: list[Sequence[int]] = []
    at = 0
    while (opening := _OPENING.search(text, at)) and left > 0:
        begin = opening.start()
        if not any(each[bisect_right(each, begin) - 1] == begin for each in unclosed):
            end = _end_of(text, begin, unclosed)
            value = None if end is None else _decoded(text[begin:end])
            if end is not None and isinstance(value, dict | list):
                yield begin, end, value
                at = end
                continue
            left -= (len(text) if end is None else end) - begin
        left -= _EFFORT_OPENING
        at = begin + 1


def _end_of(text: str, begin: int, unclosed: list[Sequence[int]]) -> int | None:
    """Where the brackets that open at a place are closed; if nowhere, `unclosed` gets the places of all like it."""
    opened = array("q")
    for token in _BRACKET.finditer(text, begin):
        bracket = token[1]
        if not bracket:
            break
        if bracket in "{[":
            opened.append(token.start(1))
        else:
            opened.pop()
            if not opened:
                return token.end()
    unclosed.append(opened)
    return None


class TakeCounts(NamedTuple):
    """What became of the objects in a value."""

    taken: int = 0
    unknown: int = 0
    """Objects in which nothing was taken."""


_NOTHING: Final = TakeCounts()

Around: TypeAlias = tuple[Mapping[str, Any], ...]
"""The objects around an object, the outermost first."""
Take: TypeAlias = Callable[[Mapping[str, Any], Around], bool]


def take_objects(value: object, take: Take) -> TakeCounts:
    """Offer the objects of a value to `take`, a container before what it holds; what is taken is not looked into."""
    found = _taken(value, take, (), 0)
    return found if found != _NOTHING else TakeCounts(unknown=1)


def _taken(value: object, take: Take, around: Around, texts: int, depth: int = 0) -> TakeCounts:
    if depth > _DEPTH_MAX:
        return TakeCounts(unknown=1)
    if isinstance(value, dict):
        if any("." in key for key in value):
            value = _nested(value)
        if take(value, around):
            return TakeCounts(taken=1)
        around = (*around, value)
        within = [_taken(each, take, around, texts, depth + 1) for each in value.values()]
        taken = sum(found.taken for found in within)
        if not taken:
            return TakeCounts(unknown=1)
        lists = (
            found.unknown
            for found, each in zip(within, value.values(), strict=True)
            if isinstance(each, list)
        )
        return TakeCounts(taken, sum(lists))
    if isinstance(value, str):
        if texts == _TEXTS_MAX or not _HAS_OBJECT.search(value):
            return _NOTHING
        value, texts = [found for _, _, found in _documents_in(value)], texts + 1
    if not isinstance(value, list):
        return _NOTHING
    each_found = [_taken(each, take, around, texts, depth + 1) for each in value]
    return TakeCounts(
        sum(found.taken for found in each_found), sum(found.unknown for found in each_found)
    )


def _nested(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """`{"a.b": [1]}` as `{"a": {"b": 1}}`: stores of logs flatten objects, and make lists of their fields."""
    found: dict[str, Any] = {}
    for key, value in fields.items():
        *outer, last = key.split(".", _DEPTH_MAX)
        inner = found
        for name in outer:
            within = inner.setdefault(name, {})
            inner = within if isinstance(within, dict) else {}
        is_single = isinstance(value, list) and len(value) == 1 and not isinstance(value[0], dict)
        inner[last] = value[0] if is_single else value
    return found
