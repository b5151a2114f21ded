"""Which record goes where, by expressions on the key's bytes that the JVM evaluates.

Every key begins with the record type and the group's id, so routing needs no Python: offset commits (99 of 100) are
decoded by the column, everything else goes to the reducer of its group, transaction markers to the commits they end.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.pandas.functions import arrow_udf

from rebalance_audit.lake.records.commit_columns import COMMIT, COMMIT_DDL, decode_commits
from rebalance_audit.lake.records.record_columns import DAMAGE, PASSED_OVER
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_TYPES

GROUP_ID_AT: Final = 5
"""Where a key's group id begins, counted from 1: behind type and length."""
INT16_MAX: Final = 32767
ABORT_MARKER: Final = bytes(2)
COMMIT_MARKER: Final = b"\0\1"


def is_control() -> Column:
    """A transaction marker, or another control record; a source that hides the flag gives none."""
    return F.coalesce(F.col("is_control"), F.lit(False))


def has_type(*record_types: int) -> Column:
    """The key begins with one of these record types; null for a key that is null."""
    return _bytes("key", 1, 2).isin(
        *[F.lit(bytearray(number.to_bytes(2))) for number in record_types]
    )


def is_commit() -> Column:
    """An offset commit or its tombstone."""
    return ~is_control() & F.coalesce(has_type(*OFFSET_COMMIT_TYPES), F.lit(False))


def group_id() -> Column:
    """The group that the key names; null where the key does not reach so far, or the name is not UTF-8."""
    # An int16 out of two bytes: hexadecimal digits are the only way from binary to a number.
    length = F.conv(F.hex(_bytes("key", 3, 2)), 16, 10).cast("int")
    text = F.substring(F.col("key"), F.lit(GROUP_ID_AT), length).cast("string")
    reaches = (length <= INT16_MAX) & (F.octet_length("key") >= length + GROUP_ID_AT - 1)
    return F.when(reaches, F.try_validate_utf8(text))


def in_groups(regex: str | None, group: Column) -> Column:
    """The group's id has a match of the Java regular expression; one that cannot be told may be any group."""
    if regex is None:
        return F.lit(True)
    return F.coalesce(group.rlike(regex), F.lit(True))


def small_side(records: DataFrame) -> DataFrame:
    """All but the offset commits: about one record in a hundred, with the group that the key names.

    Rows that stand for damage and for records left out stay among them.
    """
    columns = ("partition", "offset", "timestamp", "leader_epoch", "producer_id")
    flags = ("is_transactional", "is_control", "key", "value")
    marks = [name for name in (DAMAGE, PASSED_OVER) if name in records.columns]
    return records.where(~is_commit()).select(
        *columns, *flags, *marks, group_id().alias("group_id")
    )


def group_records(small: DataFrame, groups_regex: str | None) -> DataFrame:
    """Of the small side what the reducer gets: the records of some groups, and those whose group cannot be told."""
    records = small.where(~is_control())
    for mark in (DAMAGE, PASSED_OVER):
        if mark in small.columns:
            records = records.where(F.col(mark).isNull())
    return records.where(in_groups(groups_regex, F.col("group_id")))


def commits(records: DataFrame, groups_regex: str | None) -> DataFrame:
    """The offset commits of some groups, as they are."""
    return records.where(is_commit() & in_groups(groups_regex, group_id()))


def decoded_commits(records: DataFrame, groups_regex: str | None) -> DataFrame:
    """The offset commits of some groups, with the record's columns and those of `commit`, see COMMIT_DDL."""
    # The stub wants functionType, which has a default.
    decode = arrow_udf(decode_commits, COMMIT_DDL)  # type: ignore[call-overload]
    # It is deterministic, but must not be called so: a filter on its result would be pushed in front of the projection
    # with a copy of it, and every commit decoded twice.
    once = decode.asNondeterministic()
    return commits(records, groups_regex).withColumn("commit", once("key", "value"))


def offset_commits(decoded: DataFrame, markers: DataFrame | None) -> DataFrame:
    """Rows of silver.offset_commits (without the cluster) from `decoded_commits`.

    `markers` are the control records, needed where any commit is transactional.
    """
    columns: list[str | Column] = [
        "partition",
        "offset",
        "timestamp",
        *[f"commit.{name}" for name in COMMIT if name != "value_version"],
        F.col("value").isNull().alias("tombstone"),
        "producer_id",
        "is_transactional",
        "commit.value_version",
    ]
    rows = decoded.where("commit.reason is null").select(*columns)
    transactional = F.coalesce(F.col("is_transactional"), F.lit(False))
    plain_state = F.when(F.col("is_transactional").isNull(), "unknown").otherwise("none")
    plain = rows.where(~transactional).withColumn("transaction_state", plain_state)
    if markers is None:
        return plain
    return plain.unionByName(ended(rows.where(transactional), markers))


def ended(commits: DataFrame, markers: DataFrame) -> DataFrame:
    """Transactional commits with what became of them: the next marker of the producer in the partition decides."""
    kind = _bytes("key", 3, 2)
    ends = markers.select(
        "partition",
        "offset",
        "producer_id",
        F.when(kind == F.lit(bytearray(COMMIT_MARKER)), "committed")
        .when(kind == F.lit(bytearray(ABORT_MARKER)), "aborted")
        .alias("ended"),
    ).where("ended is not null")
    # Backwards, so that the frame grows row by row instead of being read to its end for each.
    newer = (
        Window.partitionBy("partition", "producer_id")
        .orderBy(F.desc("offset"))
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    both = commits.withColumn("is_commit", F.lit(True)).unionByName(ends, allowMissingColumns=True)
    state = (
        F.when(F.col("producer_id").isNull(), "unknown")
        .when(F.col("ended").isNotNull(), F.col("ended"))
        .otherwise("open")
    )
    return (
        both.withColumn("ended", F.last("ended", ignorenulls=True).over(newer))
        .where("is_commit")
        .withColumn("transaction_state", state)
        .drop("ended", "is_commit")
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
