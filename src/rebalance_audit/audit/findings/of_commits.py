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
    advice = (
        "Find it with `kafka-transactions find-hanging`, and end it with `kafka-transactions abort`; then look for the "
        "producer that died or lost its transactional.id."
    )
    at_log_end = AtLogEnd.APPEARS


class TopicGrowth(FindingKind):
    """A group that fills the log."""

    kind = "topic_growth"
    definition = (
        "The group wrote at least {growth_records} records of one type in an hour, offset commits or others. One "
        "finding for each day and type, about all such hours of the day."
    )
    severity = Severity.INFO
    advice = (
        "Commit less often (auto.commit.interval.ms, or after a batch instead of after a record); a client that "
        "commits many times a second on few partitions may be retrying on a deleted topic."
    )
