"""What only the brokers' own log shows, and where it contradicts the log of records."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.finding import Ending, Severity
from rebalance_audit.audit.findings.watcher import Watcher
from rebalance_audit.audit.testimony.witness import line_of, said
from rebalance_audit.sentences.reason import CodedReason, because


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


class _OfLines(Watcher):
    """Looks at the lines about the group that were logged in an epoch."""

    def lines(self, kind: FactKind, span: EpochSpan, end: Ending) -> list[BrokerFact]:
        """Those of one kind, in order of time; none without a broker's log."""
        witness, began_ms = self.scene.life.witness, span.first_position.record_timestamp_ms
        return [
            fact
            for fact in (() if witness is None else witness.of_kind(kind))
            if fact.at_ms >= began_ms and (end.is_open or fact.at_ms <= end.at_ms)
        ]

    def report(
        self,
        span: EpochSpan,
        facts: Sequence[BrokerFact],
        reason: CodedReason,
        line: Callable[[BrokerFact], CodedReason],
        members: Iterable[str | None],
        subject: str,
    ) -> None:
        """Report alike lines as one finding; the first and the last of them are its evidence."""
        self.find(
            span.first_position,
            facts[-1].at_ms,
            reason,
            [said(fact, span.first_position, line(fact)) for fact in (facts[0], *facts[1:][-1:])],
            members=sorted(set(filter(None, members))),
            subject=subject,
        )


class InstanceIdRefused(_OfLines):
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
        refused: defaultdict[str, list[BrokerFact]] = defaultdict(list)
        for fact in self.lines(FactKind.MEMBER_REFUSED, span, end):
            if fact.instance_id is not None and self._is_ours(fact):
                refused[fact.instance_id].append(fact)
        for instance_id, facts in refused.items():
            holder, times = facts[-1].old_member_id, len(facts)
            self.report(
                span,
                facts,
                because("instance_refused", instance=instance_id, times=times, holder=holder),
                lambda fact: because("logged_refusal", member=fact.member_id),
                [holder, *(fact.member_id for fact in facts)],
                instance_id,
            )

    def _is_ours(self, fact: BrokerFact) -> bool:
        """Whether the line is about this group: old releases and 3.6 to 4.x name none in it.

        The member id that was refused is what a client sent, so only the holder of the instance id shows the group.
        """
        if fact.group_id is not None:
            return True
        holder = self.scene.life.watches.get(fact.old_member_id or "")
        return holder is not None and holder.stint.identity.instance_id == fact.instance_id


class CoordinatorTrouble(_OfLines):
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
        for kind in TROUBLES:
            facts = self.lines(kind, span, end)
            if facts:
                what = because(f"trouble.{kind.value}")
                self.report(
                    span,
                    facts,
                    because("trouble", what=what, times=len(facts), text=facts[-1].text),
                    line_of,
                    (each for fact in facts for each in (*fact.members, fact.member_id)),
                    kind.value,
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
