"""`rebalance-audit report`: an audit, or the tables of a lake, as one page for a browser."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rebalance_audit.bounds import bounds_columns
from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import bad_arguments, configured
from rebalance_audit.cli.output import HandOut, summarised, write_file
from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.source import LakeSource, Segments, takes_source
from rebalance_audit.cli.times import require_within_log
from rebalance_audit.figures.rows import bounds_in
from rebalance_audit.sentences import words
from rebalance_audit.tables.order import Window

if TYPE_CHECKING:
    from rebalance_audit.cli.report_facts import PageSource

PNG_DOTS_PER_INCH: Final = 144
DETAILS: Final = 500
"""Groups with their own section by default."""

EXAMPLES: Final = """\b
Examples:
  rebalance-audit report copy-of-log --out report.html
  rebalance-audit report --lake lake --out report.html
  rebalance-audit report --lake /data/lake --cluster blue --from -7d --out week.html
  rebalance-audit report --lake lake --group checkout --group billing --out two.html
  rebalance-audit report copy-of-log --what-if checkout.json --out report.html
  rebalance-audit report copy-of-log --png checkout --out checkout.png
"""


@click.command(epilog=EXAMPLES)
@takes_source(options.broker_logs, options.broker_log_zone, options.end_offsets, options.deploys)
@options.path(
    "--out",
    cls=options.NeededOption,
    required=True,
    text="The page, or the picture of --png; missing folders are created.",
)
@options.time_option("--from", "from_ms", text="Only what begins at this time or later.")
@options.time_option("--to", "to_ms", text="Only what begins before this time.")
@options.groups_of("Always include a section for this group; may be repeated.")
@click.option(
    "--details",
    type=click.IntRange(0, 5000),
    default=DETAILS,
    show_default=True,
    metavar="N",
    help="Sections for the N groups that need attention most, as far as they fit.",
)
@options.path(
    "--what-if",
    "answers",
    exists=True,
    multiple=True,
    text="Show this answer of `what-if --json` on the page; may be repeated.",
)
@click.option(
    "--png",
    "drawn",
    metavar="GROUP",
    help="Write a picture of this group instead of the page: members, owners, partitions without owner.",
)
@summarised("Print what the page shows as one JSON object.")
@configured
def report(
    _invocation: object,
    /,
    source: Segments | LakeSource,
    out: Path,
    hand_out: HandOut,
    drawn: str | None,
    answers: tuple[Path, ...],
    **wanted: Any,
) -> None:
    """Write an HTML page: rebalances, their causes, findings with advice, each group in detail.

    From SEGMENTS, audited in this process, or from the tables of a lake, with all its clusters unless
    --cluster names one.

    The page is one file that needs no network, so it can be mailed and archived. Its size is
    bounded: the groups that need attention most have a section each, all others are in a searchable list.
    """
    if Window(wanted["from_ms"], wanted["to_ms"]).is_empty:
        raise click.UsageError("The window is empty: its end is not after its start.")
    page_source = _page_source(source, drawn)
    require_within_log("--from", wanted["from_ms"], page_source.log_end_ms())
    if drawn is not None and answers:
        raise click.UsageError("--what-if is a section of the page, which --png does not make.")
    if drawn is not None:
        _draw(page_source, drawn, wanted["from_ms"], wanted["to_ms"], out)
        hand_out({"group": drawn, "out": str(out)}, str(out))
        return
    from rebalance_audit.cli.report_facts import report_facts  # noqa: PLC0415 - imports Arrow
    from rebalance_audit.report.html.page import (  # noqa: PLC0415 - imports the templates
        LISTED_MAX,
        render_page,
    )
    from rebalance_audit.report.html.what_if import (  # noqa: PLC0415 - imports the page
        what_if_sections,
    )

    with slow_step("making the page"):
        facts = report_facts(page_source, **wanted)
        listed = {group["group_id"] for group in facts.groups[:LISTED_MAX]}
        page = render_page(facts, what_if_sections(answers, listed)).encode()
    write_file(page, out)
    totals = facts.totals
    summary = {
        "source": page_source.name,
        "cluster": None if page_source.is_fleet else page_source.clusters[0],
        "from": words.iso(wanted["from_ms"]),
        "to": words.iso(wanted["to_ms"]),
        "out": str(out),
        "bytes": len(page),
        "groups": totals["groups"],
        "epochs": totals["epochs"],
        "rebalances": totals["rebalances"],
        **_both_bounds("not_stable", totals),
        **_both_bounds("unowned_partition", totals),
        "findings": sum(row["findings"] for row in facts.finding_counts),
        "groups_in_detail": list(facts.detailed),
    }
    text = (
        f"{out}: {words.counted(totals['groups'], 'group')}, {words.counted(totals['rebalances'], 'rebalance')}, "
        f"{words.counted(summary['findings'], 'finding')}; {words.size(len(page))}"
    )
    hand_out(summary, text)


def _draw(
    source: "PageSource", group_id: str, from_ms: int | None, to_ms: int | None, out: Path
) -> None:
    from rebalance_audit.report.figures import plot_group  # noqa: PLC0415 - the page needs none

    with bad_arguments(group="--png"), slow_step("drawing the group"):
        source.require_cluster()
        figure = plot_group(source.gold, group_id, start=from_ms, end=to_ms)
    picture = BytesIO()
    figure.savefig(picture, format="png", dpi=PNG_DOTS_PER_INCH)
    write_file(picture.getvalue(), out)


def _page_source(source: Segments | LakeSource, drawn: str | None) -> "PageSource":
    from rebalance_audit.cli.report_facts import of_audit, of_lake  # noqa: PLC0415 - imports Arrow

    if isinstance(source, Segments):
        return of_audit(source.path, source.gold())
    if drawn is None:
        return of_lake(source.path, source.clusters(), source.deploys)
    with bad_arguments(group="--png"):
        return of_lake(source.path, [source.one_cluster(drawn)], source.deploys)


def _both_bounds(name: str, totals: Mapping[str, Any]) -> dict[str, Any]:
    """`<name>_ms` where it is known, else null; with bounds and estimate."""
    lasted = bounds_in(totals, name)
    return {f"{name}_ms": lasted and lasted.exact, **bounds_columns(lasted, name)}
