"""The one place where facts become sentences: as text with whole ids, or as parts in which a reader sees names."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from string import Formatter
from typing import Any, Final, LiteralString, NamedTuple

from rebalance_audit.sentences.of_advice import OF_ADVICE
from rebalance_audit.sentences.of_causes import OF_CAUSES
from rebalance_audit.sentences.of_departures import OF_DEPARTURES
from rebalance_audit.sentences.of_evidence import OF_EVIDENCE
from rebalance_audit.sentences.of_findings import OF_FINDINGS
from rebalance_audit.sentences.reason import CodedReason, because
from rebalance_audit.sentences.sentence import Sentence
from rebalance_audit.sentences.slots import NAMED, WRITERS, FactWriter, count_writer

TEMPLATES: Final[Mapping[str, str]] = {
    **OF_CAUSES,
    **OF_DEPARTURES,
    **OF_EVIDENCE,
    **OF_FINDINGS,
    **OF_ADVICE,
}
_ADVICE: Final = "advice."
NO_ROW: Final[Mapping[str, Any]] = {}


class _Piece(NamedTuple):
    """Words, and the slot after them."""

    words: str
    slot: str
    """Empty after the last words."""
    write: FactWriter | None


def reason_text(*reasons: CodedReason) -> str:
    """The sentences, with whole ids; raises KeyError for a code or a fact that is missing."""
    return "".join(_joined(" ", reasons))


def sentence_of(*reasons: CodedReason) -> Sentence:
    """The sentences with members and names as slots."""
    return Sentence(_joined(" ", reasons))


def filled(template: LiteralString, row: Mapping[str, Any] = NO_ROW, /, **facts: Any) -> Sentence:
    """`filled("{member_id:member} left at {left_at:moment}.", row)`: a sentence that only one place needs.

    The template is ours, never text of the log. `facts` come before columns of the row; a slot without a type is a part
    as it is. Raises KeyError for a slot that neither has.
    """
    return Sentence(_written(template, {**row, **facts}))


def advice_for(kind: str) -> CodedReason:
    """What to do about a kind of finding in general."""
    code = f"{_ADVICE}{kind}"
    return because(code, **{slot: because("this_client") for slot in slots_of(code)})


@cache
def slots_of(code: str) -> tuple[str, ...]:
    """The facts that the sentence needs, in their order: the JSON of a row is the same in every process."""
    return tuple(dict.fromkeys(piece.slot for piece in _pieces(TEMPLATES[code]) if piece.slot))


def facts_text(**sentences: Sequence[CodedReason]) -> str:
    """Reasons as JSON for a table: `{"detail": [["member_joined", {"member": "c-1"}]]}`."""
    return _ENCODE(sentences)


def facts_in(text: str) -> dict[str, list[CodedReason]]:
    """The inverse. It also reads codes of later releases, which this one has no sentence for."""
    found: dict[str, list[Any]] = json.loads(text)
    return {name: [CodedReason(*item) for item in items] for name, items in found.items()}


_ENCODE: Final = json.JSONEncoder(separators=(",", ":")).encode


@cache
def _pieces(template: str) -> tuple[_Piece, ...]:
    found = []
    for literal, slot, kind, _ in Formatter().parse(template):
        found.append(_Piece(literal, slot or "", None if slot is None else _writer(kind or "")))
    return tuple(found)


def _writer(kind: str) -> FactWriter:
    name, _, nouns = kind.partition(" ")
    if name == "count":
        return count_writer(nouns)
    return _OF_REASONS.get(name) or WRITERS[kind]


def _parts(reason: Sequence[Any]) -> list[str]:
    code, facts = reason
    return _written(TEMPLATES[code], facts)


def _written(template: str, facts: Mapping[str, Any]) -> list[str]:
    parts: list[str] = []
    for words, slot, write in _pieces(template):
        if words:
            parts.append(words)
        if write is not None:
            parts += write(facts[slot])
    return parts


def _joined(between: str, reasons: Iterable[Sequence[Any]]) -> list[str]:
    parts: list[str] = []
    for place, reason in enumerate(reasons):
        if place:
            parts.append(between)
        parts += _parts(reason)
    return parts


def _clause(reason: Sequence[Any] | None) -> Iterable[str]:
    return () if reason is None else _parts(reason)


def _first_upper(reason: Sequence[Any]) -> Iterator[str]:
    first, *others = _parts(reason)
    yield f"{first[:1].upper()}{first[1:]}"
    yield from others


def _list(reasons: Sequence[Sequence[Any]]) -> Iterator[str]:
    yield from _joined(", ", reasons[:NAMED])
    if len(reasons) > NAMED:
        yield f" and {len(reasons) - NAMED} more"


def _semicolons(reasons: Sequence[Sequence[Any]]) -> list[str]:
    return _joined("; ", reasons)


_OF_REASONS: Final[Mapping[str, FactWriter]] = {
    "clause": _clause,
    "Clause": _first_upper,
    "list": _list,
    "semicolons": _semicolons,
}
"""Slots that hold reasons."""
