"""Subscriptions and protocols: changed without effect, written in two ways, at odds with their names, or mixed."""

from dataclasses import field

from rebalance_audit import limits
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.finding import AtLogEnd, Ending, Severity
from rebalance_audit.audit.findings.spellings import Spellings, digest_of, plain_expression
from rebalance_audit.audit.findings.watcher import Trail, Watcher
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.replay.changes import (
    GenerationCompleted,
    GroupType,
    MemberSubscribed,
    MemberUnsubscribed,
    Position,
    RegexResolved,
)
from rebalance_audit.replay.groups import ClassicGroup, ClassicMember, Group, ModernGroup
from rebalance_audit.sentences.reason import because
from rebalance_audit.wire.consumer_protocol import OWNED_PARTITIONS

COOPERATIVE_MARK = "cooperative"
_REPORTED_MAX = limits.ALIKE_EXPRESSIONS.most


class StaticSubscriptionIgnored(Watcher):
    """Compares a returning static member with the one that it replaces."""

    kind = "static_subscription_ignored"
    is_of_subject = True
    definition = (
        "A static member of a classic group returned with topics that no member has assigned, and "
        "no rebalance followed in the same record: the topics have no owner until the next rebalance."
    )
    changes = (GenerationCompleted,)
    severity = Severity.CRITICAL

    _generation: int = -1
    _topics: dict[str, frozenset[str]] = field(default_factory=dict)
    """Instance id -> topics of its subscription, as of the last record."""
    _open: dict[str, tuple[Position, str, frozenset[str]]] = field(default_factory=dict)

    def epoch_began(self, span: EpochSpan) -> None:
        """Forget the subscriptions under another protocol, which has no such records."""
        if span.protocol != GroupType.CLASSIC:
            self._close(span.first_position.record_timestamp_ms)
            self._topics.clear()

    def changed(self, change: GenerationCompleted, group: Group) -> None:
        """Check further records of a known generation."""
        if not isinstance(group, ClassicGroup):
            return
        position = change.position
        static = {
            member.instance_id: member
            for member in group.members.values()
            if member.instance_id is not None
        }
        topics = {
            instance_id: frozenset(member.subscription.topics)
            for instance_id, member in static.items()
            if member.subscription is not None
        }
        if group.generation == self._generation:
            assigned = {
                str(topic) for member in group.members.values() for topic in member.assigned
            }
            for instance_id, wanted in topics.items():
                new = wanted - self._topics.get(instance_id, wanted) - assigned
                if new:
                    self._open[instance_id] = (position, static[instance_id].member_id, new)
        else:
            self._close(position.record_timestamp_ms)
        self._generation, self._topics = group.generation, topics

    def ended(self, end: Ending) -> None:
        """The condition may still last when the log ends."""
        self._close(end.known_ms)

    def _close(self, end_ms: int | None) -> None:
        for instance_id, (began, member_id, topics) in self._open.items():
            names, code = sorted(topics), "subscribes_without_generation"
            self.find(
                began,
                end_ms,
                because("static_ignored", instance=instance_id, topics=names),
                (evidence_at(began, code, member=member_id, topics=names),),
                members=[member_id],
                topics=names,
                subject=instance_id,
            )
        self._open.clear()


def _topics(member: ClassicMember) -> frozenset[str]:
    return frozenset(member.subscription.topics if member.subscription is not None else ())


class RegexesAlike(Watcher):
    """Compares every new regular expression with those that the group already has."""

    kind = "regexes_alike"
    is_of_subject = True
    definition = (
        "Members subscribe by regular expressions that differ only in outer parentheses or anchors."
    )
    changes = (RegexResolved,)
    severity = Severity.INFO

    _reported: set[str] = field(default_factory=set)
    """Digests of the expressions without the parts that have no effect."""

    def forget(self) -> None:
        """Forget the expressions as well, which a resumed audit compares anew."""
        super().forget()
        self._spellings: Spellings | None = None
        """Of the group's current expressions; made when it is first needed."""
        self._changes: list[RegexResolved] = []

    def changed(self, change: RegexResolved, group: Group) -> None:
        """Collect the write's changes: each is compared with what the group has after all of them."""
        self._changes.append(change)

    def wrote(self, position: Position, group: Group) -> None:
        """Check every new expression."""
        if not isinstance(group, ModernGroup):
            self._spellings = None
        if not self._changes:
            return
        changes, self._changes = self._changes, []
        if not isinstance(group, ModernGroup):
            return
        if self._spellings is None:
            self._spellings = Spellings(group.regexes)
        else:
            for change in changes:
                self._spellings.update(
                    change.regular_expression, change.regular_expression in group.regexes
                )
        for change in changes:
            if change.old is None and change.new is not None:
                self._look(change, self._spellings)

    def _look(self, change: RegexResolved, spellings: Spellings) -> None:
        plain = plain_expression(change.regular_expression)
        digest = digest_of(plain)
        if digest in self._reported or len(self._reported) >= _REPORTED_MAX:
            return
        alike = sorted(spellings.alike(digest) - {change.regular_expression})
        if not alike:
            return
        self._reported.add(digest)
        at_ms = change.position.record_timestamp_ms
        self.find(
            change.position,
            at_ms,
            because("expressions_alike", expression=change.regular_expression, others=alike),
            (
                evidence_at(
                    change.position, "quoted_resolved", expression=change.regular_expression
                ),
            ),
            topics=sorted(change.new or ()),
            subject=plain,
        )


class EagerCooperative(Watcher):
    """Checks which partitions continuing members list as owned when they join a generation."""

    kind = "eager_under_cooperative_name"
    definition = (
        "The group's protocol is a cooperative one, but in {eager_generations} generations in a row every "
        "continuing member that had partitions joined with none: it gave up everything, as the eager protocol "
        "does."
    )
    changes = (GenerationCompleted,)
    severity = Severity.WARNING

    _had: dict[str, bool] = field(default_factory=dict)
    _generation: int = -1
    _run: list[Position] = field(default_factory=list)
    _trail: Trail = field(default_factory=Trail)
    _is_reported: bool = False

    def epoch_began(self, span: EpochSpan) -> None:
        """Start anew under another protocol."""
        if span.protocol != GroupType.CLASSIC:
            self._had, self._generation = {}, -1

    def changed(self, change: GenerationCompleted, group: Group) -> None:
        """Judge each new generation of a group with a cooperative protocol."""
        if isinstance(group, ClassicGroup):
            self._judge(change.position, group)

    def _forget(self) -> None:
        self._run.clear()
        self._trail = Trail()

    def _judge(self, position: Position, group: ClassicGroup) -> None:
        if group.generation == self._generation:
            return
        cooperative = COOPERATIVE_MARK in (group.protocol_name or "")
        if not cooperative:
            self._forget()
        elif not self._is_reported:
            continuing = [
                member for member_id, member in group.members.items() if self._had.get(member_id)
            ]
            if continuing and all(_owns_nothing(member) for member in continuing):
                self._run.append(position)
                self._trail.add(
                    evidence_at(
                        position,
                        "own_nothing",
                        epoch=group.generation,
                        members=len(continuing),
                    )
                )
                self._report(group)
            elif continuing:
                self._forget()
        self._generation = group.generation
        self._had = {
            member_id: bool(member.assigned) for member_id, member in group.members.items()
        }

    def _report(self, group: ClassicGroup) -> None:
        if len(self._run) < self.rules.eager_generations:
            return
        self._is_reported = True
        members = sorted(group.members)
        self.find(
            self._run[0],
            self._run[-1].record_timestamp_ms,
            because(
                "eager_cooperative",
                protocol=group.protocol_name,
                generations=len(self._run),
            ),
            self._trail.evidence(),
            members=members,
        )


def _owns_nothing(member: ClassicMember) -> bool:
    said = member.subscription
    if said is None or OWNED_PARTITIONS in said.unread:
        return False  # unknown
    return not any(numbers for _, numbers in said.owned_partitions)


class Downgrade(Watcher):
    """Checks the causes of classic generations."""

    kind = "protocol_downgraded"
    definition = "A group was downgraded from the consumer protocol to the classic protocol."
    severity = Severity.WARNING

    def epoch_began(self, span: EpochSpan) -> None:
        """Look for a downgrade among the causes of the first classic generation."""
        for verdict in span.verdicts:
            if verdict.cause is RebalanceCause.PROTOCOL_DOWNGRADED:
                self.find(
                    span.first_position,
                    span.first_position.record_timestamp_ms,
                    because("went_back", epoch=span.epoch),
                    verdict.evidence,
                    members=[verdict.member_id] if verdict.member_id else (),
                )
                return


class HalfFinishedMigration(Watcher):
    """Follows which members of a consumer group use the classic protocol."""

    kind = "half_finished_migration"
    definition = (
        "For at least {mixed_ms} a consumer group had members of the classic protocol beside members of the "
        "consumer protocol, and they did not become fewer."
    )
    changes = (MemberSubscribed, MemberUnsubscribed)
    severity = Severity.WARNING
    at_log_end = AtLogEnd.APPEARS

    _classic: set[str] = field(default_factory=set)
    _since: Position | None = None
    """Since when the group has been mixed and had no fewer classic members."""
    _fewest: int = 0
    """The number of classic members that it had then."""

    def epoch_began(self, span: EpochSpan) -> None:
        """End the mixed period if the group is classic."""
        if span.protocol == GroupType.CLASSIC:
            self._close(Ending(span.first_position.record_timestamp_ms))
            self._classic.clear()

    def changed(self, change: MemberSubscribed | MemberUnsubscribed, group: Group) -> None:
        """Follow the members of a consumer group."""
        if not isinstance(group, ModernGroup) or group.group_type is not GroupType.CONSUMER:
            return
        member = group.members.get(change.member_id)
        if (
            isinstance(change, MemberSubscribed)
            and member is not None
            and member.classic is not None
        ):
            self._classic.add(change.member_id)
        elif change.member_id in self._classic:
            if len(self._classic) == 1:
                self._close(Ending(change.position.record_timestamp_ms))
            self._classic.discard(change.member_id)
        mixed = 0 < len(self._classic) < len(group.members)
        continues = mixed and self._since is not None and len(self._classic) < self._fewest
        if continues or not mixed:
            self._close(Ending(change.position.record_timestamp_ms))
        if mixed and self._since is None:
            self._since, self._fewest = change.position, len(self._classic)

    def ended(self, end: Ending) -> None:
        """The group may still be mixed when the log ends."""
        self._close(end)

    def _close(self, end: Ending) -> None:
        since, self._since = self._since, None
        least_ms = self.rules.mixed_ms
        if since is None or not end.reached(since.record_timestamp_ms + least_ms):
            return
        members, lasted = sorted(self._classic), end.lasted(since.record_timestamp_ms, least_ms)
        reason = because("half_migrated_over", lasted=lasted)
        if members:
            reason = because("half_migrated", lasted=lasted, members=members)
        self.find(
            since,
            end.known_ms,
            reason,
            (evidence_at(since, "both_protocols"),),
            members=members,
        )
