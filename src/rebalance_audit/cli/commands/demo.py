"""`rebalance-audit demo`: the audit of a bundled log of a real cluster."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from rich.console import Console

from rebalance_audit.audit.rows import GOLD_OF_LOG
from rebalance_audit.cli import options
from rebalance_audit.cli.commands.run import shape
from rebalance_audit.cli.invocation import Invocation, configured
from rebalance_audit.cli.output import HandOut, summarised, write_file
from rebalance_audit.cli.progress import progress
from rebalance_audit.cli.spark_jars import require_java
from rebalance_audit.demo_log import extract_to
from rebalance_audit.figures.groups import summaries
from rebalance_audit.figures.rows import Tables
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.report.terminal.console import file_console, stdout_console
from rebalance_audit.report.terminal.extent import Extent
from rebalance_audit.report.terminal.layout import ConsoleReport
from rebalance_audit.report.terminal.overview import print_overview
from rebalance_audit.sentences import words
from rebalance_audit.visible import visible

if TYPE_CHECKING:
    from rebalance_audit.cli.report_facts import PageSource

OUT: Final = "demo-audit"
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
  rebalance-audit demo --spark
"""


class DemoAudit(NamedTuple):
    """The audit of the demo log, in this process or with Spark."""

    tables: Tables
    records: int
    page_source: "PageSource"
    run: dict[str, Any] | None
    """Summary of the Spark run, as `run --json` prints it; None without Spark."""


@click.command(epilog=EXAMPLES)
@options.path(
    "--out",
    metavar="DIR",
    default=OUT,
    show_default=True,
    text="Folder for the log, the report, the page and, with --spark, the tables.",
)
@click.option(
    "--spark",
    "with_spark",
    is_flag=True,
    help="Audit with local Spark instead, and keep the tables as a lake in DIR. Needs the extra `spark` and Java 17.",
)
@summarised("What was written, as one JSON object in place of the text.")
@configured
def demo(invocation: Invocation, /, out: Path, hand_out: HandOut, *, with_spark: bool) -> None:
    """Audit a bundled log of a real cluster, and print what happened.

    Two minutes of a Kafka broker with ten groups, whose clients were started, closed, killed and
    suspended at random. Leaves the log, the printed report and a page for browsers in a folder.
    """
    log = out / "log"
    audit = _with_spark if with_spark else _in_this_process
    found = audit(invocation, out, log)
    end_ms = found.page_source.log_end_ms()
    _write_report(out / REPORT, found.tables, end_ms)
    from rebalance_audit.cli.report_facts import report_facts  # noqa: PLC0415 - imports Arrow
    from rebalance_audit.report.html.page import render_page  # noqa: PLC0415 - imports templates

    page = render_page(report_facts(found.page_source, details=SECTIONS))
    write_file(page.encode(), out / PAGE)
    files = {"log": log, "report": out / REPORT, "page": out / PAGE}
    hand_out(
        {**{name: str(path) for name, path in files.items()}, "run": found.run},
        lambda: print_demo(
            stdout_console(), out, found.tables, found.records, end_ms, is_lake=with_spark
        ),
    )


def _in_this_process(invocation: Invocation, _out: Path, log: Path) -> DemoAudit:
    invocation.config()
    from rebalance_audit.cli.report_facts import of_audit  # noqa: PLC0415 - imports Arrow

    audit = audit_segments(extract_to(log), cluster=CLUSTER)
    tables = {name: audit.tables[name] for name in GOLD_OF_LOG}
    return DemoAudit(tables, audit.facts.records, of_audit(log, audit), None)


def _with_spark(invocation: Invocation, out: Path, log: Path) -> DemoAudit:
    config = invocation.config_of_lake(
        {"source.spec": f"segments:{log}", "lake.path": str(out), "cluster": CLUSTER}, "spark"
    )
    require_java()
    from rebalance_audit.cli import spark  # noqa: PLC0415 - imports Spark
    from rebalance_audit.cli.report_facts import of_lake  # noqa: PLC0415 - imports Arrow
    from rebalance_audit.readers.gold import gold_tables  # noqa: PLC0415 - imports Arrow

    with progress() as on_progress:
        on_progress("unpacking the log")
        extract_to(log)
        request = spark.run_request_of(config, command="demo")
        report = spark.audit_once(request, config, on_progress)
    return DemoAudit(
        gold_tables(request.lake, request.cluster),
        report.counts.read,
        of_lake(str(out), (CLUSTER,)),
        shape(request, report),
    )


def print_demo(
    console: Console, out: Path, tables: Tables, records: int, end_ms: int | None, *, is_lake: bool
) -> None:
    """What happened in the log of so many records, and what to look at next: two screens of 120 columns."""
    overview = ConsoleReport(console, tables, end_ms)
    print_overview(overview, tables, Extent(), rebalances=REBALANCES_SHOWN)
    overview.line("")
    if is_lake:
        counts = ", ".join(f"{name} {len(rows):,}" for name, rows in tables.items())
        became = (
            f"{words.counted(records, 'record')} of the log became" if records else "There were"
        )
        overview.line(f"{became} Delta tables under {out}: {counts} rows.")
    console.out(_what_next(out, tables, is_lake=is_lake), highlight=False)


def _write_report(path: Path, tables: Tables, end_ms: int | None) -> None:
    with path.open("w", encoding="utf-8") as file:
        layout = ConsoleReport(file_console(file), tables, end_ms)
        print_overview(layout, tables, Extent(everything=True))


def _what_next(out: Path, tables: Tables, *, is_lake: bool) -> str:
    """Where the rest of it is, and command lines to go on with."""
    busiest = visible(shlex.quote(summaries(tables)[0].group_id))
    commands = {
        f"explain {out / 'log'} {busiest}": "why the group with most trouble rebalanced, and who held it up",
        f"inspect {out / 'log'} --group {busiest} --epochs": "each of its epochs, with causes and evidence",
        "inspect FOLDER": "the same for your own cluster: FOLDER holds copies of __consumer_offsets-*/*.log",
    }
    if not is_lake:
        commands["demo --spark"] = "the same as Delta tables, written by Spark"
    lines = [f"  rebalance-audit {command}\n      {text}\n" for command, text in commands.items()]
    return (
        f"All rebalances are in {out / REPORT}, pictures of each group in {out / PAGE}.\n"
        f"What to look at next:\n\n{''.join(lines)}"
    )
