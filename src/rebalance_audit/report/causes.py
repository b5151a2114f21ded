"""Causes and their certainty in words: labels for tables, sentences for a glossary."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from rich.text import Text

from rebalance_audit.audit.verdicts.cause import (
    DEFINITIONS,
    CauseRole,
    Certainty,
    RebalanceCause,
)
from rebalance_audit.sentences import words

MARKS: Final = {Certainty.PROVEN: "●", Certainty.PROBABLE: "◐", Certainty.POSSIBLE: "○"}
"""How sure a cause is, in one character."""


def label(cause: str) -> str:
    """`member_session_expired` -> `member session expired`."""
    return cause.replace("_", " ")


def mostly(cause: str | None, times: int) -> str:
    """`member joined 6×`: the commonest cause, and of how many rebalances; a dash without one."""
    return words.NOTHING if cause is None else f"{label(cause)} {times:,}×"


def others_of(rebalance: Mapping[str, Any]) -> str:
    """`2 other causes` than its primary one; empty where there are none.

    That a group was created says nothing beside the join that created it.
    """
    known = {*(rebalance["causes"] or ()), rebalance["primary_cause"]} - {"group_created"}
    return words.counted(len(known) - 1, "other cause") if len(known) > 1 else ""


def is_meanwhile(row: Mapping[str, Any]) -> bool:
    """Whether a row of gold.rebalance_causes says what happened in the epoch, not what began it.

    Rows of earlier releases have no role.
    """
    return row.get("role") == CauseRole.MEANWHILE


STYLES: Final = {
    Certainty.PROVEN: "green",
    Certainty.PROBABLE: "yellow",
    Certainty.POSSIBLE: "magenta",
}


def marked(certainty: str | None) -> Text:
    """The mark in its colour, followed by a blank."""
    style = "" if certainty is None else STYLES[Certainty(certainty)]
    return Text(f"{mark(certainty)} ", style)


def mark(certainty: str | None) -> str:
    """One character for a certainty; a blank where there is none."""
    return " " if certainty is None else MARKS[Certainty(certainty)]


def certainty_legend() -> str:
    """What the marks mean: `● proven  ◐ probable  ○ possible`."""
    return "  ".join(f"{MARKS[certainty]} {certainty}" for certainty in Certainty)


def glossary(causes: Iterable[str]) -> list[tuple[str, str]]:
    """(label, sentence) for the causes given, each once, in the order of the closed list."""
    named = set(causes)
    return [(label(cause), DEFINITIONS[cause]) for cause in RebalanceCause if cause in named]
