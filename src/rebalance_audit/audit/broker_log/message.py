"""Parses the text of a coordinator's message into fields, by the table of wordings.

A wording is fixed words with fields between them. It is matched by plain searches for the words, in time linear in the
length of the message. Ids and reasons are free text that clients choose, so a message that can be read in more than one
way says nothing: a client may have written a line into an id.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.audit.broker_log.fact import FactKind
from rebalance_audit.audit.broker_log.wordings import PLAIN, SCOPED, Wording

_PLACEHOLDER: Final = re.compile(r"\{([\w…]+)\}")
_NUMBERS: Final = frozenset({"epoch", "size", "metadata_hash", "log_partition"})
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}(?![0-9])")
_WORD: Final = re.compile(r"\w{1,64}")
_ANYTHING: Final = "…"
_WORD_FIELD: Final = "word"
_GAPS: Final = frozenset({_ANYTHING, _WORD_FIELD})
"""What a wording leaves open and no fact holds."""
_Span: TypeAlias = tuple[str, int, int]
"""Name of a field, where it begins and where it ends."""
_SCOPE: Final = re.compile(r"\[group(?:id)?[ =]")
_SCOPE_MEMBER: Final = "][memberid "
_LIST: Final = re.compile(r"\w*([(\[])")
_CLOSING: Final = {"(": ")", "[": "]"}
_INSTANCE: Final = re.compile(r"Some\((.*)\)", re.DOTALL)
_NOTHING: Final = frozenset({"null", "None", "Optional.empty", ""})
_LOGGER: Final = re.compile(
    r"\s\((?:(?:[a-z]\w*\.){1,12}[A-Z][\w$]*"
    r"|(?:Group|Coordinator|Classic|Consumer|Share|Streams|Offset|Topic|InternalTopic|Snapshottable|MultiThreaded)"
    r"[A-Z][A-Za-z$]*(?:\.scala|\.java)?)(?::\d+)?\)(?=\s|\Z)"
)
"""`(kafka.coordinator.group.GroupCoordinator)`, which most layouts append; some go on with a thread or more."""
LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
"""ASCII alone: the text must not change its length."""
_SPLITS_MAX: Final = 16
"""Ways to split a message by one wording that are looked at; one with more says nothing."""
_SENTENCE_END: Final = "."


class ParsedMessage(NamedTuple):
    """What a message says: its kind, and fields of `BrokerFact` by name."""

    kind: FactKind | None
    """None for a known line that makes no fact."""
    fields: Mapping[str, object]
    releases: str
    """The releases that use this wording."""
    template: "Template"
    """The wording."""
    text: str
    """What follows the group in brackets, or all of it."""
    is_scoped: bool
    """Whether the group comes before it in brackets."""


class Template:
    """Fixed words with fields between them."""

    def __init__(self, pattern: str) -> None:
        """`pattern`: words, with `{name}` for a field."""
        self.pattern = pattern
        parts = _PLACEHOLDER.split(pattern)
        self._words = [text.translate(LOWER) for text in parts[0::2]]
        self._names = parts[1::2]
        self.first_word = first_word(pattern)

    def replaced(self, text: str, replace: Callable[[str, str], str]) -> str | None:
        """The text with what `replace` makes of the name and the value of each field; None where `split` is None.

        The name of what no fact holds is `word` or `…`.
        """
        spans = self._only(text, text.translate(LOWER))
        if spans is None:
            return None
        parts: list[str] = []
        at = 0
        for name, begin, end in spans:
            parts += (text[at:begin], replace(name, text[begin:end]))
            at = end
        return "".join((*parts, text[at : at + len(self._words[-1])]))

    def split(self, text: str, low: str) -> dict[str, str] | None:
        """The fields of a text; `low` is its lower case; None if it does not match, or in two ways."""
        spans = self._only(text, low)
        return None if spans is None else _values(text, spans)

    def _only(self, text: str, low: str) -> tuple[_Span, ...] | None:
        """The one way to read the text; ways with the same fields are one."""
        if not low.startswith(self._words[0]):
            return None
        only: tuple[_Span, ...] | None = None
        budget = [_SPLITS_MAX]
        for spans in self._splits(low, len(self._words[0]), 0, budget):
            if only is None:
                only = spans
            elif _values(text, only) != _values(text, spans):
                return None
        return only if budget[0] > 0 else None

    def _splits(
        self, low: str, at: int, index: int, budget: list[int]
    ) -> Iterator[tuple[_Span, ...]]:
        """Every way to read the text from `at` on, where field `index` begins."""
        if index == len(self._names):
            # A word must not go on: "members" is not the end of "membership".
            if at == len(low) or not (low[at].isalnum() and low[at - 1].isalnum()):
                yield ()
            return
        name, after = self._names[index], self._words[index + 1]
        is_last = index == len(self._names) - 1
        for end in self._ends(low, at, name, after, is_last=is_last):
            budget[0] -= 1
            if budget[0] < 0:
                return
            for rest in self._splits(low, end + len(after), index + 1, budget):
                yield ((name, at, end), *rest)

    def _ends(self, low: str, at: int, name: str, after: str, *, is_last: bool) -> Iterator[int]:
        """Where a field that begins at `at` may end."""
        if name in _NUMBERS or name == _WORD_FIELD:
            found = (_NUMBER if name in _NUMBERS else _WORD).match(low, at)
            if found is not None and low.startswith(after, found.end()):
                yield found.end()
            return
        if is_last and not after:
            yield len(low)
            return
        if is_last and name != _ANYTHING:
            end = _last_end(low, at, name, after)
            if end >= 0:
                yield end
            return
        end = low.find(after, at)
        while end >= 0:
            yield end
            if name == _ANYTHING:
                return
            end = low.find(after, end + 1)


def _values(text: str, spans: Iterable[_Span]) -> dict[str, str]:
    return {name: text[begin:end] for name, begin, end in spans if name not in _GAPS}


def _last_end(low: str, at: int, name: str, after: str) -> int:
    """Where the last field ends, before the last fixed words; -1 if they do not follow."""
    if name == "text" and after.startswith(")"):
        return _closing(low, at, "(", ")")
    end = low.find(after, at)
    while end >= 0:
        follows = end + len(after)
        if follows == len(low) or not low[follows].isalnum():
            return end
        end = low.find(after, end + 1)
    return -1


def _closing(low: str, at: int, opening: str, closing: str) -> int:
    """Where the bracket that is open at `at` closes; the last such bracket if those inside do not match."""
    last = low.rfind(closing, at)
    depth, place = 1, at
    while place < last:
        opens, closes = low.find(opening, place, last), low.find(closing, place, last)
        if closes < 0:
            break
        if 0 <= opens < closes:
            depth, place = depth + 1, opens + 1
            continue
        depth, place = depth - 1, closes + 1
        if depth == 0:
            rest = low[closes + 1 :].lstrip(". ")
            return last if rest[:1].isalnum() or rest.startswith((";", ")", ",")) else closes
    return last


class _Rule(NamedTuple):
    wording: Wording
    template: Template


def read_message(text: str) -> ParsedMessage | None:
    """Parse the first line of the message after a coordinator's mark; None if no wording matches, or two do.

    `text` may go on after the message: with the logger's name, or whatever a layout appends.
    """
    text = without_logger(text)
    low = text.translate(LOWER)
    scope = _SCOPE.match(low)
    if scope is None:
        return _read(_PLAIN_RULES, text, low, {})
    found: list[ParsedMessage] = []
    end = low.find("]", scope.end())
    for _ in range(_SPLITS_MAX):
        if end < 0:
            break
        fields: dict[str, object] = {"group_id": text[scope.end() : end]}
        begin = end + 1
        if low.startswith(_SCOPE_MEMBER, end):
            member = end + len(_SCOPE_MEMBER)
            close = low.find("] ", member)
            if close < 0:
                break
            fields["member_id"] = text[member:close]
            end, begin = close, close + 1
        if low.startswith(" ", begin):
            parsed = _read(_SCOPED_RULES, text[begin + 1 :], low[begin + 1 :], fields)
            if parsed is not None and parsed not in found:
                found.append(parsed)
        end = low.find("]", end + 1)
    return found[0] if len(found) == 1 else None


def without_logger(text: str) -> str:
    """The message without the logger's name and what follows it."""
    found = None
    if "(" in text:
        for found in _LOGGER.finditer(text):  # noqa: B007 - the last one counts
            pass
    return (text if found is None else text[: found.start()]).rstrip()


def _read(
    rules: Mapping[str, Sequence[_Rule]], text: str, low: str, fields: dict[str, object]
) -> ParsedMessage | None:
    for rule in rules.get(first_word(low), ()):
        found = rule.template.split(text, low)
        if found is not None:
            values = {name: value_of(name, value) for name, value in found.items()}
            wording = rule.wording
            return ParsedMessage(
                wording.kind,
                {**fields, **values},
                wording.releases,
                rule.template,
                text,
                bool(fields),
            )
    return None


def value_of(name: str, value: str) -> object:
    """A field's value from its text."""
    if name in _NUMBERS:
        return int(value)
    if name == "members":
        return members_in(value)
    if name == "instance_id":
        some = _INSTANCE.fullmatch(value)
        value = some[1] if some is not None else value
        return None if value in _NOTHING else value
    if name == "text":
        return value.rstrip(_SENTENCE_END)
    return value or None


def members_in(value: str) -> tuple[str, ...]:
    """The names in a list as Scala or Java print it: `Set(a, b)`, `[a, b]`."""
    listed = _LIST.match(value)
    if listed is not None:
        inside = value[listed.end() :]
        end = inside.rfind(_CLOSING[listed[1]])
        value = inside[:end] if end >= 0 else inside
    return tuple(each for each in value.split(", ") if each)


def first_word(text: str) -> str:
    """What rules are looked up by: the letters up to the first space, bracket, quote or field."""
    end = 0
    while end < len(text) and end < 64 and text[end] not in " [{':.":
        end += 1
    return text[:end].translate(LOWER)


def _compiled(wordings: Sequence[Wording]) -> Mapping[str, Sequence[_Rule]]:
    """First word -> the rules that begin with it, in the order of the table."""
    rules: defaultdict[str, list[_Rule]] = defaultdict(list)
    for wording in wordings:
        rule = _Rule(wording, Template(wording.pattern))
        rules[rule.template.first_word].append(rule)
    return dict(rules)


_PLAIN_RULES: Final = _compiled(PLAIN)
_SCOPED_RULES: Final = _compiled(SCOPED)
