"""`rebalance-audit report`: an audit, or the tables of a lake, as one page for a browser."""

from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.audit_settings import audit_settings
from rebalance_audit.cli.bad_arguments import bad_arguments
from rebalance_audit.cli.invocation import Invocation, configured
from rebalance_audit.cli.log_end import require_within_log
from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.segments_audit import audit_with_progress, refuse_files_of_segments
from rebalance_audit.cli.summaries import HandOut, summarised, write_file
from rebalance_audit.sentences import words

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
@click.argument("segments", metavar="[SEGMENTS]", required=False, type=click.Path(path_type=Path))
@click.option("--lake", metavar="DIR", help="Read this lake instead of SEGMENTS.")
@click.option(
    "--out",
    cls=options.NeededOption,
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="The page, or the picture of --png; missing folders are created.",
)
@options.cluster
@options.broker_logs
@options.broker_log_zone
@options.end_offsets
@options.deploys
@options.time_option("--from", "from_ms", text="Only what begins at this time or later.")
@options.time_option("--to", "to_ms", text="Only what begins before this time.")
@click.option(
    "--group",
    "group_ids",
    metavar="GROUP",
    multiple=True,
    help="Always include a section for this group; may be repeated.",
)
@click.option(
    "--details",
    type=click.IntRange(0, 5000),
    default=DETAILS,
    show_default=True,
    metavar="N",
    help="Sections for the N groups that need attention most, as far as they fit.",
)
@click.option(
    "--what-if",
    "answers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    multiple=True,
    help="Show this answer of `what-if --json` on the page; may be repeated.",
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
    invocation: Invocation,
    /,
    segments: Path | None,
    lake: str | None,
    out: Path,
    cluster: str | None,
    broker_logs: tuple[Path, ...],
    broker_log_zone: str | None,
    end_offsets: tuple[Path, ...],
    deploys: tuple[Path, ...],
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
    if None not in (wanted["from_ms"], wanted["to_ms"]) and wanted["from_ms"] >= wanted["to_ms"]:
        raise click.UsageError("The window is empty: its end is not after its start.")
    source = _source(
        invocation,
        segments,
        lake,
        cluster,
        drawn,
        broker_logs,
        broker_log_zone,
        end_offsets,
        deploys,
    )
    require_within_log("--from", wanted["from_ms"], source.log_end_ms())
    if drawn is not None and answers:
        raise click.UsageError("--what-if is a section of the page, which --png does not make.")
    if drawn is not None:
        _draw(source, drawn, wanted["from_ms"], wanted["to_ms"], out)
        hand_out({"group": drawn, "out": str(out)}, str(out))
        return
    from rebalance_audit.cli.answer_files import (  # noqa: PLC0415 - imports the page
        what_if_sections,
    )
    from rebalance_audit.cli.report_facts import report_facts  # noqa: PLC0415 - imports Arrow
    from rebalance_audit.report.html.page import (  # noqa: PLC0415 - imports the templates
        LISTED_MAX,
        render_page,
    )

    with bad_arguments(), slow_step("making the page"):
        facts = report_facts(source, **wanted)
        listed = {group["group_id"] for group in facts.groups[:LISTED_MAX]}
        page = render_page(facts, what_if_sections(answers, listed)).encode()
    write_file(page, out)
    totals = facts.totals
    summary = {
        "source": source.name,
        "cluster": None if source.is_fleet else source.clusters[0],
        "from": words.iso(wanted["from_ms"]),
        "to": words.iso(wanted["to_ms"]),
        "out": str(out),
        "bytes": len(page),
        "groups": totals["groups"],
        "epochs": totals["epochs"],
        "rebalances": totals["rebalances"],
        **_both_bounds("not_stable", totals, "unsettled"),
        **_both_bounds("unowned_partition", totals, "unowned_partition"),
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


def _source(
    invocation: Invocation,
    segments: Path | None,
    lake: str | None,
    cluster: str | None,
    drawn: str | None,
    broker_logs: tuple[Path, ...],
    broker_log_zone: str | None,
    end_offsets: tuple[Path, ...],
    deploys: tuple[Path, ...],
) -> "PageSource":
    if segments is None:
        refuse_files_of_segments(broker_logs, end_offsets)
        flags = {"lake.path": lake, "cluster": cluster}
        nothing = "No source given: give SEGMENTS or --lake DIR."
        config, clusters = invocation.clusters_of_reader(flags, nothing)
        if drawn is not None and len(clusters) > 1:
            with bad_arguments(group="--png"):
                clusters = [invocation.config_of_reader(flags, nothing, group_id=drawn).cluster]
        from rebalance_audit.cli.report_facts import of_lake  # noqa: PLC0415 - imports Arrow

        return of_lake(config.lake.path, clusters, deploys)
    if lake is not None:
        raise click.UsageError("Give SEGMENTS or --lake, not both.")
    settings = audit_settings(invocation, cluster, broker_log_zone, end_offsets, deploys)
    from rebalance_audit.cli.report_facts import of_audit  # noqa: PLC0415 - imports Arrow

    with bad_arguments():
        audit = audit_with_progress(segments, (), broker_logs, settings)
    return of_audit(segments, audit)


def _both_bounds(name: str, totals: Mapping[str, Any], stem: str) -> dict[str, Any]:
    """`<name>_ms` where it is known, else null; with bounds and estimate."""
    columns = {bound: totals[f"{stem}_{bound}_ms"] for bound in ("min", "max", "estimate")}
    known = columns["min"] if columns["min"] == columns["max"] else None
    return {f"{name}_ms": known} | {f"{name}_{bound}_ms": ms for bound, ms in columns.items()}
