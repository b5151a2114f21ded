"""`rebalance-audit verify`: whether the coordinator of a release would load the log, and what is lost if not."""

import sys
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import click

from rebalance_audit.cli import coordinator_option, exit_codes, options
from rebalance_audit.cli.invocation import Invocation, bad_arguments, configured
from rebalance_audit.cli.output import HandOut, summarised
from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.source import (
    KAFKA,
    LAKE,
    LIVE,
    SEGMENTS,
    LakeSource,
    Segments,
    takes_source,
)
from rebalance_audit.local.live.growth import Break
from rebalance_audit.local.packed_log import open_log
from rebalance_audit.report.terminal.console import stdout_console
from rebalance_audit.report.terminal.verification import print_verification
from rebalance_audit.sentences import words
from rebalance_audit.verify.coordinators import Coordinator
from rebalance_audit.verify.loading import GroupAtEnd, Loading, Notice, Verification
from rebalance_audit.verify.partition_load import (
    PartitionLoad,
    chosen_partitions,
    load_partition,
    verify_folder,
)
from rebalance_audit.verify.shape import load_time_of
from rebalance_audit.wire.metadata_log import read_leaders
from rebalance_audit.wire.segments.columns import ColumnChunk
from rebalance_audit.wire.segments.folder import SourceNotReadable

EXAMPLES: Final = """\b
Examples:
  rebalance-audit verify copy-of-log
  rebalance-audit verify copy-of-log --as 4.3
  rebalance-audit verify copy-of-log --partition 3 --json
  rebalance-audit verify copy-of-log --coordinator 1
  rebalance-audit verify kafka:broker:9092

\b
Exit codes: 0 loads every record; 4 fails, skips records, never reads some or is
not known to load; 2 and 3 as for every command.
"""
NOT_IN_A_LAKE: Final = (
    "batches",
    "checksums",
    "records that the cleaner removed before they were read",
)
_ROUNDS_WITHOUT_ANSWER: Final = 40
_Wanted: TypeAlias = Callable[
    [Callable[[], Mapping[int, int]] | None, Collection[int]], Collection[int] | None
]
"""`wanted_partitions` without the options."""


@click.command(epilog=EXAMPLES)
@takes_source(reads=(SEGMENTS, LAKE, LIVE))
@coordinator_option.coordinator
@options.log_partitions("Only this partition of __consumer_offsets, with all its groups")
@coordinator_option.broker
@summarised("Print one JSON object.")
@configured
@click.pass_context
def verify(
    ctx: click.Context,
    invocation: Invocation,
    /,
    source: Segments | LakeSource,
    coordinator: Coordinator,
    log_partitions: tuple[int, ...],
    broker_id: int | None,
    hand_out: HandOut,
) -> None:
    """Verify that Kafka's group coordinator would load the log.

    For each partition of __consumer_offsets: whether the coordinator of a release loads it, skips records, or fails,
    at which offset and why; which groups it takes with it, with their last committed offsets; open transactions;
    records that are applied although something is lost; size, age and shape. If a batch is damaged, it shows both what
    the loader does after a clean shutdown and what is left after a crash, when the broker truncates the log first.

    It checks the log itself, before any audit; `check` checks the tables of a lake. A lake or a live cluster
    shows no batches or checksums: these are reported as unknown. docs/verify.md has more.
    """
    wanted = partial(coordinator_option.wanted_partitions, log_partitions, broker_id)
    with slow_step("verifying"), bad_arguments("--partition"):
        if isinstance(source, LakeSource):
            loadings = _of_lake(source, coordinator, wanted)
            found = Verification(coordinator, tuple(loadings), NOT_IN_A_LAKE)
        elif source.spec.startswith(KAFKA):
            loadings = _of_kafka(invocation, source.spec, coordinator, wanted)
            found = Verification(coordinator, tuple(loadings), NOT_IN_A_LAKE)
        else:
            folder = open_log(source.path)
            numbers = wanted(lambda: read_leaders(folder), folder.segments)
            found = verify_folder(folder, coordinator, numbers, with_groups=numbers is not None)
    hand_out(_document(found), lambda: print_verification(stdout_console(), found))
    sys.stdout.flush()
    if found.loses:
        ctx.exit(exit_codes.CHECK_FAILED)


def _of_lake(source: LakeSource, coordinator: Coordinator, wanted: _Wanted) -> list[Loading]:
    from rebalance_audit.readers.state import BronzeLog  # noqa: PLC0415 - imports Arrow

    log = BronzeLog(source.path, source.one_cluster())
    present = log.log_partitions()
    asked = wanted(None, present)
    return [
        load_partition(log.chunks(number), coordinator, number, with_groups=asked is not None)
        for number in chosen_partitions(present, asked)
    ]


def _of_kafka(
    invocation: Invocation, spec: str, coordinator: Coordinator, wanted: _Wanted
) -> list[Loading]:
    from rebalance_audit.cli.live_source import live_source  # noqa: PLC0415 - imports the client

    source = live_source(invocation, spec)
    log, leaders = source.log, source.leaders or {}
    asked = wanted(lambda: leaders, leaders)
    loads: dict[int, PartitionLoad] = {}
    present: set[int] = set()
    without_answer = 0
    try:
        while not log.is_at_end:
            found = list(log.read())
            without_answer = 0 if found or not log.problem else without_answer + 1
            if without_answer > _ROUNDS_WITHOUT_ANSWER:
                raise SourceNotReadable(f"{spec} does not answer: {log.problem}")
            for number, piece in found:
                if isinstance(piece, ColumnChunk):
                    present.add(number)
                    if asked is None or number in asked:
                        loads.setdefault(number, PartitionLoad(coordinator, number)).take(piece)
                elif piece is Break.TRUNCATED:
                    present.discard(number)
                    loads.pop(number, None)
    finally:
        log.close()
    chosen = chosen_partitions(present, asked)
    return [loads[number].finish(with_groups=asked is not None) for number in chosen]


def _document(found: Verification) -> dict[str, Any]:
    return {
        "release": found.coordinator.release,
        "coordinator": found.coordinator.kind,
        "tested_on_brokers": found.is_tested,
        "outcome": found.outcome,
        "loses": found.loses,
        "unknown": list(found.unknown),
        "partitions": [_partition(loading) for loading in found.partitions],
    }


def _partition(loading: Loading) -> dict[str, Any]:
    crash = loading.after_crash
    return {
        "partition": loading.log_partition,
        "outcome": loading.outcome,
        "failure": None if loading.failure is None else _notice(loading.failure),
        "serves_nothing": loading.serves_nothing,
        "skipped": loading.skipped_count,
        "first_skipped": [_notice(each) for each in loading.skipped],
        "tolerated": loading.tolerated_count,
        "first_tolerated": [_notice(each) for each in loading.tolerated],
        "lost_groups": [_group(each) for each in loading.lost_groups],
        "groups": [_group(each) for each in loading.groups],
        "open_transactions": [
            {
                "producer_id": each.producer_id,
                "producer_epoch": each.producer_epoch,
                "first_offset": each.first_offset,
                "started_at": words.iso(each.started_ms),
                "group_ids": list(each.group_ids),
                "commits": each.commit_count,
            }
            for each in loading.open_transactions
        ],
        "damage": [each._asdict() for each in loading.damage],
        "hidden_bytes": sum(end.hidden_bytes for end in loading.log_ends),
        "after_crash": None
        if crash is None
        else {
            "outcome": crash.outcome,
            "failure": None if crash.failure is None else _notice(crash.failure),
            "cut_bytes": sum(end.hidden_bytes for end in crash.log_ends),
        },
        "shape": _shape(loading),
    }


def _shape(loading: Loading) -> dict[str, Any]:
    shape = loading.shape
    load_time = load_time_of(shape, loading.coordinator)
    return {
        "records": shape.record_count,
        "bytes": shape.size_bytes,
        "first_at": words.iso(shape.first_ms),
        "last_at": words.iso(shape.last_ms),
        "records_by_type": dict(shape.by_kind),
        "keys": shape.key_count,
        "dead_keys": shape.dead_key_count,
        "superseded": shape.superseded_count,
        "superseded_bytes": shape.superseded_bytes,
        "cleanable": shape.cleanable_count,
        "groups": shape.group_count,
        "largest_groups": [
            {
                "group_id": each.group_id,
                "records": each.record_count,
                "bytes": each.size_bytes,
                "first_at": words.iso(each.first_ms),
                "last_at": words.iso(each.last_ms),
            }
            for each in shape.largest_groups
        ],
        "load_ms_least": load_time.least_ms,
        "load_ms_most": load_time.most_ms,
    }


def _group(group: GroupAtEnd) -> dict[str, Any]:
    return {
        "group_id": group.group_id,
        "type": group.group_type,
        "members": group.member_count,
        "offsets": {
            topic: {str(number): at for number, at in of_topic.items()}
            for topic, of_topic in group.offsets.items()
        },
    }


def _notice(notice: Notice) -> dict[str, Any]:
    return {
        "rule": notice.rule_id,
        "offset": None if notice.log_offset < 0 else notice.log_offset,
        "record_type": notice.record_type,
        "group_id": notice.group_id,
        "detail": notice.detail,
        "sentence": notice.applied.rule.sentence,
        "loses": notice.applied.rule.loses or None,
        "source": notice.applied.case.source,
    }
