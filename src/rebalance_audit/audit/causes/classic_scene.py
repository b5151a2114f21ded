"""One finished generation of a classic group, the one before, and everything else that patterns look at."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.audit.causes.departure_model import posteriors_of
from rebalance_audit.audit.causes.departures import verdict_of
from rebalance_audit.audit.commits.rhythm import SHOWS_RHYTHM, CommitRhythm
from rebalance_audit.audit.commits.summary import CommitSummary
from rebalance_audit.audit.epochs.generation_delta import GenerationDelta
from rebalance_audit.audit.members.stint import MemberWatch
from rebalance_audit.audit.ownership.commit_book import CommitBook
from rebalance_audit.audit.ownership.ownership import Ownership
from rebalance_audit.audit.verdicts.cause import DepartureFacts, Phase, Verdict
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.classic import Kind, kind_of
from rebalance_audit.replay.groups import ClassicMember
from rebalance_audit.replay.partitions import Partitions, TopicPartition, partitions_of, union_of
from rebalance_audit.wire.consumer_protocol import OWNED_PARTITIONS, PROTOCOL_TYPE

_Committed: TypeAlias = Mapping[str, Sequence[tuple[TopicPartition, CommitSummary]]]
"""Member id -> each partition that it owns and has committed."""
_CLOCKS_MS: Final = 1_000
"""A commit that is so little younger than the end of the join phase was made before it."""


class Generation(NamedTuple):
    """One finished generation of a classic group."""

    generation: int
    protocol_name: str | None
    leader_member_id: str | None
    members: Mapping[str, ClassicMember]
    position: Position
    has_static: bool
    joined_at_ms: int | None = None
    """End of the join phase (epoch ms), at which the timers of all members restarted; None if unknown."""
    since_ms: int | None = None
    """When the group entered the state in its last record (epoch ms, coordinator's clock); None in old layouts."""
    protocol_type: str = PROTOCOL_TYPE

    @property
    def kind(self) -> Kind:
        """Whose group it is."""
        return kind_of(self.protocol_type, self.protocol_name)

    def unread(self) -> list[ClassicMember]:
        """The consumers whose assignment cannot be read: their partitions are unknown."""
        if not self.kind.owns_partitions:
            return []
        return [
            member
            for member in self.members.values()
            if member.assignment is None and member.assignment_bytes
        ]

    def assigned(self) -> Partitions:
        """Every partition that the generation assigns."""
        return union_of(member.assigned for member in self.members.values())

    def owned_before(self) -> Partitions | None:
        """Every partition that a member listed as owned when it joined this generation (cooperative members).

        None if a member's subscription does not show.
        """
        owned: list[Partitions] = []
        for member in self.members.values():
            said = member.subscription
            if said is None or OWNED_PARTITIONS in said.unread:
                return None
            owned.append(partitions_of(said.owned_partitions))
        return union_of(owned)


class ClassicScene(NamedTuple):
    """Everything that a pattern may look at."""

    old: Generation | None
    """The previous generation; None at the start of the group or of the log."""
    new: Generation
    delta: GenerationDelta
    """How their members differ."""
    watches: Mapping[str, MemberWatch]
    first: bool
    """Whether the generation is the first of a group that began in this log."""
    downgraded: bool
    """Whether the previous record downgraded a consumer group to this one."""
    skipped: int
    """Number of generations between the two records: rebalances that left no record."""
    replaced: Mapping[str, ClassicMember]
    """New member id -> the old static member with the same instance id."""
    book: CommitBook
    ownership: Ownership
    gap: bool
    """Whether records may be missing between the two, or before the first."""

    @property
    def is_unread(self) -> bool:
        """Whether an assignment of either generation cannot be read."""
        return bool(self.new.unread() or (self.old is not None and self.old.unread()))

    def ends(self, member_ids: Sequence[str]) -> dict[str, Verdict]:
        """Why members of the previous generation are not in this one; without those that the audit never saw."""
        known = [each for each in member_ids if each in self.watches]
        if not known:
            return {}
        committed = self.book.by_member(self.ownership)
        phase, newcomers = self._phase(committed), self._newcomers()
        facts = {
            each: self._facts_of(
                self.watches[each],
                self._rhythm_of(each, committed),
                phase,
                newcomers,
                len(member_ids) - 1,
            )
            for each in known
        }
        return {
            each: verdict_of(facts[each], posterior, self.watches[each], self.new.position)
            for each, posterior in zip(facts, posteriors_of(list(facts.values())), strict=True)
        }

    def _rhythm_of(self, member_id: str, committed: _Committed) -> CommitRhythm | None:
        """How often the member commits; None if it has committed nothing that it owns."""
        own = committed.get(member_id)
        if own is None:
            return None
        return self.book.rhythm_of((each for each, _ in own), with_round=True)

    def _newcomers(self) -> AbstractSet[tuple[str, str]]:
        return {(each.client_id, each.client_host) for each in self.delta.joined}

    def _facts_of(
        self,
        watch: MemberWatch,
        rhythm: CommitRhythm | None,
        phase: Phase | None,
        newcomers: AbstractSet[tuple[str, str]],
        gone_together: int,
    ) -> DepartureFacts:
        old, new, gone = self.old, self.new, self.new.position
        gone_ms = gone.record_timestamp_ms if new.joined_at_ms is None else new.joined_at_ms
        joined_ms = watch.last_life.record_timestamp_ms
        if old is not None and old.joined_at_ms is not None:
            joined_ms = old.joined_at_ms
        identity, last = watch.stint.identity, watch.last_commit
        since_ms = None if last is None else gone_ms - last.position.record_timestamp_ms
        same = last is not None and last.position.leader_epoch == gone.leader_epoch
        is_plain = last is not None and not last.position.is_transactional
        habits, session_ms = self.book.habits, identity.session_timeout_ms
        if not (is_plain or (rhythm is not None and rhythm.commits >= SHOWS_RHYTHM)):
            since_ms = None
        elif since_ms is not None and since_ms < 0:
            since_ms = 0 if since_ms > -_CLOCKS_MS else None
        if phase is not None and (identity.client_id, identity.client_host) in newcomers:
            phase = phase._replace(client_joined=True)
        seen_ms = max(0, gone_ms - joined_ms)
        return DepartureFacts(
            gone_ms,
            True,
            identity.instance_id is not None,
            () if session_ms is None else (session_ms,),
            session_ms is not None,
            identity.rebalance_timeout_ms,
            seen_ms if watch.last_life.leader_epoch == gone.leader_epoch else None,
            seen_ms,
            since_ms,
            is_plain and same,
            same,
            rhythm,
            habits.idle_commits(identity.client_id),
            habits.idle_in_group,
            habits.closed_with_commit,
            habits.closed_without_commit,
            phase,
            gone_together=gone_together,
        )

    def _phase(self, committed: _Committed) -> Phase | None:
        """The join phase that a member of the previous generation missed."""
        old, new = self.old, self.new
        if old is None or old.joined_at_ms is None or new.joined_at_ms is None:
            return None
        silent_ms, rhythm, idle = None, None, 0
        stayed = [
            (watch.last_commit.position.record_timestamp_ms, each)
            for each in new.members
            if (watch := self.watches.get(each)) is not None and watch.last_commit is not None
        ]
        if stayed:
            last_ms, latest = max(stayed)
            silent_ms = max(0, new.joined_at_ms - last_ms)
            rhythm = self._rhythm_of(latest, committed)
            idle = self.book.habits.idle_commits(new.members[latest].client_id)
        return Phase(
            max(member.rebalance_timeout_ms for member in old.members.values()),
            silent_ms,
            rhythm,
            idle,
            len(old.members.keys() ^ new.members.keys()) - 1,
            self.skipped,
            not new.members,
        )


def replaced_by(old: Generation | None, new: Generation) -> Mapping[str, ClassicMember]:
    """New member id -> the old static member with the same instance id."""
    if old is None or not old.has_static or not new.has_static:
        return {}
    by_instance = {
        member.instance_id: member
        for member in old.members.values()
        if member.instance_id is not None and member.member_id not in new.members
    }
    return {
        member.member_id: by_instance[member.instance_id]
        for member in new.members.values()
        if member.instance_id in by_instance and member.member_id not in old.members
    }
