"""Parses the text of a coordinator's message into fields, by the table of wordings."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.fact import FactKind
from rebalance_audit.audit.broker_log.wordings import PLAIN, SCOPED, Wording

_PLACEHOLDER: Final = re.compile(r"\{([\w…]+)\}")
_NUMBERS: Final = frozenset({"epoch", "size", "metadata_hash", "log_partition"})
_SCOPE: Final = re.compile(
    r"\[Group(?:Id)?[ =](?P<group_id>.*?)\](?:\[MemberId (?P<member>.*?)\])? (?=\w)", re.DOTALL
)
_LIST: Final = re.compile(r"\w*[(\[](.*)[)\]]", re.DOTALL)
_INSTANCE: Final = re.compile(r"Some\((.*)\)", re.DOTALL)
_NOTHING: Final = frozenset({"null", "None", ""})
_DOUBLED_STOP: Final = "."


class ParsedMessage(NamedTuple):
    """What a message says: its kind, and fields of `BrokerFact` by name."""

    kind: FactKind
    fields: Mapping[str, object]
    releases: str
    """The releases that use this wording."""


class _Rule(NamedTuple):
    wording: Wording
    regex: re.Pattern[str]


def read_message(text: str) -> ParsedMessage | None:
    """Parse the message after a coordinator's mark; None if no wording matches."""
    scope = _SCOPE.match(text)
    if scope is None:
        return _read(_PLAIN_RULES, text, {})
    fields: dict[str, object] = {"group_id": scope["group_id"]}
    rest = text[scope.end() :]
    if scope["member"] is not None:
        fields["member_id"] = scope["member"]
    return _read(_SCOPED_RULES, rest, fields)


def _read(
    rules: Mapping[str, Sequence[_Rule]], text: str, fields: dict[str, object]
) -> ParsedMessage | None:
    for rule in rules.get(_first_word(text), ()):
        found = rule.regex.fullmatch(text)
        if found is not None:
            for name, value in found.groupdict().items():
                fields[name] = _value_of(name, value)
            return ParsedMessage(rule.wording.kind, fields, rule.wording.releases)
    return None


def _value_of(name: str, value: str) -> object:
    if name in _NUMBERS:
        return int(value)
    if name == "members":
        listed = _LIST.fullmatch(value)
        names = (listed[1] if listed is not None else value).split(", ")
        return tuple(each for each in names if each)
    if name == "instance_id":
        some = _INSTANCE.fullmatch(value)
        value = some[1] if some is not None else value
        return None if value in _NOTHING else value
    if name == "text":
        return value.removesuffix(_DOUBLED_STOP)
    return value or None


def _first_word(text: str) -> str:
    word = text.split(" ", 1)[0].split("[", 1)[0]
    return word.lower()


def _compiled(wordings: Sequence[Wording]) -> Mapping[str, Sequence[_Rule]]:
    """First word -> the rules that begin with it, in the order of the table."""
    rules: defaultdict[str, list[_Rule]] = defaultdict(list)
    for wording in wordings:
        rules[_first_word(wording.pattern)].append(
            _Rule(wording, re.compile(_regex(wording.pattern), re.DOTALL | re.IGNORECASE))
        )
    return dict(rules)


def _regex(pattern: str) -> str:
    parts: list[str] = []
    end = 0
    for found in _PLACEHOLDER.finditer(pattern):
        parts.append(re.escape(pattern[end : found.start()]))
        name = found[1]
        if name == "…":
            parts.append(".*?")
        else:
            parts.append(rf"(?P<{name}>{'-?[0-9]+' if name in _NUMBERS else '.*?'})")
        end = found.end()
    return "".join([*parts, re.escape(pattern[end:])])


_PLAIN_RULES: Final = _compiled(PLAIN)
_SCOPED_RULES: Final = _compiled(SCOPED)
