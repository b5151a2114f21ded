"""The report as one HTML page for managers and SREs. It is self-contained: it loads nothing.

Names come from the log, and whoever joins a group chooses them. They reach the page as text only: the template
escapes them, the charts' data is JSON without a `<`, the script sets text, never HTML, and the page's policy lets
no script run whose hash it does not list.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final

import jinja2
import orjson
from markupsafe import Markup, escape

from rebalance_audit.audit.causes.cause import DEFINITIONS, RebalanceCause
from rebalance_audit.report import causes, words
from rebalance_audit.report.glossary import GLOSSARY
from rebalance_audit.report.html.colours import OTHER, STATES, colours_of
from rebalance_audit.report.html.facts import PageFacts, per_bucket
from rebalance_audit.report.html.groups import (
    anchors,
    findings_by_kind,
    group_sections,
    shown,
    state_text,
    timelines,
)
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.summary import TableRow, bounds_in
from rebalance_audit.report.terminal import findings
from rebalance_audit.version import __version__

LISTED_MAX: Final = 10_000
"""Groups that the page's search covers: more would make it slow to open."""
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


def render_page(facts: PageFacts) -> str:
    """The whole page."""
    library, script = _file("echarts/echarts.min.js"), _file("page.js")
    names = MemberNames(facts.details["members"])
    sections = anchors(facts)
    template = _environment().get_template("page.html")
    return template.render(
        policy=_policy(library, script),
        css=_trusted(_file("page.css")),
        library=_trusted(library),
        script=_trusted(script),
        data=_trusted(_json(_chart_data(facts))),
        version=__version__,
        cluster=shown(facts.cluster),
        source=shown(facts.source),
        windowed=facts.windowed,
        span=_span(facts.totals),
        totals=facts.totals,
        tiles=_tiles(facts),
        buckets=facts.buckets,
        per_bucket=per_bucket(facts.bucket_ms),
        causes=_causes(facts.causes),
        findings=findings_by_kind(facts.finding_counts, facts.findings, names, sections),
        group_columns=[{"name": name, "right": right} for name, right in GROUP_COLUMNS],
        first_groups=[_cells(group) for group in facts.groups[:FIRST_GROUPS]],
        groups_note=_groups_note(len(facts.groups)),
        details=group_sections(facts, names),
        details_note=_details_note(facts),
        notes=_notes(facts),
        glossary=GLOSSARY,
    )


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


def _chart_data(facts: PageFacts) -> dict[str, Any]:
    coloured = colours_of([row["cause"] for row in facts.causes])
    numbers = {cause: number for number, cause in enumerate(coloured)}
    other = len(coloured)
    rare = any(row["cause"] not in coloured for row in facts.causes)
    bars: dict[int, list[Any]] = {}
    for row in facts.buckets:
        bar = bars.setdefault(row["bucket_ms"], [row["bucket_ms"], 0, [0] * (other + rare)])
        bar[1] += row["unsettled_estimate_ms"]
        if row["cause"] is not None:
            bar[2][numbers.get(row["cause"], other)] += row["rebalances"]
    in_order = [bars[moment] for moment in sorted(bars)]
    span = in_order[-1][0] - in_order[0][0] if in_order else 0
    sections = anchors(facts)
    return {
        "bucket_ms": facts.bucket_ms,
        "bucket_count": span // facts.bucket_ms + 1,
        "buckets": in_order,
        "cause_names": [causes.label(cause) for cause in coloured] + ["other causes"] * rare,
        "cause_colours": [*coloured.values(), OTHER],
        "states": [[name, look.colour, look.is_quiet] for name, look in STATES.items()],
        "timelines": timelines(
            facts, {row["cause"]: numbers.get(row["cause"], other) for row in facts.causes}
        ),
        "right": [right for _, right in GROUP_COLUMNS],
        "groups": [
            {"cells": _cells(group), "anchor": sections.get(group["group_id"])}
            for group in facts.groups[:LISTED_MAX]
        ],
    }


def _cells(group: TableRow) -> list[str]:
    """One row of the table of groups, with a text for each of GROUP_COLUMNS."""
    found = (f"{group[severity]:,} {severity}" for severity in findings.STYLES if group[severity])
    return [
        shown(group["group_id"]),
        group["protocol"] or words.NOTHING,
        state_text(group),
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
            "aside": f"{words.counted(moved, 'partition')} moved" if moved else "",
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


def _details_note(facts: PageFacts) -> str:
    told = (
        "Green is stable, orange on the way there; a diamond is an epoch or a generation in the colour of its cause,"
        " red are partitions without owner. Point at a mark to read it, drag the slider's ends to zoom."
    )
    if len(facts.detailed) < len(facts.groups):
        told = (
            f"{len(facts.detailed):,} of {words.counted(len(facts.groups), 'group')}, those that need attention most;"
            f" others with --group or --details. {told}"
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
