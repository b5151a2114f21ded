"""Rows of gold.findings that Spark makes from other tables; the reducer makes the others from group records."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.findings.finding import ID_DIGITS
from rebalance_audit.audit.findings.finding_kind import FindingKind
from rebalance_audit.sentences.render import advice_for, reason_text
from rebalance_audit.tables.schemas import TableName, table_schemas


def finding_rows(
    found: DataFrame,
    kind: type[FindingKind],
    identity: tuple[str, ...],
    columns: Mapping[str, Column | str],
) -> DataFrame:
    """Rows of the table (without the cluster) of one kind, one for each row of `found`.

    `identity` are the columns that identify a finding. `columns` are those columns of the table that differ from row
    to row: table column -> column of `found`, or an expression. A finding without them is about no group, no member
    and no topic, and has not ended.
    """
    values: dict[str, Column | str] = {
        "finding_id": F.substring(
            F.sha2(F.concat_ws("/", F.lit(kind.kind), *identity), 256), 1, ID_DIGITS
        ),
        "kind": F.lit(kind.kind),
        "severity": F.lit(kind.severity.value),
        "advice": F.lit(reason_text(advice_for(kind.kind))),
        "member_ids": F.array(),
        "topics": F.array(),
        **columns,
    }
    wanted = [
        column for column in table_schemas()[TableName.FINDINGS].columns if column.name != "cluster"
    ]
    return found.select(
        *[
            _column(values.get(column.name)).cast(column.type).alias(column.name)
            for column in wanted
        ]
    )


def evidence(partition: Column | str, record: Column, fact: Column) -> Column:
    """One record that shows a finding; `record` is a struct with `offset` and `at`."""
    return F.struct(
        _column(partition).alias("partition"),
        record["offset"].alias("offset"),
        record["at"].alias("at"),
        fact.alias("fact"),
    )


def _column(value: Column | str | None) -> Column:
    if value is None:
        return F.lit(None)
    return F.col(value) if isinstance(value, str) else value
