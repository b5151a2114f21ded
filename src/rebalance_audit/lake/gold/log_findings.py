"""Findings that the reducer does not make: Spark counts what tables say of offset commits and of differing sources."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.findings.finding import ID_DIGITS
from rebalance_audit.audit.findings.kinds import OF_COMMITS, SourcesDiffer
from rebalance_audit.audit.findings.of_commits import (
    OFFSET_COMMITS,
    EndRecords,
    HangingTransaction,
    TopicGrowth,
)
from rebalance_audit.audit.rows import FINDINGS as OUTPUT
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.thresholds import FindingRules
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.silver.offset_commits import OPEN
from rebalance_audit.lake.storage.local_rows import rows_made
from rebalance_audit.sentences.render import advice_for, reason_text
from rebalance_audit.tables.schemas import TableName, table_schemas

DAY_MS: Final = 86_400_000
KINDS_OF_COMMITS: Final = tuple(kind.kind for kind in OF_COMMITS)


class Days(NamedTuple):
    """A stretch of whole days (UTC), epoch milliseconds."""

    from_ms: int
    to_ms: int
    """The first moment after it."""

    def hold(self, at: str) -> Column:
        """Whether a moment lies in these days: a condition in literals, so that Delta can skip files."""
        begin, end = (F.timestamp_millis(F.lit(moment)) for moment in self)
        return (F.col(at) >= begin) & (F.col(at) < end)


def days_of(counts: RecordCounts) -> Days:
    """The days in which the records were written; the first day of 1970 if no record has a time."""
    first_ms, last_ms = counts.first_ms or 0, counts.last_ms or 0
    return Days(first_ms // DAY_MS * DAY_MS, (last_ms // DAY_MS + 1) * DAY_MS)


def is_of_records(output: str) -> Column:
    """Which rows of a gold table the reducer makes: all but those of gold.findings that commits show."""
    return ~_is_of_commits() if output == OUTPUT else F.lit(True)


def scope_of(days: Days | None) -> Column:
    """Which rows of gold.findings `commit_findings` makes for these days; None for all days."""
    if days is None:
        return _is_of_commits()
    growth = (F.col("kind") == TopicGrowth.kind) & days.hold("from_at")
    return (F.col("kind") == HangingTransaction.kind) | growth


def commit_findings(
    read: Callable[[str], DataFrame],
    keep: Callable[[DataFrame], DataFrame],
    rules: FindingRules,
    log_end_ms: int | None,
    days: Days | None = None,
    *,
    may_grow: bool = True,
    may_hang: bool = True,
) -> DataFrame | None:
    """Rows of gold.findings (without the cluster): all open transactions, and growth in some days or in all.

    `read` takes a table's full name and gives its rows of the cluster, `keep` stages a frame; `log_end_ms` is in epoch
    milliseconds. With `may_grow` false the log is known to have too few records for any growth, with `may_hang` false
    to have no commit in an open transaction. None if there can be no rows.
    """
    hanging = _hanging(read(TableName.OFFSET_COMMITS), rules, log_end_ms) if may_hang else None
    growth = _growth(read, keep, rules, days) if may_grow else None
    if hanging is None or growth is None:
        return growth if hanging is None else hanging
    return hanging.unionByName(growth)


def _is_of_commits() -> Column:
    return F.col("kind").isin(*KINDS_OF_COMMITS)


def _record() -> Column:
    at_ms = F.unix_millis("timestamp").alias("at")
    return F.struct("partition", "offset", at_ms)


def _hanging(commits: DataFrame, rules: FindingRules, log_end_ms: int | None) -> DataFrame:
    # Files have statistics of the state: one without open commits is not read.
    open_ones = commits.where((F.col("transaction_state") == OPEN) & F.col("timestamp").isNotNull())
    latest_ms = F.lit(log_end_ms).cast("bigint") - rules.hanging_ms
    found = (
        open_ones.groupBy("group_id", "producer_id")
        .agg(
            F.min(_record()).alias("first"),
            F.max(_record()).alias("last"),
            F.count(F.lit(1)).alias("commits"),
            F.array_sort(F.collect_set("topic")).alias("topics"),
        )
        .where(F.col("first.at") <= latest_ms)
    )

    def row_of(given: Mapping[str, Any]) -> Row:
        names = ("producer_id", "commits", "topics")
        numbers = {name: given[name] for name in names}
        return HangingTransaction.row(given["group_id"], _ends_of(given), rules, **numbers)

    return finding_frame(found, row_of)


def _growth(
    read: Callable[[str], DataFrame],
    keep: Callable[[DataFrame], DataFrame],
    rules: FindingRules,
    days: Days | None,
) -> DataFrame | None:
    """None for no growth, the usual case."""
    within = F.lit(True) if days is None else days.hold("hour")
    hour = F.date_trunc("hour", "timestamp").alias("hour")
    others = read(TableName.GROUP_RECORDS).select(
        "group_id", hour, F.col("record_name").alias("type"), "partition", "offset", "timestamp"
    )
    # As the hours count them: a tombstone shows no member that commits.
    committed = read(TableName.OFFSET_COMMITS).where(~F.col("tombstone"))
    commits = committed.select(
        "group_id", hour, F.lit(OFFSET_COMMITS).alias("type"), "partition", "offset", "timestamp"
    )
    counted = (
        others.where(within).groupBy("group_id", "hour", "type").agg(F.count(F.lit(1)).alias("n"))
    )
    counted = counted.unionByName(
        # Counted already: the commits of a day need not be read again for each of its hours.
        read(TableName.GROUP_HOURS)
        .where(within)
        .select(
            "group_id", "hour", F.lit(OFFSET_COMMITS).alias("type"), F.col("commits").alias("n")
        )
    )
    grown = (
        counted.where((F.col("n") >= rules.growth_records) & F.col("group_id").isNotNull())
        .groupBy("group_id", "type", F.date_trunc("day", "hour").alias("day"))
        .agg(
            F.count(F.lit(1)).alias("hours"),
            F.sum("n").alias("records"),
            F.max("n").alias("most"),
            F.min("hour").alias("from_hour"),
            F.max("hour").alias("to_hour"),
        )
    )
    # Mostly empty: then nothing else is planned.
    grown = keep(grown)
    if grown.isEmpty():
        return None
    ends = (
        others.unionByName(commits)
        .where(within)
        .join(F.broadcast(grown), ["group_id", "type"])
        .where((F.col("hour") == F.col("from_hour")) | (F.col("hour") == F.col("to_hour")))
        .groupBy("group_id", "type", "day")
        .agg(
            F.min_by(_record(), F.struct("timestamp", "offset")).alias("first"),
            F.max_by(_record(), F.struct("timestamp", "offset")).alias("last"),
        )
    )
    found = grown.join(ends, ["group_id", "type", "day"])

    def row_of(given: Mapping[str, Any]) -> Row:
        numbers = {name: given[name] for name in ("hours", "records", "most")}
        return TopicGrowth.row(given["group_id"], _ends_of(given), given["type"], **numbers)

    return finding_frame(found, row_of)


def finding_frame(found: DataFrame, row_of: Callable[[Mapping[str, Any]], Row]) -> DataFrame:
    """Rows of gold.findings (without the cluster), one for each row of `found`; times are epoch milliseconds."""
    columns = table_schemas()[TableName.FINDINGS].column_types
    del columns["cluster"]
    return rows_made(found, columns, lambda given: [row_of(given)])


def _ends_of(given: Mapping[str, Any]) -> EndRecords:
    """Of a row with the structs `first` and `last`, see `_record`."""
    return EndRecords(*(tuple(given[end].values()) for end in ("first", "last")))


DIGEST_DIGITS: Final = 16
_COMPACTED: Final[Row] = {"offset": None, "at": None, "digest": "null", "source": "null"}


def source_findings(
    keep: Callable[[DataFrame], DataFrame], differing: DataFrame, bronze: DataFrame
) -> DataFrame:
    """Rows of gold.findings (without the cluster) from those of silver.quarantine and from bronze; `keep` stages."""
    other = F.struct("offset", F.unix_millis("timestamp").alias("at"), _digest().alias("digest"))
    found = keep(
        differing.groupBy("partition", F.col("source_file").alias("other_source")).agg(
            F.count(F.lit(1)).alias("records"),
            F.min(other).alias("first"),
            F.max(other).alias("last"),
        )
    )
    ends = found.select(
        "partition", F.explode(F.array("first.offset", "last.offset")).alias("offset")
    )
    in_bronze = F.struct(
        *("offset", F.unix_millis("timestamp").alias("at"), _digest().alias("digest"), "source")
    )
    ours = (
        bronze.join(F.broadcast(ends.distinct()), ["partition", "offset"])
        .groupBy("partition")
        .agg(F.collect_list(in_bronze).alias("kept"))
    )
    return finding_frame(found.join(ours, "partition"), _differing_row)


def _differing_row(given: Mapping[str, Any]) -> Row:
    """`first` and `last` are the records in quarantine, `kept` has those of bronze at their offsets."""
    kind, partition, other_source = SourcesDiffer, given["partition"], given["other_source"]
    others = [given["first"], given["last"]]
    kept = {each["offset"]: each for each in given["kept"]}
    ours = [kept.get(each["offset"], _COMPACTED) for each in others]
    facts = []
    for mine, other in zip(ours, others, strict=True):
        facts += [
            (mine, f"{mine['source']}: digest {mine['digest']}, kept"),
            (other, f"{other_source}: digest {other['digest']}, in quarantine"),
        ]
    evidence = [
        {"partition": partition, "offset": record["offset"], "at": record["at"], "fact": fact}
        for record, fact in facts
    ]
    differ = "1 record" if given["records"] == 1 else f"{given['records']} records"
    verb = "differs" if given["records"] == 1 else "differ"
    identity = "/".join((kind.kind, str(partition), other_source))
    return {
        **dict.fromkeys(table_schemas()[TableName.FINDINGS].column_names),
        "finding_id": sha256(identity.encode()).hexdigest()[:ID_DIGITS],
        "kind": kind.kind,
        "severity": kind.severity.value,
        "log_partition": partition,
        "from_at": ours[0]["at"],
        "to_at": max((each["at"] for each in ours if each["at"] is not None), default=None),
        "from_offset": others[0]["offset"],
        "member_ids": [],
        "topics": [],
        "advice": reason_text(advice_for(kind.kind)),
        "detail": f"{differ} of partition {partition}, from offset {others[0]['offset']} on, {verb} between"
        f" {other_source} and {ours[0]['source']}.",
        "evidence": [each for at, each in enumerate(evidence) if each not in evidence[:at]],
    }


def _digest() -> Column:
    """Digest of key and value; null differs from empty."""
    parts = [F.coalesce(F.hex(name), F.lit("null")) for name in ("key", "value")]
    return F.substring(F.sha2(F.concat_ws("/", *parts), 256), 1, DIGEST_DIGITS)
