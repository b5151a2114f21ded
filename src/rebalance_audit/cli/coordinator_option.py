"""Options that name a coordinator: the release to judge by (`--as RELEASE`), and the broker (`--coordinator N`)."""

from collections.abc import Callable, Collection, Mapping
from typing import Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.output import echo
from rebalance_audit.verify.coordinators import DEFAULT, coordinator_named

coordinator: Final = click.option(
    "--as",
    "coordinator",
    type=options.Parsed(coordinator_named),
    default=str(DEFAULT),
    metavar="RELEASE",
    show_default=True,
    help="The release of Kafka that would load the log: 3.3 to 4.4; 3.9 and earlier mean the classic coordinator,"
    " `3.9 new` the new one.",
)
"""The command gets a Coordinator."""
broker: Final = click.option(
    "--coordinator",
    "broker_id",
    type=click.IntRange(min=0),
    metavar="N",
    help="Only the partitions that broker N leads, or led last: it is the coordinator of their groups. Needs the"
    " cluster's metadata log beside the segments, or a live cluster.",
)
"""The command gets `broker_id`."""


def wanted_partitions(
    log_partitions: Collection[int],
    broker_id: int | None,
    read_leaders: Callable[[], Mapping[int, int]] | None,
    present: Collection[int],
) -> Collection[int] | None:
    """The partitions that `--partition` and `--coordinator` name; None for all.

    `read_leaders` gives the leader's broker id by partition; None where the source does not say it. Notes on stderr
    which partitions of the broker are not among `present`. Raises click.BadParameter.
    """
    if broker_id is None:
        return log_partitions or None
    if read_leaders is None:
        raise _not_known("a lake does not say which partitions a broker leads; give --partition.")
    leaders = read_leaders()
    if not leaders:
        raise _not_known(
            "no __cluster_metadata log beside the segments says which partitions a broker leads; give --partition."
        )
    led = [number for number, leader in sorted(leaders.items()) if leader == broker_id]
    here = [number for number in led if number in present]
    if not here:
        brokers = _listed(sorted({*leaders.values()} - {-1}))
        raise _not_known(
            f"broker {broker_id} leads no partition of __consumer_offsets; those that do: {brokers}."
            if not led
            else f"broker {broker_id} leads partitions that are not here: {_listed(led)}."
        )
    if elsewhere := [number for number in led if number not in present]:
        note = f"Broker {broker_id} also leads partitions that are not here: {_listed(elsewhere)}."
        echo(note, err=True)
    return sorted({*here, *log_partitions})


def _listed(numbers: Collection[int]) -> str:
    return ", ".join(map(str, numbers))


def _not_known(why: str) -> click.BadParameter:
    return click.BadParameter(why, param_hint="--coordinator")
