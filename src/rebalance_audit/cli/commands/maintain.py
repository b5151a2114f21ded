"""`rebalance-audit maintain`: maintenance of the tables of a lake, with Spark."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import Invocation, configured
from rebalance_audit.cli.output import HandOut, summarised
from rebalance_audit.cli.progress import progress
from rebalance_audit.errors import BadRequest
from rebalance_audit.sentences import words

if TYPE_CHECKING:
    from rebalance_audit.lake.runs.maintain import MaintainReport, MaintainRequest, TableCare

EXAMPLES: Final = """\b
Examples:
  rebalance-audit maintain --lake lake
  rebalance-audit maintain --lake lake --retention silver.offset_commits=90 --dry-run
  rebalance-audit maintain --lake lake --table gold.epochs --vacuum-hours 0
"""


_COLUMNS: Final = (
    *("rows_deleted", "older_than", "files_before", "bytes_before"),
    *("files_added", "files_removed", "files_vacuumed", "vacuum_hours"),
)
"""What --json says of a table."""


def _retention(text: str) -> tuple[str, int]:
    """A table and the days that its rows are kept, of `gold.epochs=400`. Raises BadRequest."""
    table, sign, days = text.partition("=")
    if not (table and sign and days.isascii() and days.isdigit() and int(days) > 0):
        raise BadRequest(f"{text!r} is not a retention: write TABLE=DAYS, such as gold.epochs=400.")
    return table, int(days)


@click.command(epilog=EXAMPLES)
@options.lake
@options.tables
@click.option(
    "--retention",
    "retentions",
    type=options.Parsed(_retention),
    metavar="TABLE=DAYS",
    multiple=True,
    help="Delete rows of this table that ended more than DAYS days ago; may be repeated. [maintain.keep_days]",
)
@click.option(
    "--vacuum-hours",
    type=click.IntRange(min=0),
    metavar="N",
    help="Remove files that no table version has used for N hours. [maintain.vacuum_hours]",
)
@click.option("--dry-run", is_flag=True, help="Only print what would be deleted and removed.")
@summarised()
@configured
def maintain(
    invocation: Invocation,
    /,
    lake: str | None,
    tables: Sequence[str],
    retentions: Sequence[tuple[str, int]],
    vacuum_hours: int | None,
    dry_run: bool,
    hand_out: HandOut,
) -> None:
    """Maintain the tables of a lake.

    Deletes rows past their retention, rewrites small files as large ones (OPTIMIZE) and removes unused files
    (VACUUM); in a catalog it also makes the views of docs/bi.md. No run can write meanwhile. It
    can be killed at any point and repeated; runs do not mistake its commits for new data.
    """
    flags = {"lake.path": lake, "maintain.vacuum_hours": vacuum_hours}
    config = invocation.config_of_lake(flags, "spark")
    from rebalance_audit.cli import spark  # noqa: PLC0415 - imports Spark

    request = spark.maintain_request_of(
        config, tables=tables, retentions=dict(retentions), dry_run=dry_run
    )
    with progress() as on_progress:
        report = spark.maintain_once(config, request, on_progress)
    for note in report.notes:
        click.echo(note, err=True)
    hand_out(shape(config.lake.path, request, report), summary(config.lake.path, request, report))


def summary(lake: str, request: "MaintainRequest", report: "MaintainReport") -> str:
    """What was done, a line for each table where anything was."""
    would = "would be " if request.dry_run else ""
    lines = [f"Maintenance {report.run_id} of {lake}" + (" (dry run)" if request.dry_run else "")]
    width = max(map(len, report.tables))
    quiet = 0
    for name, care in report.tables.items():
        changes = [*_changes(care, would)]
        quiet += not changes
        if changes:
            lines.append(f"  {name:{width}}  {', '.join(changes)}")
    if quiet:
        lines.append(f"{words.counted(quiet, 'table')} unchanged.")
    if report.views.names:
        lines.append(f"{words.counted(len(report.views.names), 'view')} recreated.")
    if report.views.refused is not None:
        lines.append(f"The catalog takes no views: {report.views.refused}")
    return "\n".join(lines)


def _changes(care: "TableCare", would: str) -> Iterator[str]:
    if care.rows_deleted:
        yield f"{words.counted(care.rows_deleted, 'row')} {would}deleted"
    if care.files_removed:
        files, about = words.counted(care.files_removed, "file"), "about " if would else ""
        yield f"{files} {would}rewritten as {about}{care.files_added:,}"
    if care.files_vacuumed:
        yield f"{words.counted(care.files_vacuumed, 'unused file')} {would}removed"


def shape(lake: str, request: "MaintainRequest", report: "MaintainReport") -> Mapping[str, Any]:
    """The object of --json."""
    return {
        "run_id": report.run_id,
        "lake": lake,
        "dry_run": request.dry_run,
        "tables": {
            name: {column: getattr(care, column) for column in _COLUMNS}
            for name, care in report.tables.items()
        },
        "notes": report.notes,
        "views": report.views.names,
        "views_refused": report.views.refused,
        "table_versions": {name: care.version for name, care in report.tables.items()},
    }
