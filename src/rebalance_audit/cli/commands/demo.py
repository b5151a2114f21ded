"""`rebalance-audit demo`: the whole pipeline once, on a bundled log of a real cluster."""

import shlex
from functools import partial
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from rebalance_audit.cli.commands.run import shape
from rebalance_audit.cli.invocation import Invocation, configured
from rebalance_audit.cli.progress import progress
from rebalance_audit.cli.requirements import require_java
from rebalance_audit.cli.summaries import HandOut, summarised, write_file
from rebalance_audit.demo_log import extract_to
from rebalance_audit.report import words
from rebalance_audit.report.summary import Tables, summaries
from rebalance_audit.report.terminal.console import file_console, stdout_console
from rebalance_audit.report.terminal.extent import Extent
from rebalance_audit.report.terminal.layout import ConsoleReport
from rebalance_audit.report.terminal.overview import print_overview
from rebalance_audit.visible import visible

OUT: Final = "demo-lake"
CLUSTER: Final = "demo"
REPORT: Final = "report.txt"
PAGE: Final = "report.html"
SECTIONS: Final = 20
"""More groups than the log has."""
REBALANCES_SHOWN: Final = 5
"""Two screens have no room for more."""

EXAMPLES: Final = """\b
Examples:
  rebalance-audit demo
  rebalance-audit demo --out /tmp/demo
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=OUT,
    show_default=True,
    metavar="DIR",
    help="Folder for the log, the tables, the report and the page.",
)
@summarised("What was written and what the run did, as one JSON object in place of the text.")
@configured
def demo(invocation: Invocation, /, out: Path, hand_out: HandOut) -> None:
    """Audit a bundled log of a real cluster with local Spark, and print what happened.

    Two minutes of a Kafka broker with ten groups, whose clients were started, closed, killed and frozen
    at random. Leaves the log, the Delta tables, the printed report and the page in a folder.
    """
    log = out / "log"
    config = invocation.config_of_lake(
        {"source.spec": f"segments:{log}", "lake.path": str(out), "cluster": CLUSTER},
        "spark",
        "report",
    )
    require_java()
    from rebalance_audit.cli import spark  # noqa: PLC0415 - imports Spark
    from rebalance_audit.cli.report_facts import of_lake, report_facts  # noqa: PLC0415 - imports Arrow
    from rebalance_audit.readers.gold import gold_tables  # noqa: PLC0415 - imports Arrow
    from rebalance_audit.report.html.page import render_page  # noqa: PLC0415 - imports templates

    with progress() as tell:
        tell("unpacking the log")
        extract_to(log)
        request = spark.run_request_of(config, command="demo")
        report = spark.audit_once(request, config, tell)
        tell("writing the page")
        page = render_page(report_facts(of_lake(str(out), CLUSTER), details=SECTIONS))
        write_file(page.encode(), out / PAGE)
    tables = gold_tables(request.lake, request.cluster)
    _write_report(out / REPORT, tables)
    files = {"log": log, "report": out / REPORT, "page": out / PAGE}
    hand_out(
        {**{name: str(path) for name, path in files.items()}, "run": shape(request, report)},
        partial(print_demo, stdout_console(), out, tables, report.counts.read),
    )


def print_demo(console: Console, out: Path, tables: Tables, records: int) -> None:
    """What happened in the log of so many records, and what to look at next: two screens of 120 columns."""
    overview = ConsoleReport(console, tables)
    print_overview(overview, tables, Extent(), rebalances=REBALANCES_SHOWN)
    counts = ", ".join(f"{name} {len(rows):,}" for name, rows in tables.items())
    overview.line("")
    became = f"{words.counted(records, 'record')} of the log became" if records else "There were"
    overview.line(f"{became} Delta tables under {out}: {counts} rows.")
    console.out(_what_next(out, tables), highlight=False)


def _write_report(path: Path, tables: Tables) -> None:
    with path.open("w", encoding="utf-8") as file:
        print_overview(ConsoleReport(file_console(file), tables), tables, Extent(everything=True))


def _what_next(out: Path, tables: Tables) -> str:
    """Where the rest of it is, and command lines to go on with."""
    busiest = visible(shlex.quote(summaries(tables)[0].group_id))
    return f"""\
All rebalances are in {out / REPORT}, pictures of each group in {out / PAGE}.
What to look at next:

  rebalance-audit explain {out / "log"} {busiest}
      who held the most unsettled group up, and why, in sentences; without Spark
  rebalance-audit inspect {out / "log"} --group {busiest} --epochs
      each of its epochs, with causes and evidence
  rebalance-audit inspect FOLDER
      the same for your own cluster: FOLDER holds copies of __consumer_offsets-*/*.log
"""
