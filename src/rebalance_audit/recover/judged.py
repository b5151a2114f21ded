"""Which partitions of a log need a plan, by what a coordinator makes of them."""

from collections.abc import Collection, Iterator

from rebalance_audit.local.segment_records import SegmentRecords
from rebalance_audit.recover.account import END_OF_LOG, partition_account
from rebalance_audit.recover.plan import PlannedPartition
from rebalance_audit.verify.coordinators import Coordinator
from rebalance_audit.verify.loading import Loading
from rebalance_audit.verify.log import verify_folder
from rebalance_audit.wire.segments.folder import LogFolder


def planned_partitions(
    folder: LogFolder,
    coordinator: Coordinator,
    log_partitions: Collection[int] = (),
    among: Collection[int] = (),
) -> Iterator[PlannedPartition]:
    """All of `log_partitions`, and those of `among` that do not load; without both, all that do not load.

    Raises UnknownPartition for one that the folder does not hold, SourceNotReadable, and OSError that names the file.
    """
    judged = verify_folder(folder, coordinator, {*log_partitions, *among} or None)
    for loading in judged.partitions:
        if loading.log_partition in log_partitions or loading.outcome != "loads":
            yield _planned(folder, loading)


def _planned(folder: LogFolder, loading: Loading) -> PlannedPartition:
    cut_offset = END_OF_LOG
    failure = loading.failure
    if failure is not None and failure.applied.rule.stage != "log":
        cut_offset = failure.log_offset
    # The header of a batch at fault may have any offset: its place in the log ends what is certain.
    records = SegmentRecords(folder, loading.log_partition, None, (), cut_offset)
    return PlannedPartition(partition_account(records, loading.log_partition), problem_of(loading))


def problem_of(loading: Loading) -> str | None:
    """What became of the load: a sentence but for its subject, the partition. None if nothing did."""
    if loading.outcome == "loads":
        return None
    if loading.outcome == "unknown":
        details = "".join(f" {each.detail}" for each in loading.damage[:1])
        return f"is damaged, and whether it loads is unknown.{details}"
    then = " The coordinator then serves it without any of its groups." * loading.serves_nothing
    failure = loading.failure
    if failure is None:
        return f"does not load.{then}"
    at = "" if loading.failed_at_offset is None else f" at offset {loading.failed_at_offset:,}"
    return f"fails to load{at}: {failure.detail} ({failure.rule_id}).{then}"
