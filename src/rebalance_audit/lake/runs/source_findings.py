"""Findings that only ingests show: rows of gold.findings about the log itself, not about a group."""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.findings.finding import ID_DIGITS
from rebalance_audit.audit.findings.kinds import SourcesDiffer
from rebalance_audit.audit.rows import Row
from rebalance_audit.lake.bronze.record_table import DIFFERS
from rebalance_audit.lake.gold.commit_findings import finding_frame
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.sentences.render import advice_for, reason_text
from rebalance_audit.tables.schemas import TableName, table_schemas

DIGEST_DIGITS: Final = 16
_COMPACTED: Final[Row] = {"offset": None, "at": None, "digest": "null", "source": "null"}


def write_source_findings(context: RunContext) -> None:
    """Write findings of all records in which a source has differed from bronze, whichever ingest read it."""
    if context.sink.is_empty(TableName.QUARANTINE):
        return
    differing = context.sink.for_cluster(TableName.QUARANTINE).where(F.col("reason") == DIFFERS)
    if differing.isEmpty():
        return
    rows = source_findings(
        context.lake.stage.keep, differing, context.sink.for_cluster(TableName.RECORDS)
    )
    context.replace(TableName.FINDINGS, rows, F.col("kind") == SourcesDiffer.kind)


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
    return finding_frame(found.join(ours, "partition"), _row)


def _row(given: Mapping[str, Any]) -> Row:
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
