"""Which record goes where, and how many of each kind there are, by expressions on the key's bytes for the JVM.

Every key begins with the record type and the group's id, so routing needs no Python: offset commits (99 of 100 records)
are decoded column by column, transaction markers go to the commits that they decide, everything else to the reducer.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records.commit_columns import COMMIT, COMMIT_DDL, decode_commits
from rebalance_audit.lake.records.record_columns import DAMAGE, PASSED_OVER
from rebalance_audit.tables.arrow_types import ddl_of_columns
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_TYPES, TYPE_BYTES

GROUP_ID_AT: Final = 5
"""Where a key's group id begins, counted from 1: after type and length."""
INT16_MAX: Final = 32767
_BEFORE_COMMITS: Final = bytes(TYPE_BYTES)
_AFTER_COMMITS: Final = (max(OFFSET_COMMIT_TYPES) + 1).to_bytes(TYPE_BYTES)
"""Keys of offset commits begin with the lowest types; what lies before them is too short to have one."""
_OF_RECORD: Final[Mapping[str, str]] = {
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "producer_id": "bigint",
    "is_transactional": "boolean",
}
DECODED: Final[Mapping[str, str]] = {
    **_OF_RECORD,
    "tombstone": "boolean",
    "key": "binary",
    "value": "binary",
    "commit": COMMIT_DDL,
}
"""Columns of decoded offset commits: key and value only of those that cannot be decoded, see `commit_columns`."""
ABORT_MARKER: Final = bytes(2)
COMMIT_MARKER: Final = b"\0\1"
MARKER: Final = "marker"
"""Column with `state`, `offset` and `timestamp` of the marker that ends a commit's transaction; null without one."""
MARKER_OFFSET: Final = "marker_offset"


def is_control() -> Column:
    """Whether a record is a transaction marker or another control record; a source that hides the flag has none."""
    return F.coalesce(F.col("is_control"), F.lit(False))


def has_type(*record_types: int) -> Column:
    """Whether the key begins with one of these record types; null for a key that is null."""
    return _bytes("key", 1, 2).isin(
        *[F.lit(bytearray(number.to_bytes(2))) for number in record_types]
    )


def is_commit() -> Column:
    """Whether a record is an offset commit or its tombstone."""
    return ~is_control() & F.coalesce(has_type(*OFFSET_COMMIT_TYPES), F.lit(False))


def is_other() -> Column:
    """Whether a record is anything else: the contrary of `is_commit`, null instead of false.

    In comparisons that Parquet's readers know, so that they pass over pages of commits alone.
    """
    key = F.col("key")
    return (
        F.col("is_control")
        | key.isNull()
        | (key >= F.lit(bytearray(_AFTER_COMMITS)))
        | (key < F.lit(bytearray(_BEFORE_COMMITS)))
    )


def group_id() -> Column:
    """The group that the key names; null if the key is too short, or the name is not UTF-8."""
    # An int16 from two bytes: hexadecimal digits are Spark's only way from binary to a number.
    length = F.conv(F.hex(_bytes("key", 3, 2)), 16, 10).cast("int")
    text = F.col("key").substr(F.lit(GROUP_ID_AT), length).cast("string")
    reaches = (length <= INT16_MAX) & (F.octet_length("key") >= length + GROUP_ID_AT - 1)
    # Encoded in another way and decoded again: bytes that are not UTF-8 do not come back as they were. Spark has had a
    # function for this only since release 4.
    again = F.decode(F.encode(text, "UTF-16BE"), "UTF-16BE")
    return F.when(reaches & (again == text), text)


def in_groups(regex: str | None, group: Column) -> Column:
    """Whether a group id has a match of the Java regular expression; an id that is null may be any group's."""
    if regex is None:
        return F.lit(True)
    return F.coalesce(group.rlike(regex), F.lit(True))


def offset_of(offsets: Mapping[int, int]) -> Column:
    """The offset for the row's partition, 0 if it has none."""
    return F.coalesce(of_partition(offsets), F.lit(0)).cast("bigint")


def of_partition(numbers: Mapping[int, int]) -> Column:
    """The number for the row's partition; null for none."""
    if not numbers:
        return F.lit(None).cast("bigint")
    # A map, because an array would have one entry for each number up to the largest.
    by_number = F.create_map(*[F.lit(each) for pair in sorted(numbers.items()) for each in pair])
    return F.try_element_at(by_number, F.col("partition")).cast("bigint")


def other_records(records: DataFrame) -> DataFrame:
    """All records except offset commits: about one in a hundred, with the group that the key names.

    Rows that stand for damage, or for records that were left out, are among them.
    """
    columns = ("partition", "offset", "timestamp", "leader_epoch", "producer_id")
    flags = ("is_transactional", "is_control", "key", "value")
    marks = [name for name in (DAMAGE, PASSED_OVER) if name in records.columns]
    return records.where(is_other()).select(*columns, *flags, *marks, group_id().alias("group_id"))


def group_records(small: DataFrame, groups_regex: str | None) -> DataFrame:
    """What the reducer gets besides commits: the records of some groups, and those whose group is unknown."""
    records = small.where(~is_control())
    for mark in (DAMAGE, PASSED_OVER):
        if mark in small.columns:
            records = records.where(F.col(mark).isNull())
    return records.where(in_groups(groups_regex, F.col("group_id")))


def commits(records: DataFrame, groups_regex: str | None) -> DataFrame:
    """The offset commits of some groups, not decoded."""
    return records.where(is_commit() & in_groups(groups_regex, group_id()))


def decoded_commits(records: DataFrame, groups_regex: str | None) -> DataFrame:
    """The offset commits of some groups, as DECODED."""
    given = commits(records, groups_regex).select(*_OF_RECORD, "key", "value")
    return given.mapInArrow(_decoded, ddl_of_columns(DECODED))


def _decoded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        keys, values = batch.column("key"), batch.column("value")
        commit = decode_commits(keys, values)
        is_damaged = pc.is_valid(commit.field("reason"))
        bytes_of = [pc.if_else(is_damaged, column, None) for column in (keys, values)]
        columns = [batch.column(name) for name in _OF_RECORD]
        yield pa.RecordBatch.from_arrays(
            [*columns, pc.is_null(values), *bytes_of, commit], names=[*DECODED]
        )


def offset_commits(decoded: DataFrame, markers: DataFrame | None) -> DataFrame:
    """Rows of silver.offset_commits (without the cluster) from `decoded_commits`.

    `markers` are the control records, needed where any commit is transactional.
    """
    rows = _rows(decoded)
    plain_state = F.when(F.col("is_transactional").isNull(), "unknown").otherwise("none")
    plain = rows.where(~_is_transactional()).withColumn("transaction_state", plain_state)
    return plain if markers is None else plain.unionByName(ended_commits(decoded, markers))


def ended_commits(decoded: DataFrame, markers: DataFrame) -> DataFrame:
    """The rows of commits in transactions alone."""
    return ended(_rows(decoded).where(_is_transactional()), markers).drop(MARKER)


def _rows(decoded: DataFrame) -> DataFrame:
    """All but the state of the transaction."""
    return decoded.where("commit.reason is null").select(
        "partition",
        "offset",
        "timestamp",
        *[f"commit.{name}" for name in COMMIT if name != "value_version"],
        "tombstone",
        "producer_id",
        "is_transactional",
        "commit.value_version",
    )


def _is_transactional() -> Column:
    return F.coalesce(F.col("is_transactional"), F.lit(False))


def ended(commits: DataFrame, markers: DataFrame) -> DataFrame:
    """Transactional commits with `transaction_state` and MARKER, the producer's next one in the partition."""
    kind = _bytes("key", 3, 2)
    state = F.when(kind == F.lit(bytearray(COMMIT_MARKER)), "committed").when(
        kind == F.lit(bytearray(ABORT_MARKER)), "aborted"
    )
    ends = markers.where(state.isNotNull()).select(
        "partition",
        "offset",
        "producer_id",
        F.struct(state.alias("state"), "offset", "timestamp").alias(MARKER),
    )
    # In descending order, so that the window's frame grows row by row instead of being read to its end for each row.
    newer = (
        Window.partitionBy("partition", "producer_id")
        .orderBy(F.desc("offset"))
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    both = commits.withColumn("is_commit", F.lit(True)).unionByName(ends, allowMissingColumns=True)
    state = F.when(F.col("producer_id").isNull(), "unknown").otherwise(
        F.coalesce(F.col(f"{MARKER}.state"), F.lit("open"))
    )
    return (
        both.withColumn(MARKER, F.last(MARKER, ignorenulls=True).over(newer))
        .where("is_commit")
        .withColumn("transaction_state", state)
        .drop("is_commit")
    )


def decided_commits(commits: DataFrame, markers: DataFrame) -> DataFrame:
    """The commits, not decoded, that count because their transaction was committed.

    `timestamp` and MARKER_OFFSET are those of the marker, or of the commit itself where the source hides its producer.
    """
    transactional = F.col("is_transactional") & F.col("value").isNotNull()
    found = ended(commits.where(transactional), markers)
    is_hidden = F.col("transaction_state") == "unknown"
    at_commit = {
        name: F.when(is_hidden, F.col(name)).otherwise(F.col(f"{MARKER}.{name}"))
        for name in ("offset", "timestamp")
    }
    return (
        found.where(is_hidden | (F.col("transaction_state") == "committed"))
        .withColumns({MARKER_OFFSET: at_commit["offset"], "timestamp": at_commit["timestamp"]})
        .where(F.col("timestamp").isNotNull())
        .drop(MARKER)
    )


def undecodable_commits(decoded: DataFrame) -> DataFrame:
    """Rows of silver.quarantine (without the cluster) for the offset commits that could not be decoded."""
    return decoded.where("commit.reason is not null").select(
        "partition",
        "offset",
        "timestamp",
        "key",
        "value",
        "commit.reason",
        "commit.detail",
        "commit.record_type",
        F.col("commit.undecodable_version").alias("value_version"),
    )


def _bytes(column: str, position: int, length: int) -> Column:
    return F.substring(F.col(column), position, length)


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
