"""Groups between two protocols: downgraded, or mixed for a long time."""

from dataclasses import field

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.findings.ending import Ending
from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.audit.findings.finding_kind import AtLogEnd
from rebalance_audit.audit.findings.watcher import Watcher
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.replay.changes import (
    GroupType,
    MemberSubscribed,
    MemberUnsubscribed,
    Position,
)
from rebalance_audit.replay.groups.modern_group import ModernGroup
from rebalance_audit.replay.groups.slot import Group
from rebalance_audit.sentences.reason import because


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
        goes_on = mixed and self._since is not None and len(self._classic) < self._fewest
        if goes_on or not mixed:
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
