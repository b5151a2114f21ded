"""An answer in its forms: rows of gold.what_if (moments: epoch ms), an object for programs, a console, Markdown."""

from collections.abc import Iterator
from typing import Any, Final

from rebalance_audit.audit.rows import Row
from rebalance_audit.report.explained import literal
from rebalance_audit.report.terminal.layout import ConsoleReport, cell
from rebalance_audit.report.what_if import answer_sections, answer_table
from rebalance_audit.sentences.words import counted, iso, moment
from rebalance_audit.whatif import explanation
from rebalance_audit.whatif.answer import TOLERANCE, Answer
from rebalance_audit.whatif.history import fact_sentences
from rebalance_audit.whatif.script import Script, Settings
from rebalance_audit.whatif.tracker import MedianRange, Outcomes
from rebalance_audit.whatif.variant import describe_settings

_SETTINGS: Final = {
    "protocol": "protocol",
    "assignor": "assignor",
    "static": "is_static",
    "session_timeout_ms": "session_timeout_ms",
    "rebalance_timeout_ms": "rebalance_timeout_ms",
    "heartbeat_interval_ms": "heartbeat_interval_ms",
    "members": "instances",
}
"""Name in the object -> column."""


def answer_table_rows(answer: Answer) -> Iterator[Row]:
    """What the log shows, the control, and each change."""
    script = answer.script
    window = {
        "group_id": script.group_id,
        "from_at": script.from_ms,
        "to_at": script.to_ms,
        "refused": answer.refused,
        "records_delayed_unknown": script.rates_unknown,
    }
    asked = _settings(script.settings, script)
    yield {**window, **asked, **_logged(script)}
    simulated = {**window, "runs": len(answer.parts), "share_played": answer.parts[0].share}
    control = {
        "label": "control",
        "scenario": "control",
        "assumptions": [*explanation.assumptions(answer)],
    }
    yield {**simulated, **asked, **control, **_losses(answer.control, script)}
    for place, each in enumerate(answer.predictions, 1):
        yield {
            **simulated,
            "label": each.label,
            "scenario": "predicted",
            **_settings(each.settings, each.script),
            **_losses(each.outcomes, each.script),
            "because": [*explanation.reasons(answer, each)],
            "costs": [*explanation.costs(answer, each)],
            "rank": place if answer.is_ranked else None,
        }


def refused_row(group_id: str, sentence: str, from_ms: int | None, to_ms: int | None) -> Row:
    """A group that no script can be made for, in the window that was asked for."""
    return {
        "group_id": group_id,
        "from_at": from_ms,
        "to_at": to_ms,
        "label": "refused",
        "scenario": "refused",
        "refused": sentence,
    }


def _settings(settings: Settings, script: Script) -> Row:
    return {
        "protocol": settings.protocol,
        "assignor": settings.assignors[0],
        "is_static": settings.is_static,
        "session_timeout_ms": settings.session_timeout_ms,
        "rebalance_timeout_ms": settings.rebalance_timeout_ms,
        "heartbeat_interval_ms": settings.heartbeat_interval_ms,
        "instances": len(script.instances),
    }


def _logged(script: Script) -> Row:
    logged, delayed = script.logged, script.logged.delayed
    low_ms, high_ms = logged.unowned_low_ms, logged.unowned_high_ms
    return {
        "label": "as logged",
        "scenario": "as_logged",
        "rebalances": logged.rebalances,
        "partitions_moved": logged.partitions_moved,
        "unowned_partition_ms": high_ms if low_ms == high_ms else None,
        "unowned_partition_low_ms": low_ms,
        "unowned_partition_high_ms": high_ms,
        "records_delayed": None if delayed is None else delayed.estimate,
        "records_delayed_low": None if delayed is None else delayed.low,
        "records_delayed_high": None if delayed is None else delayed.high,
        "facts": fact_sentences(script),
    }


def _losses(outcomes: Outcomes, script: Script) -> Row:
    found = {
        **_range("rebalances", "", outcomes.rebalances),
        **_range("partitions_moved", "", outcomes.partitions_moved),
        **_range("unowned_partition", "_ms", outcomes.unowned_ms),
        **_range("longest_stop", "_ms", outcomes.longest_stop_ms),
    }
    if script.rates:
        found |= _range("records_delayed", "", outcomes.records_delayed)
    return found


def _range(name: str, unit: str, found: MedianRange) -> Row:
    return {
        f"{name}{unit}": found.median,
        f"{name}_low{unit}": found.low,
        f"{name}_high{unit}": found.high,
    }


def answer_object(answer: Answer) -> dict[str, Any]:
    """The whole answer: durations in milliseconds, moments in ISO 8601."""
    script, logged = answer.script, answer.script.logged
    of_log, of_control, *changes = answer_table_rows(answer)
    low_ms, high_ms = logged.unowned_low_ms, logged.unowned_high_ms
    predicted = []
    for each, row in zip(answer.predictions, changes, strict=True):
        deploy = {} if each.change.deploy is None else {"deploy": str(each.change.deploy)}
        predicted.append(
            {
                "label": each.label,
                "settings": {**_named(row), **deploy},
                **_outcomes(each.outcomes, each.script),
                "because": row["because"],
                "costs": row["costs"],
            }
        )
    facts = script.facts
    return {
        "group_id": script.group_id,
        "refused": answer.refused,
        "from": iso(script.from_ms),
        "to": iso(script.to_ms),
        "settings": _named(of_log),
        "seeds": len(answer.parts),
        "share_played": round(answer.parts[0].share, 4),
        "tolerance": TOLERANCE,
        "facts": None if facts is None else {**facts._asdict(), "sentences": of_log["facts"]},
        "as_logged": {
            "rebalances": logged.rebalances,
            "partitions_moved": logged.partitions_moved,
            "unowned_ms": None if high_ms is None else {"low": low_ms or 0, "high": high_ms},
            "records_delayed": None if logged.delayed is None else logged.delayed._asdict(),
        },
        "control": _outcomes(answer.control, script),
        "predicted": predicted,
        "records_delayed_unknown": script.rates_unknown,
        "assumptions": of_control["assumptions"],
    }


def refused_object(group_id: str, sentence: str) -> dict[str, Any]:
    """The answer about a group that no script can be made for."""
    nothing = dict.fromkeys(("facts", "as_logged", "control"))
    return {
        "group_id": group_id,
        "refused": sentence,
        **nothing,
        "predicted": [],
        "assumptions": [],
    }


def _named(row: Row) -> dict[str, Any]:
    return {name: row[column] for name, column in _SETTINGS.items()}


def _outcomes(outcomes: Outcomes, script: Script) -> dict[str, Any]:
    found = outcomes._asdict()
    del found["refused_returns"]
    by_reason = found.pop("unowned_ms_by_reason")
    if not script.rates:
        found["records_delayed"] = None
    ranges = {name: each and each._asdict() for name, each in found.items()}
    return {**ranges, "unowned_ms_by_reason": by_reason}


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
