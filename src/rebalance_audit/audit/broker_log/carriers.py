"""Takes the coordinator's message and its time out of whatever carries them.

A log shipper, a container runtime or a search engine wraps a broker's line: in JSON at any depth, in quoted fields
(logfmt, CSV), in text before and after. Nothing here knows their names: the carrier is found around the mark, innermost
first, and what it holds is looked at in the same way. The event's time is the nearest one: in the text before the mark,
then in what carries it, from the inside outwards.
"""

import re
from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.line_origins import begins_message, is_message_field
from rebalance_audit.audit.broker_log.passages import (
    LINE_BYTES_MAX,
    MARK,
    Passage,
    stripped_text,
)
from rebalance_audit.written_times import NO_MOMENT, LineTime, NoTime, TimeReader

_DEPTH_MAX: Final = 4
"""JSON in a text of JSON, and so on."""
_CONTAINERS_MAX: Final = 48
"""How many brackets before a mark may be tried as the begin of what carries it."""
_EFFORT_FREE: Final = 1 << 20
_EFFORT_PER_BYTE: Final = 6
"""Characters that may be decoded as JSON for each byte of a file: no more than linear, whatever the file holds."""

_STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_TO_QUOTE: Final = re.compile(r'((?:[^"\\]|\\.)*)"', re.DOTALL)
_TO_QUOTE_DOUBLED: Final = re.compile(r'((?:[^"]|"")*+)"')
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_FIELD_CHARS_MAX: Final = 256
_FIELD_BEFORE: Final = re.compile(r'"((?:[^"\\]|\\.){1,200})"\s*:[\s\[]*\Z', re.DOTALL)
_TO_CONTAINER: Final = re.compile(r'[^{"]*')
_NAMED_QUOTE: Final = re.compile(r"([\w.@-]+)=\Z")
_SEPARATORS: Final = frozenset(",;\t|")
"""What stands before a field of CSV, in which a quote is doubled; elsewhere it has a backslash before it."""
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class Carried(NamedTuple):
    """One event of a coordinator."""

    body: str
    """From the mark on, in what carries it; further lines of the same text follow."""
    moment: LineTime
    in_field: bool
    """Whether a quoted field or a JSON string carries it, so that another event may follow on the same line."""
    is_message: bool
    """Whether the mark begins a logger's message, rather than being quoted in one."""


class CarrierReader:
    """Reads the events of one file, in order."""

    def __init__(self, times: TimeReader) -> None:
        self._times = times
        self._decoder = JSONDecoder()
        self._spent = 0
        self._allowed = _EFFORT_FREE
        self._is_from_start = True

    def read(self, passage: Passage, bytes_read: int) -> Carried:
        """The event at the passage's mark. `bytes_read`: of the file, so far."""
        head, body = passage.head, passage.body
        self._is_from_start = passage.is_from_start
        self._allowed = _EFFORT_FREE + _EFFORT_PER_BYTE * bytes_read
        found: Carried | None = None
        if '"' in head:
            found = self._read(head, body, 0)
            if not found.in_field or found.moment.at_ms is None:
                found = self._in_document(passage) or found
        else:
            found = self._plain(head, body)
        if found.moment.at_ms is None and found.moment.missing is NoTime.NOTHING:
            alone = self._times.whole(next(passage.lines_before(1), ""))
            return found._replace(moment=alone)
        return found

    def _in_document(self, passage: Passage) -> Carried | None:
        """The event in JSON over several lines."""
        if self._spent >= self._allowed:
            return None
        before = passage.before
        if "{" not in before and "[" not in before:
            return None
        text = before + passage.head
        found = self._in_json(text, passage.body + passage.after, 0)
        return found if found is not None and found.moment.at_ms is not None else None

    def _read(self, head: str, body: str, depth: int) -> Carried:
        """The event at the begin of `body`, in the text that consists of `head` and `body`."""
        if depth < _DEPTH_MAX and '"' in head:
            found = self._in_json(head, body, depth) or self._in_quotes(head, body, depth)
            if found is not None:
                return found
        return self._plain(head, stripped_text(body))

    def _plain(self, head: str, body: str) -> Carried:
        return Carried(
            body, self._times.last_in(head), in_field=False, is_message=begins_message(head)
        )

    def _in_json(self, head: str, body: str, depth: int) -> Carried | None:
        """The event in the innermost JSON string around the mark; None if none is around it."""
        text, at = head + body, len(head)
        found: Carried | None = None
        begin = len(head)
        field: str | None = None
        for begin, value in self._containers(text, at):
            if found is None:
                string = _string_at(text, begin, at)
                if string is None:
                    return None
                inner = _unescaped(string[1])
                field = _field_at(text, string.start()) or _field_at(text, begin)
                mark = MARK.search(inner) or _UNMARKED.search(inner)
                if mark is None:
                    return None
                inside = self._read(
                    stripped_text(inner[: mark.start()]), inner[mark.start() :], depth + 1
                )
                line_at = head.rfind("\n", 0, begin) + 1
                opened = _TO_CONTAINER.match(head, line_at)
                is_cut = depth == 0 and line_at == 0 and not self._is_from_start
                lead = "" if opened is None or is_cut else opened[0]
                found = inside._replace(
                    in_field=True,
                    is_message=inside.is_message
                    and is_message_field(field)
                    and begins_message(lead),
                )
            if found.moment.at_ms is not None:
                return found
            found = found._replace(moment=_better(found.moment, self._times.in_value(value)))
        if found is None or found.moment.at_ms is not None:
            return found
        line = head[head.rfind("\n", 0, begin) + 1 : begin]
        return found._replace(moment=_better(found.moment, self._times.last_in(line)))

    def _containers(self, text: str, at: int) -> Iterator[tuple[int, object]]:
        """Begin and value of the JSON objects and arrays around a place, the innermost first."""
        begin, spent, tried = at, 0, 0
        while (
            tried < _CONTAINERS_MAX and spent < 4 * LINE_BYTES_MAX and self._spent < self._allowed
        ):
            begin = max(text.rfind("{", 0, begin), text.rfind("[", 0, begin))
            if begin < 0:
                return
            tried += 1
            try:
                value, end = self._decoder.raw_decode(text, begin)
            except JSONDecodeError as error:
                end = error.pos
                value = None
            except (ValueError, RecursionError):  # a number or a nesting beyond Python's limits
                end = len(text)
                value = None
            spent += end - begin
            self._spent += end - begin
            if value is not None and end > at:
                yield begin, value

    def _in_quotes(self, head: str, body: str, depth: int) -> Carried | None:
        """The event in a quoted field, as of CSV or logfmt; None if no quote is open before the mark."""
        opened, doubles = _open_quote(head)
        if opened < 0:
            return None
        closing = (_TO_QUOTE_DOUBLED if doubles else _TO_QUOTE).match(body)
        field = body if closing is None else closing[1]
        rest = "" if closing is None else body[closing.end() :]
        unescape = _undoubled if doubles else _unescaped
        inside = self._read(stripped_text(unescape(head[opened + 1 :])), unescape(field), depth + 1)
        moment = inside.moment
        if moment.at_ms is None:
            moment = _better(moment, self._times.last_in(head[:opened]))
        if moment.at_ms is None:
            moment = _better(moment, self._times.first_in(rest.split("\n", 1)[0]))
        named = _NAMED_QUOTE.search(head[:opened])
        is_message = (
            inside.is_message
            and is_message_field(None if named is None else named[1])
            and begins_message(head[:opened], is_before_quote=True)
        )
        return Carried(inside.body, moment, closing is not None, is_message)


_UNMARKED: Final = re.compile(r"given member\.id ")


def _better(first: LineTime, second: LineTime) -> LineTime:
    if first.at_ms is not None:
        return first
    if second.at_ms is not None or first is NO_MOMENT or first.missing is NoTime.NOTHING:
        return second
    return first


def _string_at(text: str, begin: int, at: int) -> re.Match[str] | None:
    """The JSON string around a place; `begin`: where a JSON value begins before it."""
    for found in _STRING.finditer(text, begin):
        if found.end() > at:
            return found if found.start() < at else None
    return None


def _field_at(text: str, begin: int) -> str | None:
    """The name of the JSON field whose value begins at a place, also in arrays; None if it has none."""
    found = _FIELD_BEFORE.search(text, max(0, begin - _FIELD_CHARS_MAX), begin)
    return None if found is None else found[1]


def _open_quote(head: str) -> tuple[int, bool]:
    """(place of the quote that is open at the end, or -1; whether its field doubles quotes, as CSV does)."""
    at = head.find('"')
    while at >= 0:
        doubles = at == 0 or head[at - 1] in _SEPARATORS
        end = (_TO_QUOTE_DOUBLED if doubles else _TO_QUOTE).match(head, at + 1)
        if end is None:
            return at, doubles
        at = head.find('"', end.end())
    return -1, False


def _undoubled(text: str) -> str:
    """The text of a field of CSV."""
    return text.replace('""', '"')


def _unescaped(text: str) -> str:
    """The text of a quoted field or a JSON string."""
    if "\\" not in text:
        return text
    joined = _ESCAPE.sub(_unescape, text)
    # Characters beyond the first plane come as two escapes.
    return joined.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)
