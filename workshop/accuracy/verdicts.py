"""Causes against the truth: what counts as right."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from workshop.accuracy.tally import Tally

Row = dict[str, Any]

UNDECIDED: Final[Mapping[str, frozenset[str]]] = {
    "member_departed": frozenset({"member_left", "member_session_expired"})
}
"""A cause of the list whose definition leaves open which of these it was."""

COMPLETE, GAP = "complete", "gap"
BEGAN: Final = "began"
"""The role of a cause that set the epoch off, in the audit's words."""


def judge_epoch(
    tally: Tally,
    source: str,
    epoch: Row,
    causes: Sequence[Row],
    truth: Sequence[str],
    about: str,
    *,
    primary_alone: bool = False,
    meanwhile: Sequence[str] = (),
) -> None:
    """Count how the causes of one epoch stand to the true ones; both in order, the deciding one first.

    `primary_alone`: the truth is what a broker logged of the deciding cause, in the words that may stand for it; the
    other causes are not held against it. `meanwhile`: what happened in the epoch and did not begin it. A claim that
    says so itself is held to that; one that says it began the epoch, and is proven, is counted apart.
    """
    protocol, true = epoch["protocol"], frozenset(truth)
    ranked = sorted(causes, key=lambda cause: cause["cause_seq"])
    said = [cause["cause"] for cause in ranked]
    named = set(said).union(*(cause["alternatives"] for cause in ranked))
    primary = next((cause for cause in ranked if cause["role"] == BEGAN), ranked[0])
    where = f"{about}: {_causes_in_words(ranked)} for {sorted(true)}"
    kind = epoch["completeness"]
    tally.count("epochs", source, protocol, kind)
    if _right(primary["cause"], true):
        tally.count("right", source, protocol, kind, "primary")
        if primary["cause"] in true:
            tally.count("right", source, protocol, kind, "exact")
        if primary["certainty"] == "proven":
            tally.count("right", source, protocol, kind, "proven")
    elif _right(primary["cause"], frozenset(meanwhile)):
        tally.count("right", source, protocol, kind, "beside")
    elif kind == COMPLETE:
        tally.example(f"primary {source} {protocol} {truth[0]}", where)
    if truth[0] in named or _right(primary["cause"], true):
        tally.count("right", source, protocol, kind, "named")
    elif kind == COMPLETE:
        tally.example(f"unnamed {source} {protocol} {truth[0]}", where)
    for cause in sorted(true) if not primary_alone else truth[:1]:
        tally.count("cause", source, protocol, cause, "happened")
        if primary["cause"] == cause:
            tally.count("cause", source, protocol, cause, "primary")
        elif _right(primary["cause"], frozenset({cause})):
            tally.count("cause", source, protocol, cause, "undecided")
        elif cause in said:
            tally.count("cause", source, protocol, cause, "also")
        elif cause in named:
            tally.count("cause", source, protocol, cause, "alternative")
        else:
            tally.count("cause", source, protocol, cause, "missed")
    for claim in ranked[:1] if primary_alone else ranked:
        name, certainty = claim["cause"], claim["certainty"]
        tally.count("claim", source, protocol, name, certainty, "made")
        if _right(name, true):
            continue
        if claim["role"] != BEGAN and _right(name, frozenset(meanwhile)):
            tally.count("claim", source, protocol, name, certainty, "meanwhile")
            continue
        if certainty == "proven" and _right(name, frozenset(meanwhile)):
            tally.count("claim", source, protocol, name, certainty, "beside")
            tally.example("proven and beside", where)
            continue
        tally.count("claim", source, protocol, name, certainty, "wrong")
        if certainty == "proven":
            tally.example("proven and wrong", where)


def _right(cause: str, truth: frozenset[str]) -> bool:
    return cause in truth or bool(truth & UNDECIDED.get(cause, frozenset()))


def _causes_in_words(causes: Sequence[Row]) -> str:
    return ", ".join(f"{cause['cause']} ({cause['certainty']})" for cause in causes[:5])
