"""A reason: a code of the tables in this folder, and the facts that its sentence needs."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class CodedReason(NamedTuple):
    """What the audit has to say; `render.reason_text` makes the sentence of it.

    Facts are JSON values, or reasons, or lists of either: ids and names as in the log, durations in milliseconds,
    moments in epoch milliseconds. The template of the code gives the type of each.
    """

    code: str
    facts: Mapping[str, Any]


def because(code: str, /, **facts: Any) -> CodedReason:
    """`because("member_joined", member="c-1")`."""
    return CodedReason(code, facts)
