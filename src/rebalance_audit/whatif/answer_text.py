"""An answer for people: a table on a console, or Markdown for a ticket."""

from collections.abc import Iterator
from typing import Final

from rebalance_audit.report.explained import literal
from rebalance_audit.report.terminal.layout import ConsoleReport, cell
from rebalance_audit.report.what_if import answer_sections, answer_table
from rebalance_audit.sentences.words import counted, moment
from rebalance_audit.whatif.answer import Answer
from rebalance_audit.whatif.answer_rows import answer_object
from rebalance_audit.whatif.variant import describe_settings

_NUMBERS: Final = ("Rebalances", "Moved", "Unowned", "Longest stop", "Delayed")
_WITH_BOUNDS: Final = 3
"""Of those only the first ones: the page and --json have all bounds."""
MANY: Final = 3
"""Of more predictions only the best ones are explained."""


def _heading(answer: Answer) -> str:
    script = answer.script
    return (
        f"{script.group_id}: {moment(script.from_ms)} to {moment(script.to_ms)} UTC,"
        f" {describe_settings(script.settings)};"
        f" {counted(len(script.instances), 'instance')},"
        f" {counted(sum(script.topics.values()), 'partition')}, {counted(len(answer.parts), 'run')} each"
    )


def _titles(answer: Answer) -> tuple[str, ...]:
    """Delayed records only where commits show that some arrive."""
    has_arrivals = any(each for rates in answer.script.rates.values() for each in rates)
    return _NUMBERS if has_arrivals else _NUMBERS[:-1]


def _rows(answer: Answer) -> Iterator[tuple[str, list[str], list[str]]]:
    """Label; medians or known values; low and high, empty where nothing varies."""
    columns = len(_titles(answer))
    for label, cells in answer_table(answer_object(answer)):
        bounds = [each.bounds if place < _WITH_BOUNDS else "" for place, each in enumerate(cells)]
        yield label, [each.value for each in cells[:columns]], bounds[:columns]


def print_answer(report: ConsoleReport, answer: Answer) -> None:
    """The answer on a console."""
    report.line(_heading(answer))
    report.line()
    titles = _titles(answer)
    tables = [report.table("", *titles, right=titles) for _ in range(2)]
    for label, values, bounds in _rows(answer):
        for table in tables:
            table.add_row(*map(cell, (label, *values)))
        if any(bounds):
            tables[0].add_row(*(cell(each, "dim") for each in ("", *bounds)))
    # Where low and high do not fit, the medians alone; --json has them.
    report.print_first_fitting(*tables)
    for title, sentences in _sections(answer):
        report.title(title)
        for sentence in sentences:
            report.paragraph(sentence, indent=2)


def markdown(answer: Answer) -> str:
    """The answer in Markdown."""
    lines = [f"**{literal(_heading(answer))}**", ""]
    titles = _titles(answer)
    lines += [f"| | {' | '.join(titles)} |", f"|---|{'--:|' * len(titles)}"]
    for label, values, bounds in _rows(answer):
        cells = [
            f"{value} ({bound})" if bound else value
            for value, bound in zip(values, bounds, strict=True)
        ]
        lines.append(f"| {' | '.join(map(literal, (label, *cells)))} |")
    for title, sentences in _sections(answer):
        lines += ["", f"### {literal(title)}", "", *(f"- {literal(each)}" for each in sentences)]
    return "\n".join(lines) + "\n"


def _sections(answer: Answer) -> Iterator[tuple[str, list[str]]]:
    if answer.refused is not None:
        yield "No advice", [answer.refused]
    explained = MANY if answer.is_ranked else len(answer.predictions)
    yield from answer_sections(answer_object(answer), explained)
