"""The report as one HTML page for managers and SREs. It is self-contained: it loads nothing.

Names come from the log, and whoever joins a group chooses them. They reach the page as text only: the template
escapes them, also in the sections that the script unpacks, the charts' data is JSON without a `<`, and the page's
policy lets no script run whose hash it does not list.
"""

import base64
import gzip
import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from typing import Any, Final

import jinja2
import orjson
from markupsafe import Markup, escape

from rebalance_audit.audit.causes.cause import DEFINITIONS, RebalanceCause
from rebalance_audit.report import causes, words
from rebalance_audit.report.glossary import GLOSSARY
from rebalance_audit.report.html.colours import MARKS, OTHER, STATES, colours_of
from rebalance_audit.report.html.facts import DAY_MS, PageFacts, per_bucket
from rebalance_audit.report.html.groups import (
    findings_by_kind,
    group_sections,
    link,
    shown,
    state_text,
)
from rebalance_audit.report.html.swimlane import swimlane
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.summary import TableRow, bounds_in
from rebalance_audit.report.terminal import findings
from rebalance_audit.version import __version__

LISTED_MAX: Final = 10_000
"""Groups that the page's search covers: more would make it slow to open."""
SECTION_BYTES_MAX: Final = 3_500_000
"""Of all sections together: with the chart library and the picture of all groups the page stays below 6 MB."""
FIRST_GROUPS: Final = 50
"""Visible rows of the table of groups."""

GROUP_COLUMNS: Final = (
    # heading, whether its values are numbers
    ("Group", False),
    ("Protocol", False),
    ("State", False),
    ("Rebalances", True),
    ("Not stable", True),
    ("Longest", True),
    ("Without owner", True),
    ("Mostly", False),
    ("Findings", False),
)

_FILES: Final = "files"
_HARMLESS: Final = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}

_CODE: Final = re.compile(r"(<(?:script|style)\b.*?</(?:script|style)>)", re.DOTALL)
_TEXT: Final = re.compile(r">[^<>]+<")
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=(?:ms|s|min|h|d|%)(?!\w))")


def render_page(facts: PageFacts) -> str:
    """The whole page."""
    library, script = _file("echarts/echarts.min.js"), _file("page.js")
    names = MemberNames(facts.details["members"])
    coloured = colours_of([row["cause"] for row in facts.causes])
    numbers = {cause: number for number, cause in enumerate(coloured)}
    cause_numbers = {row["cause"]: numbers.get(row["cause"], len(coloured)) for row in facts.causes}
    environment = _environment()
    sections = _sections(environment, facts, names, cause_numbers)
    group_ids = [group["group_id"] for group in facts.groups[:LISTED_MAX]]
    listed = frozenset(group_ids)
    legend: list[dict[str, Any]] = [
        {"name": causes.label(cause), "shades": shades} for cause, shades in coloured.items()
    ]
    if len(coloured) < len(facts.causes):
        legend.append({"name": "other causes", "shades": OTHER})
    template = environment.get_template("page.html")
    page = template.render(
        policy=_policy(library, script),
        css=_trusted(_file("page.css")),
        library=_trusted(library),
        script=_trusted(script),
        data=_trusted(_json(_chart_data(facts, legend, cause_numbers, list(sections)))),
        lanes=_trusted(
            _json(_packed(swimlane(group_ids, facts.marks, facts.totals, cause_numbers)))
        ),
        sections=_trusted(_json(list(sections.values()))),
        legend=legend,
        states=STATES,
        marks=MARKS,
        severities=[str(severity) for severity in findings.STYLES],
        weeks=_weeks(facts.weeks, listed),
        weeks_span=_last_week(facts.totals),
        version=__version__,
        cluster=shown(facts.cluster),
        source=shown(facts.source),
        command=f"rebalance-audit report {shown(facts.arguments)}",
        windowed=facts.windowed,
        span=_span(facts.totals),
        totals=facts.totals,
        tiles=_tiles(facts),
        buckets=facts.buckets,
        per_bucket=per_bucket(facts.bucket_ms),
        causes=_causes(facts.causes),
        findings=findings_by_kind(facts.finding_counts, facts.findings, names, listed),
        group_columns=[{"name": name, "right": right} for name, right in GROUP_COLUMNS],
        first_groups=[_cells(group) for group in facts.groups[:FIRST_GROUPS]],
        groups_note=_groups_note(len(facts.groups)),
        details_note=_details_note(facts, len(sections)),
        notes=_notes(facts),
        glossary=GLOSSARY,
    )
    return "".join(
        part if part.startswith(("<script", "<style")) else _with_joined_units(part)
        for part in _CODE.split(page)
    )


def _with_joined_units(html: str) -> str:
    """HTML in whose texts no unit stands alone on a line: it cannot be parted from its number. Attributes stay."""
    return _TEXT.sub(lambda text: _BEFORE_UNIT.sub("\N{NO-BREAK SPACE}", text[0]), html)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_file),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = words.number
    environment.filters["number_or_blank"] = lambda value: f"{value:,}" if value else ""
    environment.filters["label"] = causes.label
    environment.filters["marked_down"] = _marked_down
    macros = environment.get_template("findings.html").module
    environment.globals["findings_list"] = macros.findings_list  # type: ignore[attr-defined]
    return environment


def _file(name: str) -> str:
    """A file of the package, which may lie in a zip."""
    return files(__package__).joinpath(_FILES, *name.split("/")).read_text(encoding="utf-8")


def _trusted(text: str) -> Markup:
    """The package's own files and JSON without a `<`: the only content that reaches the page unescaped."""
    return Markup(text)  # noqa: S704 - see above


def _marked_down(text: str) -> Markup:
    """The glossary's few marks as HTML: **strong**, *emphasis*, `code`."""
    text = str(escape(text))
    for mark, tag in ((r"\*\*", "b"), (r"\*", "em"), ("`", "code")):
        text = re.sub(f"{mark}(.+?){mark}", rf"<{tag}>\1</{tag}>", text)
    return _trusted(text)


def _policy(*scripts: str) -> str:
    """The page's content security policy: run these scripts and use its own styles; load nothing from anywhere."""
    digests = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts
    )
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:;"
        " base-uri 'none'; form-action 'none'"
    )


def _json(value: object) -> str:
    """JSON that is safe between script tags."""
    return orjson.dumps(value).decode().translate(_HARMLESS)


# --- charts and search ---------------------------------------------------------------------------


def _chart_data(
    facts: PageFacts,
    legend: Sequence[Mapping[str, Any]],
    cause_numbers: Mapping[str, int],
    with_section: Sequence[str],
) -> dict[str, Any]:
    bars: dict[int, list[Any]] = {}
    for row in facts.buckets:
        bar = bars.setdefault(row["bucket_ms"], [row["bucket_ms"], 0, [0] * len(legend)])
        bar[1] += row["unsettled_estimate_ms"]
        if row["cause"] is not None:
            bar[2][cause_numbers[row["cause"]]] += row["rebalances"]
    section_of = {group_id: number for number, group_id in enumerate(with_section)}
    return {
        "bucket_ms": facts.bucket_ms,
        "buckets": [bars[moment] for moment in sorted(bars)],
        "from": facts.totals["first_ms"],
        "to": facts.totals["last_ms"],
        "cause_names": [entry["name"] for entry in legend],
        "cause_shades": [list(entry["shades"]) for entry in legend],
        "states": [[name, list(look.shades), look.is_quiet] for name, look in STATES.items()],
        "marks": {name: list(shades) for name, shades in MARKS.items()},
        "right": [right for _, right in GROUP_COLUMNS],
        "groups": [
            {
                "cells": _cells(group),
                "keys": _keys(group),
                "found": [str(each) for each in findings.STYLES if group[each]],
                "section": section_of.get(group["group_id"]),
                "link": link(group["group_id"]),
            }
            for group in facts.groups[:LISTED_MAX]
        ],
    }


def _packed(value: object) -> str:
    """JSON, compressed, as text: browsers unpack it without help."""
    return base64.b64encode(gzip.compress(orjson.dumps(value), 9, mtime=0)).decode()


def _sections(
    environment: jinja2.Environment,
    facts: PageFacts,
    names: MemberNames,
    cause_numbers: Mapping[str, int],
) -> dict[str, str]:
    """Group id -> its packed section, for as many groups as the page has room for."""
    template = environment.get_template("section.html")
    room = SECTION_BYTES_MAX
    found: dict[str, str] = {}
    for group_id, (group, picture) in zip(
        facts.detailed, group_sections(facts, names, cause_numbers), strict=True
    ):
        html = _with_joined_units(template.render(group=group))
        packed = _packed({"html": html, "gantt": picture})
        room -= len(packed)
        if room < 0:
            break
        found[group_id] = packed
    return found


def _weeks(rows: Sequence[TableRow], listed: Collection[str]) -> list[dict[str, Any]]:
    weeks = [_week(row, listed) for row in rows]
    most = max((week["more_ms"] for week in weeks), default=1)
    return [{**week, "share": round(100 * week["more_ms"] / most)} for week in weeks]


def _last_week(totals: TableRow) -> str:
    last_ms = totals["last_epoch_ms"]
    if last_ms is None:
        return ""
    return f"{words.moment(last_ms - 7 * DAY_MS)[:16]} to {words.moment(last_ms)[:16]}"


def _week(row: TableRow, listed: Collection[str]) -> dict[str, Any]:
    group_id = row["group_id"]
    return {
        "group": shown(group_id),
        "link": link(group_id) if group_id in listed else "",
        "before": words.duration(row["unsettled_before_ms"]),
        "before_ms": row["unsettled_before_ms"],
        "after": words.duration(row["unsettled_after_ms"]),
        "after_ms": row["unsettled_after_ms"],
        "more": words.duration(row["unsettled_after_ms"] - row["unsettled_before_ms"]),
        "more_ms": row["unsettled_after_ms"] - row["unsettled_before_ms"],
        "rebalances_before": row["rebalances_before"],
        "rebalances_after": row["rebalances_after"],
    }


def _keys(group: TableRow) -> list[Any]:
    """What the table of groups is sorted by, for each of GROUP_COLUMNS."""
    name, protocol, state, _, _, _, _, top_cause, _ = _cells(group)
    found = [group[severity] for severity in findings.STYLES]
    return [
        name,
        protocol,
        state,
        group["rebalances"],
        group["unsettled_estimate_ms"],
        group["longest_estimate_ms"] or 0,
        group["unowned_partition_estimate_ms"] or 0,
        top_cause,
        sum(count * 1000**rank for rank, count in enumerate(reversed(found))),
    ]


def _cells(group: TableRow) -> list[str]:
    """One row of the table of groups, with a text for each of GROUP_COLUMNS."""
    found = (f"{group[severity]:,} {severity}" for severity in findings.STYLES if group[severity])
    return [
        shown(group["group_id"]),
        shown(group["protocol"]) if group["protocol"] else words.NOTHING,
        state_text(group).replace(" (", "\N{NO-BREAK SPACE}("),
        f"{group['rebalances']:,}" + (" (going on)" if group["still_open"] else ""),
        words.bounds(bounds_in(group, "unsettled")),
        words.bounds(bounds_in(group, "longest")),
        words.bounds(bounds_in(group, "unowned_partition")),
        causes.label(group["top_cause"]) if group["top_cause"] else words.NOTHING,
        ", ".join(found) or words.NOTHING,
    ]


# --- texts ---------------------------------------------------------------------------------------


def _span(totals: TableRow) -> str:
    first, last = totals["first_epoch_ms"], totals["last_ms"]
    if first is None or last is None:
        return ""
    return f"{words.moment(first)[:16]} to {words.moment(last)[:16]}"


def _tiles(facts: PageFacts) -> list[dict[str, str]]:
    totals = facts.totals
    severities = {
        str(severity): sum(
            row["findings"] for row in facts.finding_counts if row["severity"] == severity
        )
        for severity in findings.STYLES
    }
    open_now = totals["still_open"]
    moved = totals["partitions_moved"]
    mood = next((name for name in ("critical", "warning") if severities[name]), "")
    return [
        {
            "figure": f"{totals['groups']:,}",
            "name": "groups",
            "aside": words.counted(totals["epochs"], "epoch"),
            "mood": "",
        },
        {
            "figure": f"{totals['rebalances']:,}",
            "name": "rebalances",
            "aside": f"{open_now:,} still going on at the end" if open_now else "",
            "mood": "",
        },
        {
            "figure": words.bounds(bounds_in(totals, "unsettled")),
            "name": "not stable",
            "aside": "summed over groups",
            "mood": "",
        },
        {
            "figure": words.bounds(bounds_in(totals, "unowned_partition")),
            "name": "partitions without owner",
            "aside": "summed over partitions"
            + (f"; {words.counted(moved, 'partition')} moved" if moved else ""),
            "mood": "",
        },
        {
            "figure": f"{sum(severities.values()):,}",
            "name": "findings",
            "aside": ", ".join(f"{n:,} {severity}" for severity, n in severities.items() if n),
            "mood": mood,
        },
    ]


def _causes(rows: Sequence[TableRow]) -> list[dict[str, Any]]:
    most = max((row["rebalances"] for row in rows), default=1)
    return [
        {
            **row,
            "label": causes.label(row["cause"]),
            "meaning": DEFINITIONS[RebalanceCause(row["cause"])],
            "share": round(100 * row["rebalances"] / most),
            "unsettled": words.bounds(bounds_in(row, "unsettled")),
        }
        for row in rows
    ]


def _groups_note(count: int) -> str:
    if count > LISTED_MAX:
        return (
            f"The first {FIRST_GROUPS} of {count:,} groups, those that need attention most first; the search knows the"
            f" first {LISTED_MAX:,}."
        )
    if count > FIRST_GROUPS:
        return (
            f"The first {FIRST_GROUPS} of {count:,} groups, those that need attention most first."
        )
    return ""


def _details_note(facts: PageFacts, sections: int) -> str:
    told = (
        "Open a group in the table, in the picture above, or from a finding; the first one is open."
    )
    if sections < len(facts.groups):
        told = (
            f"{sections:,} of {words.counted(len(facts.groups), 'group')} have lanes of their members, those that need"
            f" attention most; --group adds others. {told}"
        )
    return told


def _notes(facts: PageFacts) -> list[str]:
    gaps = facts.totals["gaps"]
    if not gaps:
        return []
    note = (
        f"Of {words.counted(facts.totals['epochs'], 'epoch')}, {gaps:,} lack evidence that compaction or a missing"
        " stretch of the log has taken; what is told of them is what is left."
    )
    return [note]
