"""Rollouts on a console: what each of them cost."""

from typing import Final

from rebalance_audit.figures.rows import Tables
from rebalance_audit.report.deploys import (
    cost_sentence,
    deploy_costs,
    during_note,
    sentences_of_group,
)
from rebalance_audit.report.terminal.extent import Extent
from rebalance_audit.report.terminal.layout import ConsoleReport, title_of
from rebalance_audit.sentences.sentence import EvidenceSentence

SHOWN: Final = 10
"""Rollouts in the overview unless all are wanted."""


def print_deploys(layout: ConsoleReport, tables: Tables, extent: Extent) -> None:
    """What each rollout cost all groups; prints nothing where no rollouts were given."""
    rows = tables.get("deploys")
    if rows is None:
        return
    found = deploy_costs(rows)
    shown = found[: extent.rows(SHOWN)]
    layout.title(title_of("Deploys", len(shown), len(found), "costliest"))
    for cost in shown:
        sentence = cost_sentence(cost, with_groups=True)
        layout.paragraph(layout.names.in_sentence("", sentence), indent=2)
    if not rows:
        layout.paragraph("No rebalance fits any of the rollouts that were given.", indent=2)
    if note := during_note(rows):
        layout.paragraph(note, indent=2)


def print_deploys_of_group(layout: ConsoleReport, own: Tables, group_id: str) -> None:
    """What each rollout cost one group, with evidence."""
    found = list(sentences_of_group(own))
    if not found:
        return
    layout.title("Deploys")
    for sentence in found:
        is_evidence = isinstance(sentence, EvidenceSentence)
        text = layout.names.in_sentence(group_id, sentence)
        layout.paragraph(text, "dim" if is_evidence else "", indent=4 if is_evidence else 2)
