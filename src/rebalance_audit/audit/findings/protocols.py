"""Groups between two protocols: gone back, or halfway for long."""

from collections.abc import Sequence

from rebalance_audit.audit.cause import RebalanceCause
from rebalance_audit.audit.departures import evidence_at, join_names
from rebalance_audit.audit.epoch_span import EpochSpan
from rebalance_audit.audit.findings.finding import Severity, spell_ms
from rebalance_audit.audit.findings.watcher import Scene, Watcher
from rebalance_audit.audit.writes import Step
from rebalance_audit.coordinator.changes import (
    GroupType,
    MemberSubscribed,
    MemberUnsubscribed,
    Position,
)
from rebalance_audit.coordinator.modern.group import ModernGroup
from rebalance_audit.coordinator.slot import Group


class Downgrade(Watcher):
    """Looks at the causes of classic generations."""

    kind = "protocol_downgraded"
    definition = "A group went back from the consumer protocol to the classic one."
    severity = Severity.WARNING
    advice = (
        "If nobody rolled back on purpose, look for the last members of an old release or configuration that "
        "joined."
    )

    def epoch_began(self, span: EpochSpan) -> None:
        """The first classic generation says so."""
        for verdict in span.verdicts:
            if verdict.cause is RebalanceCause.PROTOCOL_DOWNGRADED:
                self.find(
                    span.first_position,
                    span.first_position.record_timestamp_ms,
                    f"The group went back to the classic protocol with generation {span.epoch}.",
                    verdict.evidence,
                    members=[verdict.member_id] if verdict.member_id else (),
                )
                return


class HalfFinishedMigration(Watcher):
    """Follows which members of a consumer group speak the classic protocol."""

    kind = "half_finished_migration"
    definition = (
        "For at least {mixed_ms} a consumer group had members of the classic protocol beside members of the "
        "consumer protocol."
    )
    severity = Severity.WARNING
    advice = (
        "Move the members named here to group.protocol=consumer as well; until then every rebalance waits for the "
        "slower protocol."
    )

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._classic: set[str] = set()
        self._since: Position | None = None

    def wrote(self, write: Sequence[Step], group: Group | None) -> None:
        """Follow the members of a consumer group; any other group is not mixed."""
        position = write[-1].position
        if not isinstance(group, ModernGroup) or group.group_type is not GroupType.CONSUMER:
            self._close(position.record_timestamp_ms, going_on=False)
            self._classic.clear()
            return
        for step in write:
            for change in step.changes:
                if isinstance(change, MemberSubscribed):
                    member = group.members.get(change.member_id)
                    if member is not None and member.classic is not None:
                        self._classic.add(change.member_id)
                    else:
                        self._discard(change.member_id, position)
                elif isinstance(change, MemberUnsubscribed):
                    self._discard(change.member_id, position)
        mixed = 0 < len(self._classic) < len(group.members)
        if mixed and self._since is None:
            self._since = position
        elif not mixed:
            self._close(position.record_timestamp_ms, going_on=False)

    def ended(self, position: Position | None, end_ms: int) -> None:
        """It may still be so when the log ends."""
        self._close(end_ms, going_on=position is None)
        self._classic.clear()

    def _discard(self, member_id: str, position: Position) -> None:
        if self._classic == {member_id}:
            self._close(position.record_timestamp_ms, going_on=False)
        self._classic.discard(member_id)

    def _close(self, end_ms: int, *, going_on: bool) -> None:
        since, self._since = self._since, None
        if since is None or end_ms - since.record_timestamp_ms < self.rules.mixed_ms:
            return
        members = sorted(self._classic)
        self.find(
            since,
            None if going_on else end_ms,
            f"Members of both protocols were in the group for {spell_ms(end_ms - since.record_timestamp_ms)}; "
            "still classic: "
            f"{join_names(members) or 'none by then'}.",
            (evidence_at(since, "members of both protocols from here on"),),
            members=members,
        )
