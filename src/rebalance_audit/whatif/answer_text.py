"""An answer for people: a table on a console, or Markdown for a ticket."""

from collections.abc import Callable, Iterator
from typing import Final

from rebalance_audit.report.markdown import literal
from rebalance_audit.report.terminal.layout import ConsoleReport, cell
from rebalance_audit.sentences.words import NOTHING, counted, duration, moment, number
from rebalance_audit.whatif import explanation
from rebalance_audit.whatif.answer import Answer
from rebalance_audit.whatif.arrival_rates import has_arrivals
from rebalance_audit.whatif.fact_sentences import fact_sentences
from rebalance_audit.whatif.outcome import MedianRange, Outcomes
from rebalance_audit.whatif.variant import describe_settings

_NUMBERS: Final = ("Rebalances", "Moved", "Unowned", "Longest stop")
_DELAYED: Final = "Delayed"
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


def numbers_of(answer: Answer) -> tuple[str, ...]:
    """Titles of the table's columns after the first: delayed records only where commits show that some arrive."""
    return (*_NUMBERS, _DELAYED) if has_arrivals(answer.script.rates) else _NUMBERS


def answer_rows(answer: Answer) -> Iterator[tuple[str, list[str], list[str]]]:
    """The table: label; medians or known values; low and high, empty where nothing varies."""
    logged = answer.script.logged
    low_ms, high_ms = logged.unowned_low_ms, logged.unowned_high_ms
    unowned, bounds = NOTHING, ""
    if high_ms is not None:
        is_known = low_ms == high_ms
        unowned = duration(high_ms) if is_known else ""
        bounds = "" if is_known else f"{duration(low_ms or 0)} – {duration(high_ms)}"
    known = [number(logged.rebalances), number(logged.partitions_moved), unowned or bounds, NOTHING]
    has_rates = has_arrivals(answer.script.rates)
    if has_rates:
        known.append(NOTHING if logged.delayed is None else number(logged.delayed.estimate))
    yield LOGGED, known, [""] * len(known)
    yield CONTROL, *_cells(answer.control, has_rates)
    for prediction in answer.predictions:
        yield prediction.label, *_cells(prediction.outcomes, has_rates)


def _cells(outcomes: Outcomes, has_rates: bool) -> tuple[list[str], list[str]]:
    cells = [
        _cell(outcomes.rebalances, number),
        _cell(outcomes.partitions_moved, number),
        _cell(outcomes.unowned_ms, duration),
        (duration(outcomes.longest_stop_ms.median), ""),
    ]
    if has_rates:
        cells.append((number(outcomes.records_delayed.median), ""))
    return [median for median, _ in cells], [bounds for _, bounds in cells]


def _cell(found: MedianRange, written: Callable[[int], str]) -> tuple[str, str]:
    bounds = "" if found.low == found.high else f"{written(found.low)} – {written(found.high)}"
    return written(found.median), bounds


def print_answer(report: ConsoleReport, answer: Answer) -> None:
    """The answer on a console."""
    report.line(heading(answer))
    report.line()
    numbers = numbers_of(answer)
    tables = [report.table("", *numbers, right=numbers) for _ in range(2)]
    for label, values, bounds in answer_rows(answer):
        for table in tables:
            table.add_row(*map(cell, (label, *values)))
        if any(bounds):
            tables[0].add_row(*(cell(each, "dim") for each in ("", *bounds)))
    # Where low and high do not fit, the medians alone; --json has them.
    report.print_first_fitting(*tables)
    for title, sentences in sections(answer):
        report.title(title)
        for sentence in sentences:
            report.paragraph(sentence, indent=2)


def markdown(answer: Answer) -> str:
    """The answer in Markdown."""
    lines = [f"**{literal(heading(answer))}**", ""]
    numbers = numbers_of(answer)
    lines += [f"| | {' | '.join(numbers)} |", f"|---|{'--:|' * len(numbers)}"]
    for label, values, bounds in answer_rows(answer):
        cells = [
            f"{value} ({bound})" if bound else value
            for value, bound in zip(values, bounds, strict=True)
        ]
        lines.append(f"| {' | '.join(map(literal, (label, *cells)))} |")
    for title, sentences in sections(answer):
        lines += ["", f"### {literal(title)}", "", *(f"- {literal(each)}" for each in sentences)]
    return "\n".join(lines) + "\n"


def sections(answer: Answer) -> Iterator[tuple[str, list[str]]]:
    """Titles and their sentences."""
    if answer.refused is not None:
        yield "No advice", [answer.refused]
    facts = fact_sentences(answer.script)
    if facts:
        yield "Facts", facts
    shown = answer.predictions[:MANY] if answer.is_ranked else answer.predictions
    for prediction in shown:
        because = explanation.reasons(answer, prediction)
        costs = [f"Cost: {each}" for each in explanation.costs(answer, prediction)]
        yield _capital(prediction.label), [*because, *costs]
    yield "Taken for granted", explanation.assumptions(answer)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
