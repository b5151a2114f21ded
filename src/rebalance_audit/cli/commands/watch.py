"""`rebalance-audit watch`: each rebalance of a live cluster, or of a broker's log folder, as it happens."""

import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rebalance_audit.audit.lag.end_offsets import no_end_offsets
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import Invocation, configured
from rebalance_audit.cli.live_source import live_source
from rebalance_audit.cli.live_watch import LagRounds, Watch
from rebalance_audit.cli.output import echo
from rebalance_audit.cli.source import LIVE, SEGMENTS, Segments, takes_source
from rebalance_audit.cli.tables_json import row_for_programs
from rebalance_audit.cli.times import asked_to_end, clock_ms
from rebalance_audit.cli.watch_cursor import WatchCursor
from rebalance_audit.cli.watch_screen import WatchScreen
from rebalance_audit.cli.watched_groups import Sample, WatchedGroups
from rebalance_audit.live_cluster.poller import EndOffsetPoller, Poller
from rebalance_audit.local.live.live_audit import GroupUpdate, LiveAudit
from rebalance_audit.report.answer import opening_sentence, rebalance_sentence
from rebalance_audit.report.terminal.console import stdout_console
from rebalance_audit.sentences import words
from rebalance_audit.steps import OnProgress
from rebalance_audit.tables.json_values import JSON_VERSION, json_bytes
from rebalance_audit.visible import visible

if TYPE_CHECKING:
    from rebalance_audit.readers.live_metrics import LiveMetrics

STATES_S: Final = 5.0
"""Between two questions to coordinators, what state their groups are in."""
METRICS_S: Final = 1.0
"""Between two states of the metrics."""
LAGGING_SHOWN: Final = 10
"""Lines of text about groups that lag, for each sample."""
RECENT_MS: Final = 600_000
"""Rebalances that ended so long before the start are printed, unless --since says otherwise."""

EXAMPLES: Final = """\b
Examples:
  rebalance-audit watch kafka:broker-1:9092
  rebalance-audit watch kafka:broker-1:9092 --group checkout --since -1d
  rebalance-audit watch /var/lib/kafka/data
  rebalance-audit watch kafka:broker-1:9092 --screen
  rebalance-audit watch kafka:broker-1:9092 --metrics-port 9187 --lag 15
  rebalance-audit watch kafka:broker-1:9092 --json | jq -r .sentence

\b
Ctrl-C or SIGTERM ends it with exit code 0.
"""


@click.command(epilog=EXAMPLES)
@takes_source(reads=(SEGMENTS, LIVE))
@options.groups
@options.time_option(
    "--since",
    "since_ms",
    text="Print rebalances that ended at this time or later. [default: the last ten minutes]",
)
@options.path(
    "--state", "state_file", text="Keep the position in FILE, and resume from it after a restart."
)
@click.option("--json", "as_json", is_flag=True, help="One line of JSON per rebalance.")
@click.option(
    "--screen",
    "on_screen",
    is_flag=True,
    help="Full-screen view of the groups, worst first, instead of lines.",
)
@click.option(
    "--metrics-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve Prometheus metrics on this port; 0 picks a free one.",
)
@click.option(
    "--metrics-address",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Address to serve them on; 0.0.0.0 for all interfaces.",
)
@click.option(
    "--metrics-host",
    "metrics_hosts",
    metavar="NAME",
    multiple=True,
    help="Another host name that scrapers may use for this machine; may be repeated.",
)
@options.seconds(
    "--lag",
    "lag_every_s",
    text="Sample end offsets of what members commit this often, and print lag and commit rate by group and owner.",
)
@options.groups_max
@configured
def watch(
    invocation: Invocation,
    /,
    source: Segments,
    group_ids: tuple[str, ...],
    since_ms: int | None,
    state_file: Path | None,
    as_json: bool,
    on_screen: bool,
    metrics_port: int | None,
    metrics_address: str,
    metrics_hosts: tuple[str, ...],
    lag_every_s: float | None,
    groups_max: int,
) -> None:
    """Print and explain each rebalance of SEGMENTS as it ends.

    SEGMENTS is a broker's log folder, a copy that grows, or kafka:HOST:PORT, a live cluster.
    It only reads: it joins no group and commits no offset.

    The log is read from its beginning, so that everything in it is known. If a later record
    changes what is known about a printed rebalance, one more line says so.
    """
    if on_screen and (as_json or not sys.stdout.isatty()):
        raise click.UsageError("--screen goes with a terminal, and not with --json.")
    spec, settings = source.spec, source.settings
    live = live_source(invocation, spec)
    poller = None
    if lag_every_s is not None:
        if live.sample_end_offsets is None:
            raise click.UsageError("--lag needs a live cluster: kafka:HOST:PORT.")
        sampled_max = live.sampled_partitions_max
        poller = EndOffsetPoller(live.sample_end_offsets, lag_every_s, sampled_max)
    names = live.names
    audit_options = AuditOptions(
        topic_name=names.name_of,
        rules=settings.departure_rules,
        topic_deleted_at=names.deleted_at_ms,
        topic_lives=names.lives_of,
        topic_shapes=names.shapes_of,
        findings=settings.finding_rules,
        end_offsets=no_end_offsets if poller is None else poller.of,
    )
    since_ms = clock_ms() - RECENT_MS if since_ms is None else since_ms
    cursor = None if state_file is None else WatchCursor(state_file, spec, since_ms)
    if cursor is not None:
        since_ms = cursor.since_ms
    audit = LiveAudit(
        audit_options,
        names,
        group_ids,
        since_ms,
        sees_markers=live.shows_markers,
        with_lag=poller is not None,
    )
    cluster_name = settings.cluster
    printer, groups = UpdatePrinter(cluster_name, as_json=as_json), WatchedGroups(cluster_name)
    try:
        with ExitStack() as held:
            asked = held.enter_context(asked_to_end(continues=True, by_ctrl_c=True))
            screen = WatchScreen(spec, groups) if on_screen else None
            note = _notes(invocation) if screen is None else screen.note
            metrics, metrics_due = None, 0.0
            if metrics_port is not None:
                metrics = held.enter_context(
                    _metrics(metrics_address, metrics_port, metrics_hosts, note)
                )
            shown = None if screen is None else held.enter_context(screen.shown(stdout_console()))
            if screen is not None:
                printer.say = screen.ended
            watched = Watch(live, audit, note)
            lags = None if poller is None else LagRounds(held.enter_context(poller), note)
            states = None
            if live.group_states is not None:
                states = held.enter_context(Poller(live.group_states, STATES_S))
                states.start()
            for updates in watched.updates(asked):
                groups.take(updates)
                if states is not None and watched.is_at_end:
                    if not printer.has_opened:
                        states.await_first(STATES_S)
                    groups.hear(states.newest)
                if watched.is_at_end and not printer.has_opened:
                    printer.open(
                        opening_sentence(groups.tables(since_ms), since_ms, audit.log_end_ms)
                    )
                fresh = updates if cursor is None else cursor.unreported(updates)
                printer.print(fresh)
                if cursor is not None:
                    cursor.keep(fresh)
                if lags is not None and watched.is_at_end and lags.take(audit):
                    groups.lags = lags.of_group
                    if screen is None:
                        printer.print_lags(lags, groups_max)
                if screen is not None and shown is not None:
                    if watched.reads and watched.is_at_end:
                        screen.note("")
                    screen.log_end_ms = audit.log_end_ms
                    screen.refresh(shown)
                if metrics is not None:
                    metrics.is_ready = watched.reads and watched.is_at_end
                if metrics is not None and time.monotonic() >= metrics_due:
                    metrics_due = time.monotonic() + METRICS_S
                    metrics.take(
                        [*groups.samples(groups_max), *_of_watch(watched, audit, cluster_name)]
                    )
    finally:
        live.log.close()
    printer.say = echo
    printer.end(watched.unread_since_ms)
    if audit.log_end_ms is not None:
        since = "" if cursor is not None else f" with --since {words.iso(audit.log_end_ms)}"
        _notes(invocation)(f"To go on from here: the same command{since}")


@contextmanager
def _metrics(
    address: str, port: int, hosts: Collection[str], note: OnProgress
) -> Iterator["LiveMetrics"]:
    """The endpoint. Raises BadRequest."""
    from rebalance_audit.readers.live_metrics import LiveMetrics, served  # noqa: PLC0415 - imports the client

    metrics = LiveMetrics()
    with served(metrics, address, port, hosts) as at_port:
        note(f"Metrics at http://{address}:{at_port}/metrics")
        yield metrics


def _of_watch(watched: Watch, audit: LiveAudit, cluster: str) -> Iterator[Sample]:
    """How the watching itself fares."""
    labels = {"cluster": cluster}
    yield "watch_reads_the_log", labels, int(watched.reads)
    if audit.log_end_ms is not None:
        yield "watch_log_end_timestamp_seconds", labels, audit.log_end_ms / 1000


class UpdatePrinter:
    """Prints one line per rebalance."""

    def __init__(self, cluster: str, *, as_json: bool) -> None:
        self._cluster = cluster
        self._as_json = as_json
        self.say: Callable[[str], None] = echo
        """Takes each line."""
        self._printed = 0
        self._going_on: set[str] = set()
        self.has_opened = as_json
        """Whether the verdict has been printed; the lines for programs are rebalances alone."""

    def open(self, sentence: str) -> None:
        """The first line: the verdict on what the log held at the start."""
        self.has_opened = True
        self._print(sentence)
        sys.stdout.flush()

    def print(self, updates: list[GroupUpdate]) -> None:
        """The rebalances of one round, in order of their end."""
        found = []
        for group in updates:
            (self._going_on.add if group.open else self._going_on.discard)(group.group_id)
            found += [(row["ended_at"] or 0, group, row, times) for row, times in group.ended]
        for _, group, row, times in sorted(found, key=lambda each: each[0]):
            self._printed += times == 0
            sentence = rebalance_sentence(row, group.tables, times)
            self._print(self._shape(group, row, times, sentence) if self._as_json else sentence)
        if found:
            sys.stdout.flush()

    def print_lags(self, lags: LagRounds, groups_max: int) -> None:
        """The groups that lag, most first; for programs in one line."""
        found = sorted(lags.of_group.values(), key=lambda group: -group.total.records.least)
        if self._as_json:
            groups = [group.columns() for group in found[:groups_max]]
            self._print({"schema_version": JSON_VERSION, "event": "lag", "groups": groups})
        else:
            for group in found[:LAGGING_SHOWN]:
                if group.total.records.least:
                    self._print(group.sentence())
        sys.stdout.flush()

    def end(self, unread_since_ms: int | None) -> None:
        """The last line; `unread_since_ms`: since when the log could not be read (epoch ms)."""
        printed, still = words.counted(self._printed, "rebalance"), len(self._going_on)
        if self._as_json:
            last = {"schema_version": JSON_VERSION, "event": "end"}
            counts = {"rebalances": self._printed, "going_on": still}
            self._print({**last, **counts, "unread_since": words.iso(unread_since_ms)})
        elif unread_since_ms is None:
            self._print(f"Watched until now: {printed}, {still:,} still going on.")
        else:
            lost = f"{words.utc(unread_since_ms)}, since when the log could not be read"
            self._print(f"Watched until {lost}: {printed}, {still:,} still going on then.")

    def _shape(
        self, group: GroupUpdate, row: dict[str, Any], times: int, sentence: str
    ) -> dict[str, Any]:
        return {
            "schema_version": JSON_VERSION,
            "event": "rebalance",
            "times_reported": times,
            "may_change": row not in group.settled,
            "sentence": sentence,
            "rebalance": row_for_programs("rebalances", row, self._cluster),
            "causes": [
                row_for_programs("rebalance_causes", cause, self._cluster)
                for cause in group.causes_of(row)
            ],
        }

    def _print(self, what: str | dict[str, Any]) -> None:
        self.say(visible(what) if isinstance(what, str) else json_bytes(what).decode())


def _notes(invocation: Invocation) -> OnProgress:
    """Progress and troubles go to stderr as lines: they would mingle with the rebalances otherwise."""

    def note(note: str) -> None:
        if not invocation.quiet:
            echo(f"{words.clock(clock_ms())}  {visible(note)}", err=True)

    return note
