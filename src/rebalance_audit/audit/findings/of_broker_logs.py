"""What only the brokers' own log shows, and where it contradicts the log of records."""

from collections import defaultdict
from typing import Final

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.ending import Ending
from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.audit.findings.watcher import Watcher
from rebalance_audit.audit.testimony.witness import line_of, said
from rebalance_audit.sentences.reason import because


class BrokerLogContradiction(Watcher):
    """Reports the contradictions found in an epoch; there are none without a broker's log."""

    kind = "broker_log_contradiction"
    definition = (
        "A broker's log (`--broker-log`) contradicts the records of an epoch: another number of members, another "
        "hash of the topics, or a member gone that is there. The epoch's causes then rest on the records alone."
    )
    severity = Severity.WARNING

    def epoch_began(self, span: EpochSpan) -> None:
        """Report the epoch's contradictions."""
        if not span.contradictions:
            return
        self.find(
            span.first_position,
            span.first_position.record_timestamp_ms,
            because("log_contradicts", epoch=span.epoch, line=span.contradictions[0].fact),
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
                because(
                    "instance_refused",
                    instance=instance_id,
                    times=len(facts),
                    holder=last.old_member_id,
                ),
                [
                    said(
                        fact,
                        span.first_position,
                        because("logged_refusal", member=fact.member_id),
                    )
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
        """Whether the line is about this group: old releases and 3.6 to 4.x name none in it.

        The member id that was refused is what a client sent, so only the holder of the instance id shows the group.
        """
        if fact.group_id is not None:
            return True
        holder = self.scene.life.watches.get(fact.old_member_id or "")
        return holder is not None and holder.stint.identity.instance_id == fact.instance_id


class CoordinatorTrouble(Watcher):
    """Reports what the coordinator could not do for a group, as it logged it."""

    kind = "coordinator_trouble"
    is_of_subject = True
    definition = (
        "The coordinator logged (`--broker-log`) that it could not load, write, compute or convert something of the "
        "group, or that a join phase ended without members or an assignment without some of them. Such failures leave "
        "no record. From 4.3 on a log at INFO has no line about writes that fail as the partition moves."
    )
    severity = Severity.WARNING

    def epoch_ended(self, span: EpochSpan, end: Ending) -> None:
        """Report the failures of the epoch, by kind."""
        witness = self.scene.life.witness
        if witness is None:
            return
        began_ms = span.first_position.record_timestamp_ms
        for kind in TROUBLES:
            facts = [
                fact
                for fact in witness.of_kind(kind)
                if fact.at_ms >= began_ms and (end.is_open or fact.at_ms <= end.at_ms)
            ]
            if not facts:
                continue
            first, last = facts[0], facts[-1]
            self.find(
                span.first_position,
                last.at_ms,
                because(
                    "trouble",
                    what=because(f"trouble.{kind.value}"),
                    times=len(facts),
                    text=last.text,
                ),
                [
                    said(fact, span.first_position, line_of(fact))
                    for fact in (first, *facts[1:][-1:])
                ],
                members=sorted(
                    {each for fact in facts for each in (*fact.members, fact.member_id) if each}
                ),
                subject=kind.value,
            )


TROUBLES: Final = (
    FactKind.LOAD_FAILED,
    FactKind.COORDINATOR_RELOADED,
    FactKind.WRITE_FAILED,
    FactKind.STORE_FAILED,
    FactKind.ASSIGNMENT_FAILED,
    FactKind.ASSIGNMENT_INCOMPLETE,
    FactKind.NO_MEMBER_REJOINED,
    FactKind.UPGRADE_REFUSED,
    FactKind.DOWNGRADE_REFUSED,
    FactKind.CLASSIC_JOIN_REFUSED,
)
"""Kinds of lines about what a coordinator could not do."""
