"""`rebalance-audit inspect`: the audit of a folder of segments or of a lake, on the terminal, without Spark."""

import sys
from collections.abc import Iterator
from functools import partial
from typing import Final

import click

from rebalance_audit.audit.rows import DEPLOYS, GOLD_OF_LOG, PROGRESS, TOPICS
from rebalance_audit.cli import options
from rebalance_audit.cli.input_notes import deploys_of_lake, print_input_notes
from rebalance_audit.cli.invocation import configured
from rebalance_audit.cli.paging import paged_console
from rebalance_audit.cli.progress import slow_progress, slow_step
from rebalance_audit.cli.source import LakeSource, Segments, takes_source
from rebalance_audit.cli.tables_json import Brief, Narrowed
from rebalance_audit.cli.times import now_for_people, require_within_log
from rebalance_audit.errors import require_known
from rebalance_audit.local.audit import Given, audit_in_parts
from rebalance_audit.report.terminal.extent import Extent
from rebalance_audit.report.terminal.terminal import (
    print_lake_report,
    print_report,
)
from rebalance_audit.sentences import words
from rebalance_audit.steps import OnProgress
from rebalance_audit.tables.fleet_names import named_in_fleet, with_fleet_names
from rebalance_audit.tables.order import Window

EXAMPLES: Final = """\b
Examples:
  rebalance-audit inspect copy-of-log
  rebalance-audit inspect copy-of-log --group checkout
  rebalance-audit inspect copy-of-log --group checkout --epochs
  rebalance-audit inspect copy-of-log --broker-log broker-1/server.log --broker-log broker-2
  rebalance-audit inspect copy-of-log --from 2026-11-21T03:00Z --to 2026-11-21T04:00Z
  rebalance-audit inspect --lake /data/lake
  rebalance-audit inspect --lake /data/lake --cluster blue
  rebalance-audit inspect copy-of-log --json | jq '.epochs[] | {group_id, epoch, primary_cause}'
"""


@click.command(epilog=EXAMPLES)
@takes_source(options.broker_logs, options.broker_log_zone, options.end_offsets, options.deploys)
@options.groups
@click.option(
    "--epochs",
    "every_epoch",
    is_flag=True,
    help="With --group: every epoch, the newest first, with its causes and the records that show them.",
)
@click.option(
    "--all", "everything", is_flag=True, help="Every row of every table, and every epoch."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: rows by gold table.")
@click.option(
    "--table",
    "names",
    metavar="TABLE",
    multiple=True,
    help="With --json: only this table; may be repeated. `progress` is printed only if it is named.",
)
@options.time_option("--from", "from_ms", text="Only what began at this time or later.")
@options.time_option("--to", "to_ms", text="Only what began before this time.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help="At most N rows of each table: with --json the first in order of its key,"
    " otherwise the longest, most severe or latest.",
)
@click.option(
    "--brief",
    "is_brief",
    is_flag=True,
    help="With --json: one row per group and the most severe findings, a few kilobytes.",
)
@click.option(
    "--versioned",
    "is_versioned",
    is_flag=True,
    help="With --json: also the key schema_version.",
)
@configured
def inspect(
    _invocation: object,
    /,
    source: Segments | LakeSource,
    group_ids: tuple[str, ...],
    every_epoch: bool,
    everything: bool,
    as_json: bool,
    names: tuple[str, ...],
    from_ms: int | None,
    to_ms: int | None,
    limit: int | None,
    is_brief: bool,
    is_versioned: bool,
) -> None:
    """Audit the groups of SEGMENTS in this process and print what happened to them.

    With --lake: print the audit that `run` left in a lake, of all its clusters unless --cluster names one.

    Without --group: all groups and their rebalances. With --group: who held the group up and why, its
    rebalances, its members, and which partitions had no owner.

    Terms: docs/glossary.md.
    """
    if every_epoch and not group_ids:
        raise click.UsageError("--epochs goes with --group.")
    window = Window(from_ms, to_ms)
    narrowed = Narrowed(names, window, limit, is_versioned)
    if (names or is_versioned) and not as_json:
        raise click.UsageError("--table and --versioned go with --json.")
    if window.is_empty:
        raise click.UsageError("--from has to be before --to.")
    if everything and limit is not None and not as_json:
        raise click.UsageError("Give --all or --limit, not both.")
    if is_brief and (not as_json or narrowed != Narrowed()):
        raise click.UsageError("--brief goes with --json alone.")
    wanted = (Brief() if is_brief else narrowed) if as_json else None
    extent = Extent(everything, every_epoch, limit, window)
    if isinstance(source, LakeSource):
        _inspect_lake(source, group_ids, extent, wanted)
        return
    if isinstance(wanted, Narrowed):
        with slow_progress() as on_progress:
            printed = _json(wanted, source, group_ids, on_progress)
        sys.stdout.buffer.writelines(printed)
        return
    audit = source.gold(group_ids)
    require_within_log("--from", from_ms, audit.facts.last_ms)
    if wanted is not None:
        sys.stdout.buffer.write(wanted.json(audit.tables, audit.cluster))
    else:
        with paged_console() as console:
            now_ms = now_for_people()
            print_report(console, audit.tables, audit.facts, group_ids, extent, now_ms)


def _json(
    narrowed: Narrowed, source: Segments, group_ids: tuple[str, ...], on_progress: OnProgress
) -> Iterator[bytes]:
    """The object in pieces to write; its lines are made where the groups are replayed."""
    kept = source.settings._asdict()
    lines = partial(narrowed.lines, cluster=kept.pop("cluster"))
    found = audit_in_parts(
        *(source.path, group_ids, Given(source.broker_logs, **kept)),
        finish=lines,
        with_progress=narrowed.names(PROGRESS),
        on_progress=on_progress,
    )
    narrowed.require((*GOLD_OF_LOG, PROGRESS, *([DEPLOYS] if source.settings.deploys else [])))
    require_within_log("--from", narrowed.window.from_ms, found.facts.last_ms)
    print_input_notes(found.facts)
    return narrowed.joined([*found.parts, lines({TOPICS: found.topics})], found.facts.broker_logs)


def _inspect_lake(
    lake: LakeSource, group_ids: tuple[str, ...], extent: Extent, wanted: Narrowed | Brief | None
) -> None:
    path, clusters = lake.path, lake.clusters()
    is_fleet = len(clusters) > 1
    if is_fleet and isinstance(wanted, Brief):
        raise click.UsageError(
            f"--brief is about one cluster: give --cluster NAME, of {', '.join(clusters)}."
        )
    from rebalance_audit.readers import gold  # noqa: PLC0415 - imports Arrow

    name = None if is_fleet else clusters[0]
    known = gold.group_ids(path, name)
    require_known(group_ids, known)
    ends_ms = [end for each in clusters if (end := gold.log_end_ms(path, each)) is not None]
    end_ms = max(ends_ms, default=None)
    require_within_log("--from", extent.window.from_ms, end_ms)
    with slow_step("reading the lake"):
        tables = gold.gold_tables(path, name, group_ids)
        tables |= deploys_of_lake(path, clusters, lake.deploys, group_ids)
    if wanted is not None:
        sys.stdout.buffer.write(wanted.json(tables, clusters[0]))
    else:
        if is_fleet:
            tables = with_fleet_names(tables)
            group_ids = named_in_fleet(tables["group_states"], group_ids)
        ends = "" if end_ms is None else f"; log ends at {words.utc(end_ms)}"
        which = words.counted(len(clusters), "cluster") if is_fleet else f"cluster {name}"
        heading = f"{path}, {which}{ends}"
        with paged_console() as console:
            print_lake_report(console, tables, heading, group_ids, extent, end_ms)
