"""Causes and their certainty in words: labels for tables, sentences for a glossary."""

from collections.abc import Iterable
from typing import Final

from rebalance_audit.audit.cause import DEFINITIONS, Certainty, RebalanceCause

MARKS: Final = {Certainty.PROVEN: "●", Certainty.PROBABLE: "◐", Certainty.POSSIBLE: "○"}
"""How sure a cause is, in one character."""


def label(cause: str) -> str:
    """`member_session_expired` -> `member session expired`."""
    return cause.replace("_", " ")


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
