"""`rebalance-audit decode`: every record of the log as a line of JSON."""

import sys
from typing import Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import bad_arguments, debug_option
from rebalance_audit.cli.progress import slow_progress
from rebalance_audit.cli.source import SEGMENTS, path_of
from rebalance_audit.local.decode import decoded_lines, record_filter, record_type_of
from rebalance_audit.local.packed_log import open_log
from rebalance_audit.sentences import words

EXAMPLES: Final = """\b
Examples:
  rebalance-audit decode copy-of-log > records.jsonl
  rebalance-audit decode copy-of-log --group checkout --type GroupMetadata
  rebalance-audit decode copy-of-log --type control --from 2026-11-21T03:00Z
  rebalance-audit decode copy-of-log | jq 'select(.error)'
"""


@click.command(epilog=EXAMPLES)
@click.argument("segments", metavar=SEGMENTS, type=click.Path())
@options.groups
@click.option(
    "--type",
    "record_types",
    type=options.Parsed(record_type_of),
    multiple=True,
    metavar="TYPE",
    help="Only records of this type, by number or name; `control` for transaction markers. May be repeated.",
)
@options.log_partitions("Only this partition of __consumer_offsets")
@options.time_option("--from", "from_ms", text="Only records of this time or later.")
@options.time_option("--to", "to_ms", text="Only records before this time.")
@options.errors_as_json
@debug_option
def decode(
    segments: str,
    group_ids: tuple[str, ...],
    record_types: tuple[int | str, ...],
    log_partitions: tuple[int, ...],
    from_ms: int | None,
    to_ms: int | None,
) -> None:
    """Print every record of SEGMENTS as one line of JSON, by partition and offset.

    A line has partition, offset, timestamp, leaderEpoch, key {type, data} and value {version, data},
    or null for a tombstone, with data as Kafka's JSON converters print it. A transaction marker
    has control in place of key and value. A record that cannot be decoded has error
    and its raw bytes in base64.
    """
    folder = open_log(path_of(segments))
    wanted = record_filter(group_ids, record_types, from_ms, to_ms)
    written, shows_progress = 0, not sys.stdout.isatty()
    with bad_arguments(), slow_progress() as on_progress:
        for lines in decoded_lines(folder, wanted, log_partitions):
            sys.stdout.buffer.write(lines)
            written += len(lines)
            if shows_progress:
                on_progress(f"decoded: {words.size(written)} of JSON")
    if not written:
        click.echo("No record of this log matches.", err=True)
