"""Which record goes where, by expressions on the key's bytes for the JVM.

Every key begins with the record type and the group's id, so routing needs no Python: offset commits (99 of 100 records)
are decoded column by column, transaction markers go to the commits that they decide, everything else to the reducer.
The first reading of a log asks for all of that at once, in Python (`silver.log_reading`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records.commit_columns import COMMIT, COMMIT_DDL, decode_commits
from rebalance_audit.lake.records.record_columns import DAMAGE
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
OF_OTHERS: Final = (
    *("partition", "offset", "timestamp", "leader_epoch", "producer_id", "is_transactional"),
    *("is_control", "key", "value"),
)
"""Columns that a run needs of all other records."""
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
    """All records except offset commits: about one in a hundred, with the group that the key names."""
    return records.where(is_other()).select(*OF_OTHERS, group_id().alias("group_id"))


def group_records(small: DataFrame, groups_regex: str | None) -> DataFrame:
    """What the reducer gets besides commits: the records of some groups, and those whose group is unknown."""
    records = small.where(~is_control())
    if DAMAGE in small.columns:
        records = records.where(F.col(DAMAGE).isNull())
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


def ended_commits(records: DataFrame, markers: DataFrame, regex: str | None = None) -> DataFrame:
    """Rows of silver.offset_commits (without the cluster) for the commits in transactions, of some groups.

    `markers` are the control records.
    """
    of_transactions = records.where(F.coalesce(F.col("is_transactional"), F.lit(False)))
    decoded = decoded_commits(of_transactions, regex).where("commit.reason is null")
    rows = decoded.select(
        "partition",
        "offset",
        "timestamp",
        *[f"commit.{name}" for name in COMMIT if name != "value_version"],
        "tombstone",
        "producer_id",
        "commit.value_version",
    )
    return ended(rows, markers).drop(MARKER)


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


def _bytes(column: str, position: int, length: int) -> Column:
    return F.substring(F.col(column), position, length)
