"""`rebalance-audit simulate`: a log with the truth about it."""

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import debug_option
from rebalance_audit.cli.options import Decorated
from rebalance_audit.cli.output import HandOut, summarised
from rebalance_audit.cli.progress import slow_step, wants_quiet
from rebalance_audit.coordinator.handling import Dialect
from rebalance_audit.sim.options import (
    BEFORE_SHARE_AND_STREAMS,
    START_MS,
    Overrides,
    Protocol,
    draw_options,
    option_lines,
)
from rebalance_audit.sim.scenario import Simulation

WITHOUT_MIGRATION = frozenset({Dialect.R3_7, Dialect.R3_9})
SHARE_AND_STREAMS = frozenset({Protocol.SHARE, Protocol.STREAMS})

EXAMPLES = """\b
Examples:
  rebalance-audit simulate --seed 7 --out log && rebalance-audit inspect log
  rebalance-audit simulate --seed 7 --out day --minutes 1440 --groups 200 --members 5 \\
    --faults-per-day 4 --commit-interval 60
  rebalance-audit simulate --seed 7 --out load --groups 3 --commits-per-minute 1000000
"""


def _choice(name: str, kind: type[Enum], text: str) -> Callable[[Decorated], Decorated]:
    """An option whose value is a member of an enumeration, by its value."""
    return click.option(
        name,
        type=click.Choice([each.value for each in kind]),
        callback=lambda _ctx, _param, value: None if value is None else kind(value),
        help=text,
    )


@click.command(epilog=EXAMPLES)
@click.option("--seed", type=int, required=True, help="Seed of everything that no option sets.")
@options.path(
    "--out",
    metavar="DIR",
    required=True,
    text="Folder for segments and truth.jsonl; it must be new or empty.",
)
@click.option("--minutes", type=click.IntRange(1), metavar="M", help="Minutes with faults.")
@click.option("--groups", type=click.IntRange(1), metavar="G", help="Number of groups.")
@click.option("--members", type=click.IntRange(1), metavar="K", help="Members of each group.")
@_choice("--dialect", Dialect, "Kafka release of the simulated coordinator.")
@click.option(
    "--partitions", type=click.IntRange(1), metavar="P", help="Partitions of __consumer_offsets."
)
@click.option(
    "--commits-per-minute",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Additional offset commits per minute, as load.",
)
@click.option(
    "--commit-interval",
    "commit_interval_ms",
    type=click.FloatRange(0),
    callback=lambda _ctx, _param, seconds: None if seconds is None else round(seconds * 1_000),
    metavar="SECONDS",
    help="Time between commits of members and committers; 0: no commits.",
)
@click.option("--faults/--no-faults", default=True, help="Inject faults.")
@click.option(
    "--faults-per-day",
    type=click.FloatRange(0),
    metavar="N",
    help="Faults per group and day, on a network without loss: for long runs.",
)
@_choice("--protocol", Protocol, "Protocol of all members.")
@click.option(
    "--topic-partitions", type=click.IntRange(1), metavar="P", help="Partitions of every topic."
)
@click.option(
    "--broker-log/--no-broker-log",
    default=True,
    help="Write the brokers' log, OUT/server.log.",
)
@summarised()
@debug_option
def simulate(
    hand_out: HandOut,
    seed: int,
    out: Path,
    broker_log: bool,
    **given: Any,
) -> None:
    """Simulate brokers and clients; write their log and the truth about it.

    The same seed and options give the same bytes. OUT gets __consumer_offsets-P/*.log,
    __cluster_metadata-0/*.log, server.log and truth.jsonl: every epoch with its real cause and
    times, every member's end, every use of a partition. After the minutes with faults, all faults are
    healed and every group must become stable.
    """
    if out.exists() and any(out.iterdir()):
        raise click.BadParameter(f"{out} is not empty.", param_hint="--out")
    overrides = Overrides(**given)
    if overrides.faults_per_day is not None and not overrides.faults:
        raise click.UsageError("--faults-per-day and --no-faults exclude each other.")
    options = draw_options(seed, overrides)
    dialect, protocol = options.coordinator.dialect, overrides.protocol
    missing = ""
    if dialect in WITHOUT_MIGRATION and protocol is Protocol.MIGRATING:
        missing = "migration"
    elif dialect in BEFORE_SHARE_AND_STREAMS and protocol in SHARE_AND_STREAMS:
        missing = f"{protocol.value} groups"
    if missing:
        raise click.BadParameter(f"{dialect.value} has no {missing}.", param_hint="--protocol")
    if not wants_quiet():
        click.echo("\n".join(option_lines(options)), err=True)
    simulation = Simulation(seed, options, with_broker_log=broker_log, folder=out)
    try:
        with slow_step("simulating"):
            simulation.run()
    except Exception:
        click.echo(f"Seed {seed} failed; {out} has the log and the truth up to there.", err=True)
        raise
    finally:
        simulation.write(out)
    seconds = (simulation.scheduler.now_ms - START_MS) // 1000
    records = sum(served.log.next_offset for served in simulation.cluster.partitions.values())
    summary = {
        "out": str(out),
        "seed": seed,
        "records": records,
        "partitions": len(simulation.cluster.partitions),
        "groups": len(options.groups),
        "epochs": len(simulation.truth.epochs()),
        "simulated_seconds": seconds,
        "events": simulation.scheduler.executed,
    }
    text = (
        f"{out}: {records:,} records in {summary['partitions']} partition(s), "
        f"{summary['epochs']:,} epochs of {summary['groups']} group(s), "
        f"{seconds:,} simulated seconds, {summary['events']:,} events."
    )
    hand_out(summary, text)
