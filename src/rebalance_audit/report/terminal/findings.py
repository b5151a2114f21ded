"""Findings on a console, the most severe first, one paragraph each; and what rollouts cost."""

from collections import Counter
from typing import Final

from rich.text import Text

from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.figures.ranking import most_severe_first
from rebalance_audit.figures.rows import TableRow, Tables
from rebalance_audit.report.causes import label
from rebalance_audit.report.deploys import (
    DEPLOYS_SHOWN,
    cost_sentence,
    deploy_costs,
    during_note,
    sentences_of_group,
)
from rebalance_audit.report.row_sentences import advice_of, detail_of, evidence_of
from rebalance_audit.report.terminal.extent import Extent
from rebalance_audit.report.terminal.layout import ConsoleReport, title_of
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import EvidenceSentence, Sentence
from rebalance_audit.visible import shortened, visible

SHOWN: Final = 12
"""Findings in the overview unless all are wanted."""
EVIDENCE_SHOWN: Final = 4
"""Records of evidence per finding or cause unless all are wanted."""

STYLES: Final = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def print_findings(layout: ConsoleReport, tables: Tables, extent: Extent) -> None:
    """What deserves attention in all groups; prints nothing where there are no findings."""
    found = most_severe_first(tables)
    if not found:
        return
    alike: dict[tuple[str, str | None, str], list[TableRow]] = {}
    for row in found:
        alike.setdefault((row["severity"], row["group_id"], row["kind"]), []).append(row)
    groups = (
        [[row] for row in found]
        if extent.everything
        else list(alike.values())[: extent.rows(SHOWN)]
    )
    counts = Counter(row["severity"] for row in found)
    shown = sum(map(len, groups))
    cut = "" if shown == len(found) else f", the worst {shown} shown"
    layout.title(f"Findings: {words.severities(counts)}{cut}")
    for row, *others in groups:
        _head(layout, row, with_group=True, times=1 + len(others))
        _paragraph(layout, row, detail_of(row))


def print_findings_in_detail(layout: ConsoleReport, own: Tables, extent: Extent) -> None:
    """The findings of one group, with what to do and the records that show them."""
    found = most_severe_first(own)
    if not found:
        return
    shown_rows = found[: extent.rows(len(found))]
    layout.title(title_of("Findings", len(shown_rows), len(found), "worst"))
    for row in shown_rows:
        _head(layout, row, with_group=False)
        _paragraph(layout, row, detail_of(row))
        advice = Sentence(("What to do: ", advice_of(row)))
        _paragraph(layout, row, advice, "dim")
        print_evidence(layout, row, extent)


def print_evidence(
    layout: ConsoleReport, row: TableRow, extent: Extent, where_more: str = ""
) -> None:
    """The records that show a finding or a cause; `where_more` says how to see those that are left out."""
    evidence = evidence_of(row)
    shown = evidence if extent.everything else evidence[:EVIDENCE_SHOWN]
    for item in shown:
        line = Sentence((f"{item.record}  {layout.moment(item.at)}  ", item.fact))
        _paragraph(layout, row, line, "dim", indent=4)
    if len(shown) < len(evidence):
        more = f"… and {words.counted(len(evidence) - len(shown), 'more record')}{where_more}"
        layout.paragraph(more, "dim", indent=4)


def _head(layout: ConsoleReport, row: TableRow, *, with_group: bool, times: int = 1) -> None:
    text = Text(f"{row['severity']}  ", STYLES[row["severity"]])
    text.append(label(row["kind"]), "bold default")
    if with_group and row["group_id"] is not None:
        text.append(f"  {visible(shortened(row['group_id']))}", "bold default")
    if times > 1:
        text.append(f"  {times:,} times, the latest", "not bold default")
    over = "" if row["to_at"] is None or row["to_at"] == row["from_at"] else ", over"
    text.append(
        f"  {words.span(row['from_at'], row['to_at'], layout.moment)}{over}", "not bold dim default"
    )
    layout.line(text)


def _paragraph(
    layout: ConsoleReport, row: TableRow, sentence: str, style: str = "", *, indent: int = 2
) -> None:
    text = layout.names.in_sentence(row["group_id"], sentence)
    layout.paragraph(text, style, indent=indent)


def print_deploys(layout: ConsoleReport, tables: Tables, extent: Extent) -> None:
    """What each rollout cost all groups; prints nothing where no rollouts were given."""
    rows = tables.get("deploys")
    if rows is None:
        return
    found = deploy_costs(rows)
    shown = found[: extent.rows(DEPLOYS_SHOWN)]
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
