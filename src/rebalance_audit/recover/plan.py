"""The plan: which partitions need one, which offsets to set again, in which files, and what is left to people."""

from collections.abc import Collection, Iterable, Iterator
from typing import Final, NamedTuple

from rebalance_audit.local.segment_records import SegmentRecords
from rebalance_audit.recover.account import (
    END_OF_LOG,
    GroupAccount,
    PartitionAccount,
    partition_account,
)
from rebalance_audit.recover.reset_file import OffsetRow, ResetFile, Unsaid, reset_files, unsaid
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.classic import CONNECT, REGISTRY, STREAMS, kind_of
from rebalance_audit.replay.groups import ClassicGroup, type_of
from rebalance_audit.verify.coordinators import Coordinator
from rebalance_audit.verify.loading import Loading
from rebalance_audit.verify.partition_load import verify_folder
from rebalance_audit.wire.segments.folder import LogFolder

RETENTION_MS: Final = 7 * 24 * 3600 * 1000
"""Default of `offsets.retention.minutes` since Kafka 2.0: offsets of an empty group are removed so long after."""


class PlannedPartition(NamedTuple):
    """A partition whose groups are planned for."""

    account: PartitionAccount
    problem: str | None
    """What the coordinator made of it, a sentence that begins with a verb; None if it loads."""


class NotPlanned(NamedTuple):
    """A certain offset that no file of the plan has."""

    row: OffsetRow
    why: Unsaid


class RecoveryPlan(NamedTuple):
    """What to do, before it is written out."""

    partitions: tuple[PlannedPartition, ...]
    release: str | None
    """Of the coordinator that was asked about; None if no one was."""
    files: tuple[ResetFile, ...]
    left_out: tuple[NotPlanned, ...]

    @property
    def groups(self) -> Iterator[GroupAccount]:
        """Of all partitions, by partition and id."""
        return (group for each in self.partitions for group in each.account.groups)

    @property
    def group_count(self) -> int:
        """Groups of all partitions."""
        return sum(len(each.account.groups) for each in self.partitions)

    @property
    def certain_count(self) -> int:
        """Certain offsets of all groups."""
        return sum(len(group.certain) for group in self.groups)

    @property
    def uncertain_count(self) -> int:
        """Uncertain offsets of all groups."""
        return sum(len(group.uncertain) for group in self.groups)

    @property
    def has_metadata(self) -> bool:
        """Whether a certain commit has metadata, which the tool does not restore."""
        return any(
            commit.commit_metadata for group in self.groups for commit in group.certain.values()
        )

    @property
    def old(self) -> int:
        """Certain offsets older than Kafka's default retention when their log ends."""
        return sum(
            last_ms - commit.commit_timestamp_ms > RETENTION_MS
            for each in self.partitions
            if (last_ms := each.account.last_ms) is not None
            for group in each.account.groups
            for commit in group.certain.values()
        )


def plan_for(partitions: Iterable[PlannedPartition], release: str | None) -> RecoveryPlan:
    """The plan for partitions in their order."""
    planned = tuple(partitions)
    rows = [
        OffsetRow(group.group_id, topic, number, commit.committed_offset)
        for each in planned
        for group in each.account.groups
        for (topic, number), commit in sorted(group.certain.items())
    ]
    left_out = tuple(NotPlanned(row, why) for row in rows if (why := unsaid(row)) is not None)
    files = tuple(reset_files(row for row in rows if unsaid(row) is None))
    return RecoveryPlan(planned, release, files, left_out)


def file_name(place: int) -> str:
    """Of the file at this place in the plan: `offsets.csv`, `offsets-2.csv`, …."""
    return "offsets.csv" if place == 0 else f"offsets-{place + 1}.csv"


def type_name(account: GroupAccount) -> str | None:
    """As Kafka's tools spell it; None if the log does not hold it."""
    group = account.group
    if group is None:
        return None
    return type_of(group).value.capitalize()


def member_count(account: GroupAccount) -> int | None:
    """Members of the group at the log's end; None if the log does not hold them."""
    return None if account.group is None else len(account.group.members)


def elsewhere(account: GroupAccount) -> str | None:
    """What a group of this kind keeps beside its committed offsets, one sentence; None for plain consumers."""
    group = account.group
    if isinstance(group, ClassicGroup):
        kind = kind_of(group.protocol_type, group.protocol_name)
        return _OF_KINDS.get(kind.title)
    return None if group is None else _OF_TYPES.get(group.group_type)


_OF_STREAMS: Final = (
    "Kafka Streams: its repartition topics are among the topics; state stores come from changelog topics, not from"
    " here. It keeps times of its tasks in the metadata of commits, which the tool does not restore."
)
_OF_KINDS: Final = {
    CONNECT.title: "Kafka Connect: workers commit nothing here. Offsets of source connectors are in the topic of"
    " `offset.storage.topic`; sink connectors have groups of their own, named `connect-NAME`.",
    REGISTRY.title: "Schema registry: the group elects a leader and commits nothing.",
    STREAMS.title: _OF_STREAMS,
}
_OF_TYPES: Final = {
    GroupType.SHARE: "Share group: start offsets are in `__share_group_state`, not in this partition. Look at them with"
    " `kafka-share-groups.sh --describe --offsets`; what is lost here is the list of its partitions.",
    GroupType.STREAMS: _OF_STREAMS,
}


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
