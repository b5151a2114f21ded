"""What offset commits show. An audit of groups ignores them; the lake, which decodes them, makes these rows."""

from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.audit.findings.finding_kind import AtLogEnd, FindingKind


class HangingTransaction(FindingKind):
    """A transaction that is never ended."""

    kind = "hanging_transaction"
    definition = (
        "Offsets were committed in a transaction that has neither been committed nor aborted for at least "
        "{hanging_ms} when the log ends; until then clients that ask for stable offsets of these partitions get none."
    )
    severity = Severity.CRITICAL
    at_log_end = AtLogEnd.APPEARS


class TopicGrowth(FindingKind):
    """A group that fills the log."""

    kind = "topic_growth"
    definition = (
        "The group wrote at least {growth_records} records of one type in an hour, offset commits or others. One "
        "finding for each day and type, about all such hours of the day."
    )
    severity = Severity.INFO
