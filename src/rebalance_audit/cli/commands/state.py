"""`rebalance-audit state`: groups, members, assignments and offsets at a moment, as tables or JSON."""

import re
import sys
from typing import Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import configured
from rebalance_audit.cli.output import document
from rebalance_audit.cli.paging import paged_console
from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.source import LakeSource, Segments, takes_source
from rebalance_audit.cli.times import require_within_log
from rebalance_audit.local.packed_log import open_log
from rebalance_audit.local.state import segment_state
from rebalance_audit.report.terminal.state_table import print_state
from rebalance_audit.sentences import words

EXAMPLES: Final = """\b
Examples:
  rebalance-audit state copy-of-log | jq '.groups[] | {group_id, state}'
  rebalance-audit state copy-of-log --group checkout
  rebalance-audit state --lake /data/lake --cluster blue --at 2026-11-21T03:12Z
"""

_NUMBERS: Final = re.compile(rb"\[\s+-?\d+(?:,\s+-?\d+)*\s+\]")


@click.command(epilog=EXAMPLES)
@takes_source()
@options.groups
@options.time_option("--at", "at_ms", text="As of this time. [default: the end of the log]")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object, as into a file or pipe.",
)
@configured
def state(
    _invocation: object,
    /,
    source: Segments | LakeSource,
    group_ids: tuple[str, ...],
    at_ms: int | None,
    as_json: bool,
) -> None:
    """Print groups as of a point in time: state, members, assignments, committed offsets.

    Reads SEGMENTS, or a lake, which keeps what Kafka has compacted away. Prints tables to a
    terminal, and one JSON object with --json or to a file or pipe. Types, states and assignors are spelled as in
    Kafka's describe commands; a topic whose name is not in the log is shown by its id. Terms: docs/glossary.md.
    """
    if isinstance(source, Segments):
        with slow_step("replaying the log"):
            found = segment_state(open_log(source.path), group_ids, at_ms)
    else:
        cluster = source.one_cluster(group_ids[0] if len(group_ids) == 1 else None)
        from rebalance_audit.readers.state import lake_state  # noqa: PLC0415 - imports Arrow

        with slow_step("reading the lake"):
            found = lake_state(source.path, cluster, group_ids, at_ms)
    if not found.has_later:
        require_within_log("--at", at_ms, found.last_ms)
    if found.undecodable:
        click.echo(
            f"Left out: {words.counted(found.undecodable, 'record')} that could not be decoded;"
            " `decode` prints those of segments with the reason.",
            err=True,
        )
    moment_ms = found.last_ms if at_ms is None else at_ms
    if as_json or not sys.stdout.isatty():
        shape = document({"at": words.iso(moment_ms), "groups": found.groups})
        # Partition numbers on one line; only structure has line breaks, in strings they are escaped.
        sys.stdout.buffer.write(_NUMBERS.sub(lambda found: b"".join(found[0].split()), shape))
        return
    with paged_console() as console:
        print_state(
            console,
            found.groups,
            moment_ms,
            is_log_end=at_ms is None,
            with_members=bool(group_ids),
        )
