"""An answer for people: a table on a console, or Markdown for a ticket."""

from collections.abc import Iterator
from typing import Final

from rebalance_audit.report.markdown import literal
from rebalance_audit.report.terminal.layout import ConsoleReport, cell
from rebalance_audit.report.words import counted, duration, moment
from rebalance_audit.whatif import explanation
from rebalance_audit.whatif.answer import Answer
from rebalance_audit.whatif.outcome import MedianRange, Outcomes
from rebalance_audit.whatif.variant import describe_settings

_NUMBERS: Final = ("Rebalances", "Moved", "Unowned", "Longest stop")
LOGGED: Final = "as logged"
CONTROL: Final = "control: simulated as it was"
MANY: Final = 3
"""Of more predictions only the best ones are explained."""


def heading(answer: Answer) -> str:
    """What was asked, in one sentence."""
    script = answer.script
    runs = counted(len(answer.parts), "run")
    return (
        f"{script.group_id}: {moment(script.from_ms)} to {moment(script.to_ms)} UTC,"
        f" {describe_settings(script.settings)};"
        f" {counted(len(script.instances), 'instance')},"
        f" {counted(sum(script.topics.values()), 'partition')}, {runs} each"
    )


def answer_rows(answer: Answer) -> Iterator[tuple[str, ...]]:
    """The table: label, rebalances, moved partitions, time without owner, longest stop."""
    logged = answer.script.logged
    low_ms, high_ms = logged.unowned_low_ms, logged.unowned_high_ms
    unowned = "–"
    if high_ms is not None:
        exact = low_ms == high_ms
        unowned = duration(high_ms) if exact else f"{duration(low_ms or 0)} – {duration(high_ms)}"
    yield LOGGED, f"{logged.rebalances:,}", f"{logged.partitions_moved:,}", unowned, "–"
    yield CONTROL, *_cells(answer.control)
    for prediction in answer.predictions:
        yield prediction.label, *_cells(prediction.outcomes)


def _cells(outcomes: Outcomes) -> tuple[str, ...]:
    return (
        _count(outcomes.rebalances),
        _count(outcomes.partitions_moved),
        _time(outcomes.unowned_ms),
        _time(outcomes.longest_stop_ms),
    )


def _count(found: MedianRange) -> str:
    if found.low == found.high:
        return f"{found.median:,}"
    return f"{found.median:,} ({found.low:,} – {found.high:,})"


def _time(found: MedianRange) -> str:
    if found.low == found.high:
        return duration(found.median)
    return f"{duration(found.median)} ({duration(found.low)} – {duration(found.high)})"


def print_answer(report: ConsoleReport, answer: Answer) -> None:
    """The answer on a console."""
    report.line(heading(answer))
    report.line()
    table = report.table("", *_NUMBERS, right=_NUMBERS)
    for row in answer_rows(answer):
        table.add_row(*map(cell, row))
    report.print_table(table)
    for title, sentences in sections(answer):
        report.title(title)
        for sentence in sentences:
            report.paragraph(sentence, indent=2)


def markdown(answer: Answer) -> str:
    """The answer in Markdown."""
    lines = [f"**{literal(heading(answer))}**", ""]
    lines += [f"| | {' | '.join(_NUMBERS)} |", "|---|--:|--:|--:|--:|"]
    lines += [f"| {' | '.join(map(literal, row))} |" for row in answer_rows(answer)]
    for title, sentences in sections(answer):
        lines += ["", f"### {literal(title)}", "", *(f"- {literal(each)}" for each in sentences)]
    return "\n".join(lines) + "\n"


def sections(answer: Answer) -> Iterator[tuple[str, list[str]]]:
    """Titles and their sentences."""
    if answer.refused is not None:
        yield "No advice", [answer.refused]
    shown = answer.predictions[:MANY] if answer.is_ranked else answer.predictions
    for prediction in shown:
        because = explanation.reasons(answer, prediction)
        costs = [f"Cost: {each}" for each in explanation.costs(answer, prediction)]
        yield _capital(prediction.label), [*because, *costs]
    yield "Taken for granted", explanation.assumptions(answer)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
