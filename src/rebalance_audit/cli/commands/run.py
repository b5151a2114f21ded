"""`rebalance-audit run`: from a source to the tables of a lake, with Spark."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.input_notes import print_deploy_notes, print_file_notes
from rebalance_audit.cli.invocation import Invocation, bad_arguments, configured
from rebalance_audit.cli.output import HandOut, summarised
from rebalance_audit.cli.progress import progress
from rebalance_audit.cli.times import asked_to_end, rounds
from rebalance_audit.local.given_files import read_broker_logs, read_deploys, read_end_offsets
from rebalance_audit.location import is_catalog
from rebalance_audit.sentences import words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rebalance_audit.audit.deploys.rollout import Rollout
    from rebalance_audit.lake.runs.context import RunReport
    from rebalance_audit.lake.runs.request import RunRequest

EXAMPLES: Final = """\b
Examples:
  rebalance-audit run --source segments:copy-of-log --lake lake
  rebalance-audit run --source delta:copy-of-topic --lake lake --cluster blue
  rebalance-audit run --source segments:copy-of-log --lake lake --layers gold
  rebalance-audit run --source segments:copy-of-log --lake lake --groups '^payments-'
  rebalance-audit run --lake lake
  rebalance-audit run --source kafka:broker-1:9092 --lake lake --every 60
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--source",
    "spec",
    metavar="SPEC",
    help="segments:DIR, segments:URL, kafka:HOST:PORT or delta:PATH. Default: what the bronze layer of the lake holds.",
)
@click.option("--lake", metavar="DIR", help="Folder of the Delta tables; created if it is missing.")
@options.cluster
@click.option(
    "--groups",
    "groups_regex",
    metavar="REGEX",
    help="Only groups whose id contains a match of this Java regular expression.",
)
@options.time_option("--from", "from_ms", text="Only rows that begin at this time or later.")
@options.time_option("--to", "to_ms", text="Only rows that begin before this time.")
@click.option(
    "--full", is_flag=True, help="Rebuild everything instead of continuing from earlier runs."
)
@click.option(
    "--layers",
    type=click.Choice(["all", "gold"]),
    default="all",
    show_default=True,
    help="all: also keep the log in bronze and decoded records in silver.",
)
@options.broker_logs
@options.broker_log_zone
@options.end_offsets
@options.deploys
@options.seconds(
    "--every",
    "every_s",
    text="Keep one Spark session and start a run every SECONDS, until stopped.",
)
@options.seconds("--stop-after", "stop_after_s", text="With --every: start no run after this long.")
@click.option(
    "--explain-run",
    "explain",
    is_flag=True,
    help="Print on stderr what wrote the tables, and how long each step took and how many commits it made.",
)
@summarised("Print the summary as one JSON object; with --every, one per run.")
@configured
def run(
    invocation: Invocation,
    /,
    spec: str | None,
    lake: str | None,
    cluster: str | None,
    broker_logs: tuple[Path, ...],
    broker_log_zone: str | None,
    end_offsets: tuple[Path, ...],
    deploys: tuple[Path, ...],
    every_s: float | None,
    stop_after_s: float | None,
    hand_out: HandOut,
    **flags: Any,
) -> None:
    """Audit a log and write the tables of a lake.

    First ingests new records from --source. Later runs replay only what is new; the tables equal
    those of a full run.

    A run can be repeated, or killed at any point and repeated: the rows come out the same. --from and --to
    limit which rows are written, never what is replayed.

    With --every, later runs cost a fraction of the first, because Spark keeps running. SIGTERM
    stops it after the current run. An error ends the command with the exit code of a single run.
    """
    if stop_after_s is not None and every_s is None:
        raise click.UsageError("--stop-after needs --every.")
    if every_s is not None and flags["full"]:
        raise click.UsageError(
            "--full rebuilds everything: give it to a single run, without --every."
        )
    config = invocation.config_of_lake(
        {"source.spec": spec, "lake.path": lake, "cluster": cluster}, "spark"
    )
    from rebalance_audit.cli import spark  # noqa: PLC0415 - imports Spark

    if deploys and is_catalog(config.lake.path):
        raise click.UsageError(
            "--deploys needs a lake in a folder or at a URL: rebalances are read without Spark."
        )

    def request() -> "tuple[RunRequest, Sequence[Rollout]]":
        # Read again for each run: brokers have logged more since, and there are new segment files.
        zone = broker_log_zone or config.audit.broker_log_time_zone
        with bad_arguments():
            log = read_broker_logs(broker_logs, zone)
            samples = read_end_offsets(end_offsets) if end_offsets else None
            rollouts = read_deploys(deploys)
        print_deploy_notes(rollouts)
        if log is not None:
            print_file_notes([each.outcome() for each in log.files])
        made = spark.run_request_of(config, broker_log=log, end_offsets=samples, **flags)
        return made, rollouts.deploys

    if every_s is None:
        only, given = request()
        with progress() as on_progress:
            report = spark.audit_once(only, config, on_progress, given)
        _explain(report)
        hand_out(shape(only, report), summary(only, report))
        return
    with asked_to_end(continues=True) as asked, progress() as on_progress:
        requests = (request() for _ in rounds(every_s, stop_after_s, asked))
        for made, report in spark.audit_rounds(requests, config, on_progress):
            _explain(report)
            hand_out(shape(made, report), summary(made, report))


def summary(request: "RunRequest", report: "RunReport") -> str:
    """What the run did, in a few lines."""
    counts = report.counts
    where = (
        f"{counts.decoded:,} decoded, {counts.controls:,} transaction markers, {counts.passed_over:,} skipped, "
        f"{counts.quarantined:,} in quarantine"
    )
    lines = [
        f"Run {report.run_id} of {request.source_spec}, cluster {request.cluster}",
        f"{words.counted(counts.read, 'record')} of {words.counted(report.groups, 'group')} read: {where}",
    ]
    if report.resumed:
        lines.append(
            f"{words.counted(report.resumed, 'group')} taken up where an earlier run had come to,"
            f" {report.rebuilt:,} replayed from the first record"
        )
    if counts.damaged_stretches:
        lines.append(
            f"{words.counted(counts.damaged_stretches, 'damaged stretch', 'damaged stretches')} of the files"
            " in quarantine too"
        )
    changed = {table: rows for table, rows in sorted(report.rows.items()) if rows}
    lines.append("Rows that are new or differ from before:" if changed else "No row is new.")
    width = max(map(len, changed), default=0)
    lines += [f"  {table:{width}} {rows:>9,}" for table, rows in changed.items()]
    lines += report.notes
    lines.append(f"Lake: {request.lake}")
    return "\n".join(lines)


def _explain(report: "RunReport") -> None:
    """What each step cost, as a table on stderr, if that was asked for."""
    if not report.costs:
        return
    width = max(len(cost.step) for cost in report.costs)
    click.echo(f"Tables written with {report.writer}.", err=True)
    click.echo(f"{'':{width}}  seconds  commits", err=True)
    for cost in report.costs:
        click.echo(f"{cost.step:{width}}  {cost.seconds:7.1f}  {cost.commits:7,}", err=True)


def shape(request: "RunRequest", report: "RunReport") -> dict[str, Any]:
    """The report of a run as JSON."""
    counts = report.counts
    return {
        "run_id": report.run_id,
        "source": request.source_spec,
        "lake": request.lake,
        "cluster": request.cluster,
        "groups": report.groups,
        "groups_resumed": report.resumed,
        "records": {
            "read": counts.read,
            "decoded": counts.decoded,
            "quarantined": counts.quarantined,
            "control": counts.controls,
            "passed_over": counts.passed_over,
        },
        "damaged_stretches": counts.damaged_stretches,
        "notes": report.notes,
        "rows_changed": report.rows,
        "table_versions": report.versions,
        "seconds": report.seconds,
    }
