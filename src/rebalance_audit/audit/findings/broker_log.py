"""Where the log of records and the brokers' own log do not agree."""

from rebalance_audit.audit.epoch_span import EpochSpan
from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.audit.findings.watcher import Watcher


class BrokerLogContradiction(Watcher):
    """Reports what the judgement of an epoch found denied; there is something only where a broker's log was given."""

    kind = "broker_log_contradiction"
    definition = (
        "A broker's log (`--broker-log`) says of an epoch what its records deny: another number of members, another "
        "hash of the topics, or a member gone that is there. The epoch's causes then rest on the records alone."
    )
    severity = Severity.WARNING
    advice = (
        "Make sure that the logs are those of this cluster and of this time; if they are, records are missing or "
        "two coordinators served the group at once."
    )

    def epoch_began(self, span: EpochSpan) -> None:
        """Report it with the epoch."""
        if not span.contradictions:
            return
        self.find(
            span.first_position,
            span.first_position.record_timestamp_ms,
            f"The broker's log and the records of epoch {span.epoch} disagree: {span.contradictions[0].fact}.",
            span.contradictions,
        )
