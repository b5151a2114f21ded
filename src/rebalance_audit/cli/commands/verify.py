"""`rebalance-audit verify`: whether the coordinator of a release would load the log, and what is lost if not."""

from collections.abc import Iterator
from typing import Any, Final

import click

from rebalance_audit.cli import coordinator_option, exit_codes
from rebalance_audit.cli.invocation import bad_arguments, configured
from rebalance_audit.cli.source import SEGMENTS, Segments, takes_source
from rebalance_audit.cli.summaries import HandOut, summarised
from rebalance_audit.local.packed_log import open_log
from rebalance_audit.sentences import words
from rebalance_audit.verify.coordinators import Coordinator
from rebalance_audit.verify.loading import Loading, Notice, Verification
from rebalance_audit.verify.log import verify_folder
from rebalance_audit.visible import shortened, visible

EXAMPLES: Final = """\b
Examples:
  rebalance-audit verify copy-of-log
  rebalance-audit verify copy-of-log --as 3.9
  rebalance-audit verify copy-of-log --partition 3 --json
"""


@click.command(epilog=EXAMPLES)
@takes_source(reads=(SEGMENTS,))
@coordinator_option.coordinator
@click.option(
    "--partition",
    "log_partitions",
    type=click.IntRange(min=0),
    multiple=True,
    metavar="N",
    help="Only this partition of __consumer_offsets; may be repeated.",
)
@summarised("Print one JSON object.")
@configured
@click.pass_context
def verify(
    ctx: click.Context,
    _invocation: object,
    /,
    source: Segments,
    coordinator: Coordinator,
    log_partitions: tuple[int, ...],
    hand_out: HandOut,
) -> None:
    """Verify that Kafka's group coordinator would load the log.

    For each partition of __consumer_offsets: whether the coordinator of a release loads it, skips records, or fails,
    at which offset and why; which groups the partition takes with it, with their last committed offsets.
    """
    with bad_arguments("--partition"):
        found = verify_folder(open_log(source.path), coordinator, log_partitions or None)
    hand_out(_shape(found), "\n".join(_lines(found)))
    if found.outcome != "loads":
        ctx.exit(exit_codes.CHECK_FAILED)


def _shape(found: Verification) -> dict[str, Any]:
    return {
        "release": found.coordinator.release,
        "coordinator": found.coordinator.kind,
        "outcome": found.outcome,
        "partitions": [_partition(loading) for loading in found.partitions],
    }


def _partition(loading: Loading) -> dict[str, Any]:
    return {
        "partition": loading.log_partition,
        "outcome": loading.outcome,
        "failure": None if loading.failure is None else _notice(loading.failure),
        "serves_nothing": loading.serves_nothing,
        "records": loading.record_count,
        "skipped": loading.skipped_count,
        "first_skipped": [_notice(each) for each in loading.skipped],
        "tolerated": loading.tolerated_count,
        "first_tolerated": [_notice(each) for each in loading.tolerated],
        "lost_groups": [
            {
                "group_id": group.group_id,
                "type": group.group_type,
                "members": group.member_count,
                "offsets": {
                    topic: {str(number): at for number, at in of_topic.items()}
                    for topic, of_topic in group.offsets.items()
                },
            }
            for group in loading.lost_groups
        ],
        "open_transactions": [
            {**each._asdict(), "group_ids": list(each.group_ids)}
            for each in loading.open_transactions
        ],
        "damage": [each._asdict() for each in loading.damage],
    }


def _notice(notice: Notice) -> dict[str, Any]:
    return {
        "rule": notice.rule_id,
        "offset": notice.log_offset,
        "record_type": notice.record_type,
        "group_id": notice.group_id,
        "detail": notice.detail,
        "source": notice.applied.case.source,
    }


def _lines(found: Verification) -> Iterator[str]:
    kafka = f"Kafka {found.coordinator}"
    wrong = [loading for loading in found.partitions if loading.outcome != "loads"]
    if not wrong:
        yield f"{words.counted(len(found.partitions), 'partition')} would load on {kafka}."
    for loading in wrong:
        yield f"Partition {loading.log_partition} {_verdict(loading, kafka)}"
    for loading in found.partitions:
        for notice in (*loading.skipped, *loading.tolerated):
            of_group = "" if notice.group_id is None else f", group {shortened(notice.group_id)}"
            yield visible(
                f"Partition {loading.log_partition}, offset {notice.log_offset}{of_group}:"
                f" {notice.applied.case.effect}: {notice.detail} ({notice.rule_id})"
            )


def _verdict(loading: Loading, kafka: str) -> str:
    if loading.failure is None:
        return f"may not load on {kafka}: it is damaged."
    lost = words.counted(len(loading.lost_groups), "group")
    return visible(
        f"would not load on {kafka}: {loading.failure.detail}, at offset {loading.failed_at_offset};"
        f" it takes {lost} with it."
    )
