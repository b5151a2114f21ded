"""What the tests of findings share: the audit of a story with given thresholds and names."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.thresholds import FindingRules
from tests.dsl import TOPIC_NAMES, Log, log

Write = tuple[int, str]
RULES = FindingRules()


def found_in(records: Log, options: AuditOptions | None = None, **thresholds: int) -> list[Row]:
    """Rows of findings of a log."""
    options = options or AuditOptions(topic_name=TOPIC_NAMES.get)
    return audit_log(records, replace(options, findings=FindingRules(**thresholds)))["findings"]


def findings(
    *writes: Write, options: AuditOptions | None = None, **thresholds: int
) -> dict[str, list[Row]]:
    """Findings of (time, write) pairs by kind."""
    by_kind: dict[str, list[Row]] = {}
    for row in found_in(log(*writes), options, **thresholds):
        by_kind.setdefault(row["kind"], []).append(row)
    return by_kind


def only(found: dict[str, list[Row]], kind: str) -> Row:
    """The one finding of the kind."""
    assert len(found.get(kind, ())) == 1, found
    return found[kind][0]


def pick(row: Row, *columns: str) -> tuple[Any, ...]:
    """Some columns of a row."""
    return tuple(row[column] for column in columns)


def facts(row: Row) -> Sequence[str]:
    """The facts of a finding's evidence."""
    return [item["fact"] for item in row["evidence"]]
