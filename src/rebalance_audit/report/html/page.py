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

from rebalance_audit.audit.verdicts.cause import DEFINITIONS, RebalanceCause
from rebalance_audit.figures.ranking import most_severe_first
from rebalance_audit.figures.rows import TableRow, bounds_in
from rebalance_audit.report import causes
from rebalance_audit.report.answer import worst_of
from rebalance_audit.report.colours import (
    CAUSE_KINDS,
    COST_NUMBERS,
    COSTS,
    KIND_OF_CAUSE,
    MARKS,
    OWNERS,
    STATES,
)
from rebalance_audit.report.glossary import GLOSSARY
from rebalance_audit.report.html.facts import DAY_MS, PageFacts, per_bucket
from rebalance_audit.report.html.groups import (
    GROUP_COLUMNS,
    cells_of,
    estimate_cell,
    findings_by_kind,
    group_sections,
    sort_keys,
)
from rebalance_audit.report.html.rebalances import (
    deploys_table,
    figure,
    link,
    rebalance_row,
    shown,
    swimlane,
)
from rebalance_audit.report.html.what_if import COLUMNS
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.terminal import findings
from rebalance_audit.sentences import words
from rebalance_audit.tables.fleet_names import cluster_and_group
from rebalance_audit.version import __version__
from rebalance_audit.visible import visible

LISTED_MAX: Final = 10_000
"""Groups that the page's search covers: more would make it slow to open."""
SECTION_BYTES_MAX: Final = 3_500_000
"""Of all sections together: with the chart library and the picture of all groups the page stays below 6 MB."""
FIRST_GROUPS: Final = 50
"""Visible rows of the table of groups."""

_FILES: Final = "files"
_HARMLESS: Final = {
    ord("<"): "\\u003c",
    ord(">"): "\\u003e",
    ord("&"): "\\u0026",
    0x2028: "\\u2028",
    0x2029: "\\u2029",
}

_MACROS: Final = {
    "findings.html": ("findings_list",),
    "tables.html": ("figure_cell", "rebalance_table"),
}
"""File of templates -> what the others use of it."""
_LEGEND_OF_STATES: Final = [
    {
        "name": ", ".join(name for name, look in STATES.items() if look == one),
        "look": one,
    }
    for one in dict.fromkeys(STATES.values())
]
"""One entry for each colour: states that look alike share one."""

_CODE: Final = re.compile(r"(<(?:script|style)\b.*?</(?:script|style)>)", re.DOTALL)
_TEXT: Final = re.compile(r">[^<>]+<")
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=(?:ms|s|min|h|d|%)(?!\w))")


def render_page(facts: PageFacts, what_if: Sequence[Mapping[str, Any]] = ()) -> str:
    """The whole page; `what_if` are sections of `html.what_if`."""
    library, script = _file("echarts/echarts.min.js"), _file("page.js")
    names = MemberNames(facts.details["members"])
    cause_numbers = {row["cause"]: number for number, row in enumerate(facts.causes)}
    environment = _environment()
    sections = _sections(environment, facts, names)
    group_ids = [group["group_id"] for group in facts.groups[:LISTED_MAX]]
    listed = frozenset(group_ids)
    kinds = {KIND_OF_CAUSE[row["cause"]] for row in facts.buckets}
    costs = {why for row in facts.bars for why in row["held_up_why"] or ()} | {None}
    last_ms = facts.totals["last_epoch_ms"]
    weeks = [_week(row, listed) for row in facts.weeks]
    most = max((week["more_ms"] for week in weeks), default=1)
    template = environment.get_template("page.html")
    page = template.render(
        policy=_policy(library, script),
        css=_trusted(_file("page.css")),
        library=_trusted(library),
        script=_trusted(script),
        data=_trusted(_json(_chart_data(facts, names, list(sections)))),
        lanes=_trusted(
            _json(_packed(swimlane(group_ids, facts.bars, facts.end_ms, cause_numbers, names)))
        ),
        sections=_trusted(_json(list(sections.values()))),
        verdict=banner_of(facts, names, listed),
        kinds=[kind._asdict() for number, kind in enumerate(CAUSE_KINDS) if number in kinds],
        costs=[kind._asdict() for why, kind in COSTS.items() if why in costs],
        states=_LEGEND_OF_STATES,
        marks=MARKS,
        severities=[str(severity) for severity in findings.STYLES],
        weeks=[week | {"share": round(100 * week["more_ms"] / most)} for week in weeks],
        weeks_span=_span(last_ms and last_ms - 7 * DAY_MS, last_ms),
        version=__version__,
        clusters=[shown(cluster) for cluster in facts.clusters],
        source=shown(facts.source),
        command=f"rebalance-audit report {shown(facts.arguments)}",
        windowed=facts.windowed,
        span=_span(facts.totals["first_epoch_ms"], facts.totals["last_ms"]),
        log_end=words.utc(facts.log_end_ms) if facts.log_end_ms is not None else "",
        totals=facts.totals,
        tiles=_tiles(facts),
        buckets=facts.buckets,
        per_bucket=per_bucket(facts.bucket_ms),
        causes=_causes(facts.causes),
        deploys=deploys_table(facts.deploys, listed),
        findings=findings_by_kind(facts.finding_counts, facts.findings, names, listed),
        rebalances=_rebalances(facts, names, listed),
        rebalances_note=_rebalances_note(facts),
        group_columns=[{"name": name, "right": right} for name, right in GROUP_COLUMNS],
        first_groups=[cells_of(group, names) for group in facts.groups[:FIRST_GROUPS]],
        what_if=what_if,
        what_if_columns=COLUMNS,
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
    for file, macros in _MACROS.items():
        module = environment.get_template(file).module
        environment.globals |= {name: getattr(module, name) for name in macros}
    environment.globals["cost_shades"] = [kind.shades for kind in COSTS.values()]
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
    facts: PageFacts, names: MemberNames, with_section: Sequence[str]
) -> dict[str, Any]:
    bars: dict[int, list[Any]] = {}

    def bar(moment: int) -> list[Any]:
        return bars.setdefault(moment, [moment, [0] * len(COSTS), [0] * len(CAUSE_KINDS)])

    for row in facts.buckets:
        bar(row["bucket_ms"])[2][KIND_OF_CAUSE[row["cause"]]] += row["rebalances"]
    for row in facts.cost_buckets:
        bar(row["bucket_ms"])[1][COST_NUMBERS[row["cost"]]] += row["not_stable_estimate_ms"]
    is_fleet = len(facts.clusters) > 1
    section_of = {group_id: number for number, group_id in enumerate(with_section)}
    return {
        "bucket_ms": facts.bucket_ms,
        "buckets": [bars[moment] for moment in sorted(bars)],
        "from": facts.totals["first_ms"],
        "to": facts.end_ms,
        "log_end": facts.log_end_ms,
        "worst": shown(worst_of(facts.worst, facts.log_end_ms).group_id),
        "causes": [[row["cause"], KIND_OF_CAUSE[row["cause"]]] for row in facts.causes],
        "kinds": [[kind.name, list(kind.shades)] for kind in CAUSE_KINDS],
        "costs": [[kind.name, list(kind.shades)] for kind in COSTS.values()],
        "owners": [list(shades) for shades in OWNERS],
        "states": [[name, list(look.shades), look.is_quiet] for name, look in STATES.items()],
        "marks": {name: list(shades) for name, shades in MARKS.items()},
        "right": [right for _, right in GROUP_COLUMNS],
        "groups": [
            {
                "cells": cells,
                "keys": sort_keys(group, cells),
                "found": [str(each) for each in findings.STYLES if group[each]],
                "section": section_of.get(group["group_id"]),
                "link": link(group["group_id"]),
            }
            | ({"cluster": shown(cluster_and_group(group["group_id"])[0])} if is_fleet else {})
            for group in facts.groups[:LISTED_MAX]
            for cells in [cells_of(group, names)]
        ],
    }


def _packed(value: object) -> str:
    """JSON, compressed, as text: browsers unpack it without help."""
    return base64.b64encode(gzip.compress(orjson.dumps(value), 9, mtime=0)).decode()


def _sections(
    environment: jinja2.Environment,
    facts: PageFacts,
    names: MemberNames,
) -> dict[str, str]:
    """Group id -> its packed section, for as many groups as the page has room for."""
    template = environment.get_template("section.html")
    room = SECTION_BYTES_MAX
    found: dict[str, str] = {}
    for group_id, (group, picture) in zip(
        facts.detailed, group_sections(facts, names), strict=True
    ):
        html = _with_joined_units(template.render(group=group))
        packed = _packed({"html": html, "gantt": picture})
        room -= len(packed)
        if room < 0:
            break
        found[group_id] = packed
    return found


def _week(row: TableRow, listed: Collection[str]) -> dict[str, Any]:
    group_id = row["group_id"]
    before_ms, after_ms = (row[f"not_stable_estimate_ms_{side}"] for side in ("first", "second"))
    lasted = {"before": before_ms, "after": after_ms, "more": after_ms - before_ms}
    return {
        "group": shown(group_id),
        "link": link(group_id) if group_id in listed else "",
        **{name: words.duration(ms) for name, ms in lasted.items()},
        **{f"{name}_ms": ms for name, ms in lasted.items()},
        "rebalances_before": row["rebalances_first"],
        "rebalances_after": row["rebalances_second"],
    }


# --- texts ---------------------------------------------------------------------------------------


def _span(first_ms: int | None, last_ms: int | None) -> str:
    """To the minute."""
    if first_ms is None or last_ms is None:
        return ""
    return f"{words.moment(first_ms)[:16]} to {words.moment(last_ms)[:16]}"


def banner_of(facts: PageFacts, names: MemberNames, listed: Collection[str]) -> dict[str, str]:
    """The first sentence of `inspect`, with a link to the rebalance or group that it is about."""
    worst = worst_of(facts.worst, facts.log_end_ms)
    found = most_severe_first(facts.worst)
    mood = found[0]["severity"] if found else ""
    where = ""
    if worst.group_id in listed:
        where = link(worst.group_id, worst.rebalance)
    return {
        # Its names are short already.
        "text": visible(names.in_sentence(worst.group_id, worst.sentence)),
        "link": where,
        "mood": mood if worst.group_id else "",
    }


def _tiles(facts: PageFacts) -> list[dict[str, str]]:
    totals = facts.totals
    severities = {
        str(severity): sum(
            row["findings"] for row in facts.finding_counts if row["severity"] == severity
        )
        for severity in findings.STYLES
    }
    open_now, moved = totals["still_open"], totals["partitions_moved"]
    mood = next((name for name in ("critical", "warning") if severities[name]), "")
    not_stable = estimate_cell(bounds_in(totals, "not_stable"))
    unowned = estimate_cell(bounds_in(totals, "unowned_partition"))
    return [
        _tile(f"{totals['groups']:,}", "groups", words.counted(totals["epochs"], "epoch")),
        _tile(
            f"{totals['rebalances']:,}",
            "rebalances",
            f"{open_now:,} still going on at the end" if open_now else "",
            f"{words.counted(moved, 'partition')} moved" if moved else "",
        ),
        _tile(not_stable[0], "rebalancing, over all groups", not_stable[1]),
        _tile(unowned[0], "without owner, over all partitions", unowned[1]),
        _tile(f"{sum(severities.values()):,}", "findings", words.severities(severities))
        | {"mood": mood},
    ]


def _tile(number: str, name: str, *asides: str) -> dict[str, str]:
    return {"figure": number, "name": name, "aside": "; ".join(filter(None, asides)), "mood": ""}


def _rebalances(
    facts: PageFacts, names: MemberNames, listed: Collection[str]
) -> list[dict[str, Any]]:
    return [
        rebalance_row(
            row,
            names,
            row["trigger_member_id"],
            link(row["group_id"], row) if row["group_id"] in listed else "",
        )
        for row in facts.costliest
    ]


def _rebalances_note(facts: PageFacts) -> str:
    count = facts.totals["rebalances"]
    if count <= len(facts.costliest):
        return ""
    return f"The longest {len(facts.costliest)} of {count:,}; each group has its own below."


def _causes(rows: Sequence[TableRow]) -> list[dict[str, Any]]:
    most = max((row["rebalances"] for row in rows), default=1)
    return [
        {
            **row,
            "label": causes.label(row["cause"]),
            "meaning": DEFINITIONS[RebalanceCause(row["cause"])],
            "kind": list(CAUSE_KINDS)[KIND_OF_CAUSE[row["cause"]]],
            "share": round(100 * row["rebalances"] / most),
            **figure(False, bounds_in(row, "not_stable"), "unsettled"),
        }
        for row in rows
    ]


def _groups_note(count: int) -> str:
    if count <= FIRST_GROUPS:
        return ""
    known = f"; the search knows the first {LISTED_MAX:,}" if count > LISTED_MAX else ""
    return f"The first {FIRST_GROUPS} of {count:,} groups, those that need attention most first{known}."


def _details_note(facts: PageFacts, sections: int) -> str:
    note = "Open a group in the table or picture above, or from a finding; the worst one is open."
    if sections < len(facts.groups):
        note = (
            f"{sections:,} of {words.counted(len(facts.groups), 'group')} have lanes of their members, those that need"
            f" attention most; --group adds others. {note}"
        )
    return note


def _notes(facts: PageFacts) -> list[str]:
    gaps, epochs = facts.totals["gaps"], words.counted(facts.totals["epochs"], "epoch")
    note = (
        f"Of {epochs}, {gaps:,} lack evidence that compaction or a missing stretch of the log has taken; their figures"
        " are what is left."
    )
    return [note] if gaps else []
