"""Counts the records of a log by kind, in one pass over keys and flags."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records.record_columns import DAMAGE, PASSED_OVER
from rebalance_audit.lake.records.routing import is_commit, is_control


@dataclass(frozen=True, slots=True)
class PartitionCounts:
    """One partition of the log."""

    records: int
    commits: int
    """Offset commits and their tombstones."""
    controls: int
    transactional: int
    """Records inside transactions, markers included."""
    first_offset: int
    next_offset: int
    """Offset after the last record."""
    first_ms: int | None
    """Smallest record time, epoch milliseconds; None if no record has one."""
    last_ms: int | None
    """Largest record time, epoch milliseconds; None if no record has one."""

    @property
    def has_holes(self) -> bool:
        """Whether offsets between its records have none."""
        return self.records < self.next_offset - self.first_offset


@dataclass(frozen=True, slots=True)
class RecordCounts:
    """A whole log."""

    partitions: Mapping[int, PartitionCounts]

    @property
    def records(self) -> int:
        """All records, markers included."""
        return sum(partition.records for partition in self.partitions.values())

    @property
    def commits(self) -> int:
        """Offset commits."""
        return sum(partition.commits for partition in self.partitions.values())

    @property
    def controls(self) -> int:
        """Transaction markers and other control records."""
        return sum(partition.controls for partition in self.partitions.values())

    @property
    def of_groups(self) -> int:
        """All others: group records, and records whose key names no group."""
        return self.records - self.commits - self.controls

    @property
    def is_only_commits(self) -> bool:
        """Whether no group has a record."""
        return not self.of_groups

    @property
    def first_ms(self) -> int | None:
        """Smallest record time, epoch milliseconds; None if no record has one."""
        moments = (part.first_ms for part in self.partitions.values())
        return min((moment for moment in moments if moment is not None), default=None)

    @property
    def last_ms(self) -> int | None:
        """Largest record time, epoch milliseconds; None if no record has one."""
        moments = (part.last_ms for part in self.partitions.values())
        return max((moment for moment in moments if moment is not None), default=None)

    @property
    def has_transactions(self) -> bool:
        """Whether any record belongs to a transaction."""
        return any(partition.transactional for partition in self.partitions.values())


_FIELDS: Final = tuple(PartitionCounts.__dataclass_fields__)


def count_records(records: DataFrame) -> RecordCounts:
    """Count the records of a log; the driver collects one row per partition.

    Rows that stand for commits left out by the source count as that many; damage does not count.
    """
    left_out = F.lit(0)
    if PASSED_OVER in records.columns:
        left_out = F.coalesce(F.sum(PASSED_OVER), F.lit(0))
    is_record = " and ".join(
        f"{mark} is null" for mark in (DAMAGE, PASSED_OVER) if mark in records.columns
    )
    return _counts(
        records.groupBy("partition").agg(
            (F.count_if(F.expr(is_record or "true")) + left_out).alias("records"),
            (F.count_if(is_commit()) + left_out).alias("commits"),
            F.count_if(is_control()).alias("controls"),
            F.count_if(F.col("is_transactional")).alias("transactional"),
            *_ends("damage is null" if DAMAGE in records.columns else "true"),
        )
    )


def count_records_beside(records: DataFrame, small: DataFrame) -> RecordCounts:
    """The same, if `small` has all records except offset commits and is held in memory: no key needs to be read.

    The keys are a third of a log. `records` must not have rows that stand for anything but a record.
    """
    others = small.groupBy("partition").agg(
        F.count(F.lit(1)).alias("others"), F.count_if(is_control()).alias("controls")
    )
    every = records.groupBy("partition").agg(
        F.count(F.lit(1)).alias("records"),
        F.count_if(F.col("is_transactional")).alias("transactional"),
        *_ends(),
    )
    found = every.join(F.broadcast(others), "partition", "left").fillna(0, ["others", "controls"])
    return _counts(found.withColumn("commits", F.col("records") - F.col("others")))


def _ends(is_sound: str = "true") -> tuple[Column, ...]:
    """`is_sound`: which rows have the offset of a record; the header of a damaged batch can name any."""
    offset = F.when(F.expr(is_sound), F.col("offset"))
    return (
        F.min(offset).alias("first_offset"),
        (F.max(offset) + 1).alias("next_offset"),
        F.unix_millis(F.min("timestamp")).alias("first_ms"),
        F.unix_millis(F.max("timestamp")).alias("last_ms"),
    )


def _counts(found: DataFrame) -> RecordCounts:
    return RecordCounts(
        {
            row["partition"]: PartitionCounts(**{name: row[name] for name in _FIELDS})
            for row in found.collect()
        }
    )
