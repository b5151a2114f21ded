"""A reason: a code of the tables in this folder, and the facts that its sentence needs."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Reason(NamedTuple):
    """What the audit has to say; `render.text_of` makes the sentence of it.

    Facts are JSON values, or reasons, or lists of either: ids and names as in the log, durations in milliseconds,
    moments in epoch milliseconds. The template of the code gives the type of each.
    """

    code: str
    facts: Mapping[str, Any]


def because(code: str, /, **facts: Any) -> Reason:
    """`because("member_joined", member="c-1")`."""
    return Reason(code, facts)
