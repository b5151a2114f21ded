"""Findings that only ingests show: rows of gold.findings about the log itself, not about a group."""

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.findings.of_sources import SourcesDiffer
from rebalance_audit.lake.bronze.record_table import DIFFERS
from rebalance_audit.lake.gold.commit_findings import evidence, finding_rows
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.tables.schemas import TableName

DIGEST_DIGITS: Final = 16


def write_source_findings(context: RunContext) -> None:
    """Write findings of all records in which a source has differed from bronze, whichever ingest read it."""
    if context.sink.is_empty(TableName.QUARANTINE):
        return
    differing = context.of_cluster(TableName.QUARANTINE).where(F.col("reason") == DIFFERS)
    if differing.isEmpty():
        return
    rows = source_findings(
        context.lake.stage.keep, differing, context.of_cluster(TableName.RECORDS)
    )
    context.replace(TableName.FINDINGS, rows, F.col("kind") == SourcesDiffer.kind)


def source_findings(
    keep: Callable[[DataFrame], DataFrame], differing: DataFrame, bronze: DataFrame
) -> DataFrame:
    """Rows of gold.findings (without the cluster) from those of silver.quarantine and from bronze; `keep` stages."""
    other = F.struct("offset", F.col("timestamp").alias("at"), _digest().alias("digest"))
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
        "offset", F.col("timestamp").alias("at"), _digest().alias("digest"), "source"
    )
    ours = (
        bronze.join(F.broadcast(ends.distinct()), ["partition", "offset"])
        .groupBy("partition")
        .agg(F.collect_list(in_bronze).alias("kept"))
    )
    with_ours = found.join(ours, "partition").withColumns(
        {f"our_{end}": F.filter("kept", _is_at(end))[0] for end in ("first", "last")}
    )
    facts = F.array_distinct(F.concat(*[_facts(end) for end in ("first", "last")]))
    is_one = F.col("records") == 1
    columns: dict[str, Column | str] = {
        "log_partition": "partition",
        "from_at": "our_first.at",
        "to_at": F.greatest("our_first.at", "our_last.at"),
        "from_offset": "first.offset",
        "detail": F.format_string(
            "%s of partition %d, from offset %d on, %s between %s and %s.",
            F.when(is_one, "1 record").otherwise(F.format_string("%d records", "records")),
            "partition",
            "first.offset",
            F.when(is_one, "differs").otherwise("differ"),
            "other_source",
            "our_first.source",
        ),
        "evidence": facts,
    }
    return finding_rows(with_ours, SourcesDiffer, ("partition", "other_source"), columns)


def _digest() -> Column:
    """Digest of key and value; null differs from empty."""
    parts = [F.coalesce(F.hex(name), F.lit("null")) for name in ("key", "value")]
    return F.substring(F.sha2(F.concat_ws("/", *parts), 256), 1, DIGEST_DIGITS)


def _is_at(end: str) -> Callable[[Column], Column]:
    return lambda record: record["offset"] == F.col(f"{end}.offset")


def _facts(end: str) -> Column:
    """Evidence: the record in bronze and the other one, each with its source and digest."""
    ours, other = F.col(f"our_{end}"), F.col(end)
    return F.array(
        evidence(
            "partition",
            ours,
            F.format_string("%s: digest %s, kept", ours["source"], ours["digest"]),
        ),
        evidence(
            "partition",
            other,
            F.format_string("%s: digest %s, in quarantine", "other_source", other["digest"]),
        ),
    )
