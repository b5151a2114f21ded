"""`rebalance-audit ingest`: from a source into the bronze layer of a lake, with Spark."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import Invocation, configured
from rebalance_audit.cli.output import HandOut, summarised
from rebalance_audit.cli.progress import progress
from rebalance_audit.cli.times import asked_to_end
from rebalance_audit.errors import two_partition_counts
from rebalance_audit.sentences import words

if TYPE_CHECKING:
    from rebalance_audit.lake.runs.run import IngestReport, IngestRequest

EXAMPLES: Final = """\b
Examples:
  rebalance-audit ingest --source kafka:broker-1:9092,broker-2:9092 --lake lake --cluster blue
  rebalance-audit ingest --source kafka:broker-1:9092 --lake lake --cluster blue --follow
  rebalance-audit ingest --source segments:copy-of-log --lake lake --cluster blue
  rebalance-audit run --lake lake --cluster blue
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--source",
    "spec",
    metavar="SPEC",
    help="kafka:HOST:PORT,…, segments:DIR, segments:URL or delta:PATH.",
)
@click.option("--lake", metavar="DIR", help="Folder of the Delta tables; created if it is missing.")
@options.cluster
@options.time_option(
    "--from",
    "from_ms",
    text="Start each partition at its first record of this time or later.",
)
@click.option(
    "--start",
    metavar="PLACE",
    help='Where the first ingest of a live cluster begins: earliest, latest, or offsets such as {"0": 1200}.',
)
@click.option(
    "--follow", is_flag=True, help="Keep going: a batch every few seconds, until stopped."
)
@options.seconds("--stop-after", "stop_after_s", text="With --follow: stop after this long.")
@summarised()
@configured
def ingest(
    invocation: Invocation,
    /,
    spec: str | None,
    lake: str | None,
    cluster: str | None,
    start: str | None,
    follow: bool,
    hand_out: HandOut,
    **flags: Any,
) -> None:
    """Append a log to the bronze layer of a lake.

    Kafka compacts its log; bronze keeps every record. Each ingest continues where the previous one
    ended. It can be killed at any point and repeated: no record is lost, and none is stored twice. `run`
    without --source audits what bronze holds.
    """
    config = invocation.config_of_lake(
        {
            "source.spec": spec,
            "source.kafka.start": start,
            "lake.path": lake,
            "cluster": cluster,
        },
        "spark",
    )
    if not config.source.spec:
        raise click.UsageError("No source: give --source kafka:HOST:PORT or --source segments:DIR.")
    from rebalance_audit.cli import spark  # noqa: PLC0415 - imports Spark

    with asked_to_end(continues=follow) as stopped, progress() as on_progress:
        request = spark.ingest_request_of(config, follow=follow, stopped=stopped.is_set, **flags)
        report = spark.ingest_once(request, config, on_progress)
    hand_out(_shape(request, report), "\n".join(_summary(request, report)))


_TROUBLES: Final = {
    "differing": ("record has other bytes than bronze", "records have other bytes than bronze"),
    "damaged_stretches": ("damaged stretch", "damaged stretches"),
    "lost_stretches": (
        "stretch of the log was gone before it was read",
        "stretches of the log were gone before they were read",
    ),
}
"""What is counted of an ingest -> one of it, and several."""


def _summary(request: "IngestRequest", report: "IngestReport") -> Iterator[str]:
    found = report.ingested
    known = f", {found.known:,} that were there already" if found.known else ""
    yield f"Ingest {report.run_id} of {request.source.spec}, cluster {request.cluster}"
    yield f"{words.counted(found.records, 'record')} new in bronze{known}"
    if found.late:
        number, offset = min(found.late.items())
        yield (
            f"Some lie in front of what was there (partition {number} from offset {offset} on): the next run looks at"
            " them too"
        )
    for name, nouns in _TROUBLES.items():
        if count := getattr(found, name):
            yield f"{words.counted(count, *nouns)}: see silver.quarantine"
    if found.added_partitions:
        yield two_partition_counts(found.added_partitions)
    if found.open_transactions:
        number, offset = min(found.open_transactions.items())
        yield (
            f"{words.counted(len(found.open_transactions), 'partition')} with an open transaction"
            f" (partition {number} from offset {offset} on)"
        )
    yield f"Lake: {request.lake}"


def _shape(request: "IngestRequest", report: "IngestReport") -> dict[str, Any]:
    found = report.ingested
    return {
        "run_id": report.run_id,
        "source": request.source.spec,
        "lake": request.lake,
        "cluster": request.cluster,
        "records": {
            "new": found.records,
            "known": found.known,
            "differing": found.differing,
        },
        "damaged_stretches": found.damaged_stretches,
        "lost_stretches": found.lost_stretches,
        "quarantine_rows": found.quarantine_rows,
        "late_from": {str(number): offset for number, offset in sorted(found.late.items())},
        "open_transactions_from": {
            str(number): offset for number, offset in sorted(found.open_transactions.items())
        },
        "added_partitions": [*found.added_partitions],
        "table_versions": dict(report.versions),
    }
