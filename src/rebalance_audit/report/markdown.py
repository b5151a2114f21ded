"""Explanations for tickets and chats."""

import re
from typing import Final

from rebalance_audit.report.explanation import Explanation
from rebalance_audit.report.names import MemberNames
from rebalance_audit.visible import visible

_SIGNS: Final = re.compile(r"([\\`*_{}\[\]<>#|~$])")
"""What Markdown, HTML in it, or a formula would begin or end with."""
_AS_ENTITY: Final = (
    # What forges make a link or a mention of although it has no markup.
    (re.compile(r"&"), "&amp;"),
    (re.compile(r":(?=//)"), "&#58;"),
    (re.compile(r"(?i)(?<=\bwww)\."), "&#46;"),
    (re.compile(r"(?<!\w)@(?=\w)"), "@&#8203;"),
    (re.compile(r"(?<!\w)#(?=\d)"), "#&#8203;"),
)
_OF_A_LIST: Final = re.compile(r"[-+](?=\s|$)|\d+(?=[.)](?:\s|$))")
_BLANKS: Final = re.compile(r" +")


def markdown_of(explanation: Explanation, group_id: str, names: MemberNames) -> str:
    """The sentences that `explain` prints, under headings; what stands in a name is text and nothing else."""

    def written(sentence: str) -> str:
        return literal(names.in_sentence(group_id, sentence))

    lines = [f"**{written(explanation.heading)}**"]
    for place, section in enumerate(explanation.sections):
        # The answer stands right below the heading, as on a terminal.
        lines += ["", f"### {literal(section.title)}"] if place else []
        lines += ["", *(f"- {written(sentence)}" for sentence in section.sentences)]
    return "\n".join(lines) + "\n"


def literal(text: str) -> str:
    """A text of one line that Markdown shows as it is; control characters are escaped first."""
    text = visible(text)
    for sign, entity in _AS_ENTITY:
        text = sign.sub(entity, text)
    # Ours are the entities' own signs.
    text = re.sub(r"&\\#", "&#", _SIGNS.sub(r"\\\1", text))
    if found := _OF_A_LIST.match(text):
        return (
            f"{text[: found.end()]}\\{text[found.end() :]}" if found[0].isdigit() else f"\\{text}"
        )
    if found := _BLANKS.match(text):
        return "&#32;" * found.end() + text[found.end() :]
    return text
