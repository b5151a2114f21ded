"""`rebalance-audit recover`: a plan to restore the offsets of groups after a coordinator partition failed to load."""

from pathlib import Path
from typing import Final

import click

from rebalance_audit.cli import coordinator_option, options
from rebalance_audit.cli.invocation import bad_arguments, configured
from rebalance_audit.cli.output import HandOut, document, summarised
from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.source import SEGMENTS, Segments, takes_source
from rebalance_audit.local.packed_log import open_log
from rebalance_audit.recover.plan import plan_for, planned_partitions
from rebalance_audit.recover.plan_files import plan_shape, plan_summary, write_plan
from rebalance_audit.sentences import words
from rebalance_audit.verify.coordinators import Coordinator
from rebalance_audit.wire.metadata_log import read_leaders

EXAMPLES: Final = """\b
Examples:
  rebalance-audit recover copy-of-log --out plan
  rebalance-audit recover copy-of-log --out plan --as 3.9
  rebalance-audit recover copy-of-log --out plan --partition 3
"""


@click.command(epilog=EXAMPLES)
@takes_source(reads=(SEGMENTS,))
@options.path(
    "--out",
    metavar="DIR",
    cls=options.NeededOption,
    required=True,
    text="Folder for the plan; it must be new or empty.",
)
@coordinator_option.coordinator
@options.log_partitions(
    "Plan for the groups in this partition of __consumer_offsets, even if it loads"
)
@coordinator_option.broker
@summarised()
@configured
def recover(
    _invocation: object,
    /,
    source: Segments,
    hand_out: HandOut,
    *,
    out: Path,
    coordinator: Coordinator,
    log_partitions: tuple[int, ...],
    broker_id: int | None,
) -> None:
    """Write a plan to restore offsets after the group coordinator failed to load a partition.

    Reads SEGMENTS, a copy of the damaged partition. Writes to DIR the last certain offsets of each group, as
    files for `kafka-consumer-groups --reset-offsets --from-file`, the uncertain ones separately, and README.md
    with the commands in order. It never writes to a cluster; without damage it writes nothing.
    How to use the plan: docs/recover.md.
    """
    if out.exists() and any(out.iterdir()):
        raise click.BadParameter(f"{out} is not empty.", param_hint="--out")
    with bad_arguments(), slow_step("loading the log as the coordinator does"):
        folder = open_log(source.path)
        led = coordinator_option.wanted_partitions(
            (), broker_id, lambda: read_leaders(folder), folder.segments
        )
        found = [*planned_partitions(folder, coordinator, log_partitions, led or ())]
    plan = plan_for(found, str(coordinator))
    names = write_plan(out, plan, document(plan_shape(plan))) if found else []
    summary = {
        "out": str(out) if found else None,
        "release": plan.release,
        "partitions": [each.account.log_partition for each in found],
        "groups": plan.group_count,
        "certain": plan.certain_count,
        "uncertain": plan.uncertain_count,
        "left_out": len(plan.left_out),
        "files": names,
    }
    text = (
        f"{out}: {words.counted(len(found), 'partition')}, {plan_summary(plan)}\nNext: {out / 'README.md'}"
        if found
        else f"Every partition that was read loads on Kafka {coordinator}: no plan is needed. `verify` says whether any"
        " loads only in part; for a plan anyway, pass --partition N."
    )
    hand_out(summary, text)
