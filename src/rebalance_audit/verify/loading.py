"""What a coordinator does with a partition, as values."""

from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from rebalance_audit.verify.coordinators import AppliedRule, Coordinator, records_known_to
from rebalance_audit.verify.loader_bytes import DamagedStretch, LogEnd
from rebalance_audit.verify.shape import PartitionShape

LoadOutcome: TypeAlias = Literal["loads", "fails", "unknown"]


class Notice(NamedTuple):
    """A record that a coordinator refuses, skips or takes although something is wrong."""

    log_offset: int
    record_type: int | None
    """None where the key has none."""
    group_id: str | None
    """None where the key names none."""
    applied: AppliedRule
    detail: str
    """What exactly: a clause for people."""

    @property
    def rule_id(self) -> str:
        """Id of the rule."""
        return self.applied.rule.rule_id


class GroupAtEnd(NamedTuple):
    """A group as of the log's end."""

    group_id: str
    group_type: str
    """classic, consumer, share or streams."""
    member_count: int
    offsets: Mapping[str, Mapping[int, int]]
    """Topic -> partition -> the last committed offset."""


class OpenTransaction(NamedTuple):
    """A transaction that no marker ends: its commits wait, and hold back the last stable offset."""

    producer_id: int
    producer_epoch: int | None
    """Of its first batch; None where the source hides it."""
    first_offset: int
    started_ms: int
    """Time of its first record (epoch milliseconds)."""
    group_ids: tuple[str, ...]
    commit_count: int


class Loading(NamedTuple):
    """What a coordinator does with one partition."""

    log_partition: int
    coordinator: Coordinator
    outcome: LoadOutcome
    """unknown: the partition is damaged, and the rules do not say what the loader reads there."""
    failed_at_offset: int | None
    """Offset of the record, or first offset of the batch, at which it fails."""
    failure: Notice | None
    serves_nothing: bool
    """A classic coordinator that fails: it goes on to serve the partition, without any of its groups."""
    skipped_count: int
    skipped: tuple[Notice, ...]
    """The first LISTED_MAX records that are skipped."""
    tolerated_count: int
    tolerated: tuple[Notice, ...]
    """The first LISTED_MAX records that are applied although that loses something."""
    lost_groups: tuple[GroupAtEnd, ...]
    """All groups of a partition that fails; of one that loads, those whose own records were skipped."""
    open_transactions: tuple[OpenTransaction, ...]
    damage: tuple[DamagedStretch, ...]
    log_ends: tuple[LogEnd, ...]
    """Where the loader finds no further batch although bytes follow: what they hold is lost without a word."""
    shape: PartitionShape
    groups: tuple[GroupAtEnd, ...] = ()
    """All groups, where they were asked for."""
    after_crash: "Loading | None" = None
    """Of a damaged partition: the same after a crash, when the broker recovers the log first."""

    @property
    def has_findings(self) -> bool:
        """Whether anything of it needs a look."""
        return bool(
            self.outcome != "loads"
            or self.skipped_count
            or self.tolerated_count
            or self.damage
            or self.log_ends
            or self.open_transactions
        )

    @property
    def loses(self) -> bool:
        """Whether the coordinator would lack anything that the log holds."""
        return bool(self.outcome != "loads" or self.skipped_count or self.log_ends)

    @property
    def rule(self) -> str | None:
        """Id of the rule that makes it fail."""
        return None if self.failure is None else self.failure.rule_id


LISTED_MAX: Final = 1000


class Verification(NamedTuple):
    """What a coordinator does with the partitions of a log."""

    coordinator: Coordinator
    partitions: tuple[Loading, ...]
    unknown: tuple[str, ...] = ()
    """What the source cannot show: `batches`, `checksums`, …"""

    @property
    def is_tested(self) -> bool:
        """Whether brokers of the release did what the rules say; else only its source was read."""
        return records_known_to(self.coordinator).evidence == "broker"

    @property
    def loses(self) -> bool:
        """Whether a coordinator would lack anything that the log holds."""
        return any(loading.loses for loading in self.partitions)

    @property
    def outcome(self) -> LoadOutcome:
        """The worst of all partitions: fails, then unknown, then loads."""
        outcomes = {loading.outcome for loading in self.partitions}
        for worst in ("fails", "unknown"):
            if worst in outcomes:
                return worst
        return "loads"
