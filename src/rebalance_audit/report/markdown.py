"""Explanations for tickets and chats."""

import re
from typing import Final

from rebalance_audit.report.explanation import Explanation
from rebalance_audit.report.names import MemberNames
from rebalance_audit.sentences import words
from rebalance_audit.visible import visible

_SIGNS: Final = re.compile(
    r"""
    (?P<markup> [\\`*_{}\[\]<>|~$] | \#(?!\d) )       # of Markdown, of HTML in it, of a formula
    | (?P<entity> & | :(?=//) | (?i:(?<=\bwww)\.) )  # what readers make a character or a link of
    | (?P<mention> (?<!\w)@(?=\w) | \#(?=\d) )        # what they make a person or a ticket of
    """,
    re.VERBOSE,
)
_NO_WIDTH: Final = "&#8203;"
_OF_A_LIST: Final = re.compile(r"([-+]|\d+[.)])(?=\s|$)")
_BLANKS: Final = re.compile(r" +")


def markdown_of(
    explanation: Explanation, group_id: str, names: MemberNames, log_end_ms: int | None = None
) -> str:
    """The sentences that `explain` prints, under headings; what stands in a name is text and nothing else.

    `log_end_ms`: when the log ends (epoch ms), if that is known.
    """

    def written(sentence: str) -> str:
        return literal(names.in_sentence(group_id, sentence))

    lines = [f"**{written(explanation.heading)}**"]
    for place, section in enumerate(explanation.sections):
        # The answer stands right below the heading, as on a terminal.
        lines += ["", f"### {literal(section.title)}"] if place else []
        lines += ["", *(f"- {written(sentence)}" for sentence in section.sentences)]
    if log_end_ms is not None:
        lines += ["", f"Log ends at {words.utc(log_end_ms)}."]
    return "\n".join(lines) + "\n"


def literal(text: str) -> str:
    """A text of one line that Markdown shows as it is; control characters are escaped first."""
    text = visible(text)
    written = _SIGNS.sub(_escaped, text)
    if found := _OF_A_LIST.match(text):
        return f"{written[: found.end() - 1]}\\{written[found.end() - 1 :]}"
    if found := _BLANKS.match(text):
        return "&#32;" * found.end() + written[found.end() :]
    return written


def _escaped(sign: re.Match[str]) -> str:
    match sign.lastgroup:
        case "markup":
            return f"\\{sign[0]}"
        case "entity":
            return f"&#{ord(sign[0])};"
        case _:
            return ("\\#" if sign[0] == "#" else "@") + _NO_WIDTH
