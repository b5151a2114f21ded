"""Answers that an agent can afford to read: below 8 kB, with a count of what was left out."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rebalance_audit.agents.answer_text import answer_text

SMALL_BYTES: Final = 8000
"""Of a whole answer as text: some 2,000 tokens."""
ITEMS_MAX: Final = 30
"""Items of one list that are worth making: more have no room."""


def small_answer(
    answer: Mapping[str, Any], shrinkable: Sequence[str], in_all: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The answer without as many of the last items of its lists as it takes to stay below the bound.

    `shrinkable`: names of lists at the top of the answer; the first shrinks first, and each keeps one item as long as
    another can shrink. `in_all`: how many items a list would have that was given cut. `left_out` in the answer counts
    what it does not have.
    """
    totals = {name: len(answer[name]) for name in shrinkable} | dict(in_all or {})
    found = dict(answer)

    def with_counts() -> dict[str, Any]:
        missing = {name: total - len(found[name]) for name, total in totals.items()}
        return {**found, "left_out": {name: count for name, count in missing.items() if count}}

    for least in (1, 0):
        for name in shrinkable:
            while len(found[name]) > least and _bytes(with_counts()) >= SMALL_BYTES:
                found[name] = found[name][: max(least, len(found[name]) * 3 // 4)]
    return with_counts()


def _bytes(answer: Mapping[str, Any]) -> int:
    return len(answer_text(answer).encode())
