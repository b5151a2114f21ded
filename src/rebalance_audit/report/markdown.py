"""Explanations for tickets and chats."""

import re
from typing import Final

from rebalance_audit.report import words
from rebalance_audit.report.explanation import Explanation
from rebalance_audit.report.names import MemberNames

_SIGNS: Final = re.compile(r"([\\`*_{}\[\]<>#|~])")
"""What Markdown would take for markup in names of groups, members and topics."""


def markdown_of(explanation: Explanation, group_id: str, names: MemberNames) -> str:
    """The sentences that `explain` prints, under headings; what stands in a name is text and nothing else."""

    def told(sentence: str) -> str:
        return _SIGNS.sub(r"\\\1", names.in_sentence(group_id, sentence))

    lines = [f"**{told(explanation.heading)}**"]
    for place, section in enumerate(explanation.sections):
        # The answer stands right below the heading, as on a terminal.
        lines += ["", f"### {words.visible(section.title)}"] if place else []
        lines += ["", *(f"- {told(sentence)}" for sentence in section.sentences)]
    return "\n".join(lines) + "\n"
