"""What only the brokers' own log shows, and where it contradicts the log of records."""

from collections import defaultdict

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.witness import said, sentence_of
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
            if fact.instance_id is None or fact.at_ms < began_ms or not self._is_ours(fact):
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

    def _is_ours(self, fact: BrokerFact) -> bool:
        """Whether the line is about this group: old releases and 3.6 to 4.x name none in it."""
        members = self.scene.life.watches
        return (
            fact.group_id is not None or fact.old_member_id in members or fact.member_id in members
        )


class CoordinatorTrouble(Watcher):
    """Reports what the coordinator could not do for a group, as it logged it."""

    kind = "coordinator_trouble"
    is_of_subject = True
    definition = (
        "The coordinator logged (`--broker-log`) that it could not load, write, compute or convert something of the "
        "group, or that a join phase ended without members or an assignment without some of them. Such failures leave "
        "no record."
    )
    severity = Severity.WARNING
    advice = (
        "Look at the broker's log at that time for the exception behind the line, and at the health of the partition "
        "of __consumer_offsets."
    )

    def epoch_ended(self, span: EpochSpan, end: Ending) -> None:
        """Report the failures of the epoch, by kind."""
        witness = self.scene.life.witness
        if witness is None:
            return
        began_ms = span.first_position.record_timestamp_ms
        for kind, what in TROUBLES.items():
            facts = [
                fact
                for fact in witness.of_kind(kind)
                if fact.at_ms >= began_ms and (end.is_open or fact.at_ms <= end.at_ms)
            ]
            if not facts:
                continue
            first, last = facts[0], facts[-1]
            why = f": {last.text}" if last.text else ""
            times = f" {len(facts)} times" if len(facts) > 1 else ""
            self.find(
                span.first_position,
                last.at_ms,
                f"The coordinator {what}{times}{why}.",
                [
                    said(fact, span.first_position, sentence_of(fact))
                    for fact in (first, *facts[1:][-1:])
                ],
                members=sorted(
                    {each for fact in facts for each in (*fact.members, fact.member_id) if each}
                ),
                subject=kind.value,
            )


TROUBLES = {
    FactKind.LOAD_FAILED: "could not load the group's partition",
    FactKind.COORDINATOR_RELOADED: "lost track of the group's partition and loaded it anew",
    FactKind.WRITE_FAILED: "could not write to the group's partition",
    FactKind.STORE_FAILED: "could not store the group's state",
    FactKind.ASSIGNMENT_FAILED: "could not compute a target assignment",
    FactKind.ASSIGNMENT_INCOMPLETE: "gave members nothing, since the leader's assignment left them out",
    FactKind.NO_MEMBER_REJOINED: "could not complete a join phase, since no member rejoined",
    FactKind.UPGRADE_REFUSED: "did not convert the group to a consumer group",
    FactKind.DOWNGRADE_REFUSED: "did not convert the group to a classic group",
}
"""Kind of line -> predicate of a sentence about the coordinator."""
