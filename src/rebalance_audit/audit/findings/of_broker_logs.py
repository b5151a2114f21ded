"""What only the brokers' own log shows, and where it contradicts the log of records."""

from collections import defaultdict

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.witness import said
from rebalance_audit.audit.findings.ending import Ending
from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.audit.findings.watcher import Watcher
from rebalance_audit.audit.group.epoch_span import EpochSpan


class BrokerLogContradiction(Watcher):
    """Reports the contradictions found in an epoch; there are none without a broker's log."""

    kind = "broker_log_contradiction"
    definition = (
        "A broker's log (`--broker-log`) contradicts the records of an epoch: another number of members, another "
        "hash of the topics, or a member gone that is there. The epoch's causes then rest on the records alone."
    )
    severity = Severity.WARNING
    advice = (
        "Make sure that the logs are those of this cluster and of this time; if they are, records are missing or "
        "two coordinators served the group at once."
    )

    def epoch_began(self, span: EpochSpan) -> None:
        """Report the epoch's contradictions."""
        if not span.contradictions:
            return
        self.find(
            span.first_position,
            span.first_position.record_timestamp_ms,
            f"The broker's log and the records of epoch {span.epoch} disagree: {span.contradictions[0].fact}.",
            span.contradictions,
        )


class InstanceIdRefused(Watcher):
    """Reports the static members that were refused during an epoch, by instance id."""

    kind = "instance_id_refused"
    is_of_subject = True
    definition = (
        "A static member was turned away because another member id holds its instance id (UNRELEASED_INSTANCE_ID or "
        "FENCED_INSTANCE_ID), as a broker's log (`--broker-log`) says; a refused join leaves no record."
    )
    severity = Severity.WARNING
    advice = (
        "The instance id is free when the session of its holder ends, or when an administrator removes the holder. "
        "See to it that a client that stops says so, and that no two processes share an instance id."
    )

    def epoch_ended(self, span: EpochSpan, end: Ending) -> None:
        """Report the refusals of the epoch."""
        witness = self.scene.life.witness
        if witness is None:
            return
        refused: defaultdict[str, list[BrokerFact]] = defaultdict(list)
        began_ms = span.first_position.record_timestamp_ms
        for fact in witness.of_kind(FactKind.MEMBER_REFUSED):
            if fact.instance_id is None or fact.at_ms < began_ms:
                continue
            if end.is_open or fact.at_ms <= end.at_ms:
                refused[fact.instance_id].append(fact)
        for instance_id, facts in refused.items():
            last = facts[-1]
            self.find(
                span.first_position,
                last.at_ms,
                f"Instance {instance_id} was refused {len(facts)} time(s) while member {last.old_member_id} "
                "held its id.",
                [
                    said(fact, span.first_position, f"member {fact.member_id} refused")
                    for fact in (facts[0], *facts[1:][-1:])
                ],
                members=sorted(
                    {
                        each
                        for fact in facts
                        for each in (fact.member_id, last.old_member_id)
                        if each
                    }
                ),
                subject=instance_id,
            )
