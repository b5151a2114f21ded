"""Lines of brokers' logs with pseudonyms: each line of a coordinator that is understood, in one plain layout.

A line is read by the table of wordings, its fields are renamed, and the wording is filled with them; nothing else of
the original is copied. Any other line becomes an empty one, and one of a coordinator without a known wording becomes a
line that says so, so that line numbers stay, and lines that may be part of a client's text are still in doubt.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Final

from rebalance_audit.anonymise.pseudonyms import Pseudonyms
from rebalance_audit.anonymise.records import LeftOut
from rebalance_audit.audit.broker_log import reasons
from rebalance_audit.audit.broker_log.fact import FactKind
from rebalance_audit.audit.broker_log.message import (
    LOWER,
    ParsedMessage,
    members_in,
    read_message,
    value_of,
)
from rebalance_audit.audit.broker_log.read import CoordinatorLine, LogReader

_GAP: Final = "x"
"""Stands for what a wording leaves open and no fact holds."""
_WORDS: Final = frozenset(
    {
        *("Stable", "PreparingRebalance", "CompletingRebalance", "Empty", "Dead"),
        *("Assigning", "Reconciling", "NotReady"),
        *("classic", "consumer", "share", "streams"),
    }
)
_NOT_COPIED: Final = "Not copied."
_PLAIN_WORDS: Final = (
    r"[ ,.:;()]+(?:and|re-join|due|to|from|at|the|within|epoch|ms|beginning|of|rebalance|for|member|leaving"
    r"|joining|because|it|is|group|expired|revoke|partitions|sync|rejoin)"
)
_PLAIN_REST: Final = re.compile(rf"(?:{_PLAIN_WORDS})*[ .]*")
"""What may follow the words of a client and stays: no number, which may be part of an address or of a ticket."""
_FENCE_REST: Final = re.compile(rf"(?:{_PLAIN_WORDS}| [0-9]{{1,9}}(?:ms)?(?![.:][0-9]))*[ .]*")
"""What may follow the words of a coordinator and stays: epochs and timeouts as well."""
_NOTHING: Final = frozenset({"", "null", "None", "Optional.empty"})
_SOME: Final = re.compile(r"(Some\().*\)", re.DOTALL)
_LISTED: Final = re.compile(r"\[(.*)\]", re.DOTALL)


class LineRenamer:
    """Renames the logs of brokers."""

    def __init__(
        self, names: Pseudonyms, hashes: Mapping[int, int], left_out: Counter[LeftOut]
    ) -> None:
        """`hashes`: of topics, as records hold them -> as they are written."""
        self._names = names
        self._hashes = hashes
        self._left_out = left_out

    def rewrite(self, reader: LogReader, paths: Sequence[Path], out: Path) -> int:
        """Write the logs into a folder; returns how many lines. Raises OSError and BrokerLogNotReadable."""
        out.mkdir()
        written = 0
        for _, lines in groupby(reader.lines(paths), key=lambda _line: len(reader.reports)):
            written += self._file(lines, out)
        if not any(out.iterdir()):
            out.rmdir()
        total = sum(each.lines for each in reader.reports)
        self._left_out[LeftOut.LINES] += max(total - written, 0)
        return written

    def _file(self, lines: Iterator[CoordinatorLine], out: Path) -> int:
        """Write the lines of one file; returns how many of them were renamed."""
        first = next(lines)
        name = self._names.file(first.file)
        number = sum(1 for _ in out.glob(f"{name}*"))
        path = out / (f"{name}.{number}" if number else name)
        in_doubt, at, renamed = set(), 0, 0
        with path.open("x", encoding="utf-8") as file:
            for line in chain((first,), lines):
                text = self._text(line)
                renamed += not text.endswith(_NOT_COPIED)
                file.write("\n" * max(line.number - at - 1, 0) + text + "\n")
                at = max(line.number, at + 1)
                if line.may_be_text:
                    in_doubt.add(at)
        return renamed - _withdrawn(path, in_doubt)

    def _text(self, line: CoordinatorLine) -> str:
        is_id = line.broker.isascii() and line.broker.isdecimal()
        broker = line.broker if is_id else "0"
        place = (
            ""
            if line.log_partition is None
            else f" topic=__consumer_offsets partition={line.log_partition}"
        )
        head = f"INFO [GroupCoordinator id={broker}{place}] "
        message = self._message(line.parsed) if is_id else None
        if line.at_ms is None or message is None:
            return head + _NOT_COPIED
        return f"{self._names.moment(line.at_ms)} {head}{message}"

    def _message(self, parsed: ParsedMessage | None) -> str | None:
        """The message with other names; None if it would not be read as the original is."""
        if parsed is None:
            return None
        fields = {name: self._field(parsed, name, value) for name, value in parsed.fields.items()}

        def written(name: str, value: str) -> str:
            return _written(fields[name], value) if name in fields else _gap(value)

        text = parsed.template.replaced(parsed.text, written)
        if text is None:
            return None
        if parsed.is_scoped:
            member = f"][MemberId {fields['member_id']}" if _has_member_scope(parsed) else ""
            text = f"[GroupId {fields['group_id']}{member}] {text}"
        again = read_message(text)
        if again is None or again.kind is not parsed.kind or again.fields != fields:
            return None
        return text

    def _field(self, parsed: ParsedMessage, name: str, value: object) -> object:
        names = self._names
        match name, value:
            case "group_id", str():
                return names.group(value)
            case "member_id" | "old_member_id", str():
                return names.member(value)
            case "instance_id", str():
                return names.client(value)
            case "metadata_hash", int():
                return self._hashes.get(value, 0) or (names.topics_hash(value) if value else 0)
            case "members", tuple():
                of_groups = parsed.kind is FactKind.GROUP_DELETED
                return tuple(map(names.group if of_groups else names.member, value))
            case "text", str():
                return self._texts(parsed)(value)
        return value

    def _texts(self, parsed: ParsedMessage) -> Callable[[str], str]:
        match parsed.kind:
            case FactKind.REBALANCE_PREPARED:
                return self._trigger
            case FactKind.MEMBER_FENCED:
                return partial(self._known, begins=reasons.FENCE_REASONS, plain_rest=_FENCE_REST)
            case FactKind.MEMBER_LEFT_BY_REQUEST:
                return self._client_reason
            case FactKind.TARGET_COMPUTED:
                return self._names.assignor
            case FactKind.REGEXES_SCANNED:
                return partial(_each, self._names.expression)
            case FactKind.SUBSCRIPTION_CHANGED if "regex" in parsed.template.pattern:
                return self._names.expression
            case FactKind.SUBSCRIPTION_CHANGED:
                return partial(_each, self._names.topic)
        return self._names.other

    def _trigger(self, text: str) -> str:
        for _, template in reasons.TRIGGER_TEMPLATES:
            found = template.replaced(text, self._trigger_field)
            if found is not None:
                return found
        return self._names.other(text)

    def _trigger_field(self, name: str, value: str) -> str:
        match name:
            case "ids":
                return ", ".join(map(self._names.member, value.split(", ")))
            case "members":
                return _written(tuple(map(self._names.member, members_in(value))), value)
            case "member_id":
                return self._names.member(value)
            case "instance_id":
                instance = value_of(name, value)
                renamed = None if instance is None else self._names.client(str(instance))
                return _written(renamed, value)
            case "group_id":
                return self._names.group(value)
            case "text":
                return self._client_reason(value)
            case "error":
                return self._names.other(value)
        return _gap(value)

    def _client_reason(self, text: str) -> str:
        reason = reasons.given_reason(text)
        if reason is None:
            return reasons.NOT_PROVIDED
        row = reasons.rejoin_reason(reason)
        begins = (
            [row.words] if row is not None else [reasons.ADMIN_REASON, *reasons.OWN_LEAVE_REASONS]
        )
        return self._known(reason, begins)

    def _known(
        self,
        text: str,
        begins: Sequence[str] | Mapping[str, object],
        plain_rest: re.Pattern[str] = _PLAIN_REST,
    ) -> str:
        """A text that begins with words of Kafka or a client, whose rest is replaced where it is more."""
        low = text.translate(LOWER)
        words = max((each for each in begins if low.startswith(each)), key=len, default=None)
        if words is None:
            return self._names.other(text)
        rest = text[len(words) :]
        if not plain_rest.fullmatch(rest):
            rest = " " + self._names.other(rest.lstrip())
        return text[: len(words)] + rest


def _withdrawn(path: Path, in_doubt: AbstractSet[int]) -> int:
    """Take out lines that could be a client's text in the original, and no longer look so; returns how many."""
    reader = LogReader(UTC)
    sure = {line.number for line in reader.lines([path]) if line.parsed and not line.may_be_text}
    wrong = sure & in_doubt
    if wrong:
        other = path.with_name(f".{path.name}")
        with path.open(encoding="utf-8") as old, other.open("x", encoding="utf-8") as new:
            for number, text in enumerate(old, 1):
                begin, mark, _ = text.partition("] ")
                new.write(f"{begin}{mark}{_NOT_COPIED}\n" if number in wrong else text)
        other.replace(path)
    return len(wrong)


def _each(rename: Callable[[str], str], text: str) -> str:
    """A list as Java prints it, in order of the new names, or one text."""
    listed = _LISTED.fullmatch(text)
    if listed is None:
        return rename(text)
    return f"[{', '.join(sorted(map(rename, listed[1].split(', '))))}]"


def _gap(value: str) -> str:
    """What a wording leaves open: a state of a group, a short number and plain words stay."""
    is_short = value.isascii() and value.isdecimal() and len(value) < 4
    if value in _WORDS or is_short or _PLAIN_REST.fullmatch(value):
        return value
    return f" {_GAP}" if value.startswith(" ") else _GAP


def _written(value: object, original: str) -> str:
    """A field as Kafka writes it, in the form of the original."""
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    if value is None:
        return original if original in _NOTHING else "null"
    some = _SOME.fullmatch(original)
    return str(value) if some is None else f"{some[1]}{value})"


def _has_member_scope(parsed: ParsedMessage) -> bool:
    return "member_id" in parsed.fields and "{member_id}" not in parsed.template.pattern
