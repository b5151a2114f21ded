"""Bugs planted in rules of the state machine: each is caught within a few seeds, by the check meant for it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

from rebalance_audit.coordinator import offset_commits
from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.consumer import reconciliation
from rebalance_audit.coordinator.consumer.departure import remove_members
from rebalance_audit.coordinator.consumer.member_change import settle
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.classic import JoinGroupResponse
from rebalance_audit.replay.step import ReplayError
from rebalance_audit.sim.brokers import compaction
from rebalance_audit.sim.brokers.partition_log import LogSegment, PartitionLog, replay_batch
from rebalance_audit.sim.invariants.rules import InvariantBrokenError
from rebalance_audit.sim.options import Overrides
from rebalance_audit.sim.scenario import NotConvergedError, simulate
from rebalance_audit.wire.generated.messages import ConsumerGroupMetadataValue

pytestmark = pytest.mark.swarm

Patch = Callable[[pytest.MonkeyPatch], None]
SEEDS = (0, 11, 4, *range(40))
CAUGHT = (InvariantBrokenError, ReplayError, NotConvergedError)


def partitions_are_given_before_they_are_free(patch: pytest.MonkeyPatch) -> None:
    """A joining member gets partitions that another one still has."""
    patch.setattr(reconciliation, "_available", lambda *_: True)


def revocation_is_not_awaited(patch: pytest.MonkeyPatch) -> None:
    """Partitions count as given up as soon as the coordinator wants them."""
    patch.setattr(reconciliation, "_owns_any", lambda *_: False)


def sessions_never_end(patch: pytest.MonkeyPatch) -> None:
    """No session timer of the consumer protocol is armed."""
    patch.setattr(Work, "arm_session", lambda *_: None)


def a_departure_bumps_nothing(patch: pytest.MonkeyPatch) -> None:
    """Members leave, and the group epoch stays."""

    def removed(work: Work, *arguments: Any) -> None:
        remove_members(work, *arguments)
        work.outcome.records = [
            draft
            for draft in work.outcome.records
            if not isinstance(draft.value, ConsumerGroupMetadataValue)
        ]

    patch.setattr("rebalance_audit.coordinator.consumer.handlers.remove_members", removed)


def a_member_runs_ahead_of_the_target(patch: pytest.MonkeyPatch) -> None:
    """A member's epoch moves beyond the assignment epoch."""
    moved = reconciliation._moved

    def ahead(*args: Any, **named: Any) -> Any:
        member = moved(*args, **named)
        member.member_epoch += 1
        return member

    patch.setattr(reconciliation, "_moved", ahead)


def state_is_changed_without_a_record(patch: pytest.MonkeyPatch) -> None:
    """A handler writes to a member that only replay may write to."""

    def settled(work: Work, updated: Any, *args: Any, **named: Any) -> Any:
        known = work.group.members.get(updated.member_id)
        if known is not None:
            known.rack_id = "elsewhere"
        return settle(work, updated, *args, **named)

    patch.setattr("rebalance_audit.coordinator.consumer.handlers.settle", settled)


def everybody_leads(patch: pytest.MonkeyPatch) -> None:
    """Each classic member gets an answer as the leader."""
    membership = LiveGroup.membership

    def as_leader(live: LiveGroup, member_id: str) -> JoinGroupResponse:
        members = membership(live, live.leader_member_id or "").members
        return membership(live, member_id)._replace(leader=member_id, members=members)

    patch.setattr(LiveGroup, "membership", as_leader)


def generations_are_counted_backwards(patch: pytest.MonkeyPatch) -> None:
    """From the fifth on, the next generation has the number of the one before the last."""
    start = LiveGroup.start_generation

    def started(live: LiveGroup, now_ms: int) -> None:
        start(live, now_ms)
        if live.generation > 4:
            live.generation -= 3

    patch.setattr(LiveGroup, "start_generation", started)


def commits_are_acknowledged_and_not_written(patch: pytest.MonkeyPatch) -> None:
    """The answer says NONE and there is no record."""
    write = offset_commits.OffsetCommits._write

    def written(self: Any, committer: Any, error: ErrorCode, *times: int) -> Any:
        records, answered = write(self, committer, error, *times)
        return records[1:], answered

    patch.setattr(offset_commits.OffsetCommits, "_write", written)


def the_next_coordinator_misses_the_last_batch(patch: pytest.MonkeyPatch) -> None:
    """A load ends one batch too early."""
    batches = PartitionLog.batches

    def replay_into(self: PartitionLog, shard: Any) -> None:
        for batch in list(batches(self))[:-1]:
            replay_batch(self.log_partition, batch, shard)

    patch.setattr(PartitionLog, "replay_into", replay_into)


def the_cleaner_keeps_the_first_record(patch: pytest.MonkeyPatch) -> None:
    """The oldest record of every key stays instead of the newest."""

    def earliest(segments: list[LogSegment], _: set[int]) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for segment in segments:
            for batch in segment.read():
                for record in batch.records:
                    found.setdefault(record.key or b"", record.log_offset)
        return found

    patch.setattr(compaction, "_latest", earliest)


BUGS: Sequence[tuple[Patch, Iterable[type[Exception]]]] = (
    (partitions_are_given_before_they_are_free, (InvariantBrokenError, ReplayError)),
    (revocation_is_not_awaited, (InvariantBrokenError,)),
    (sessions_never_end, (NotConvergedError,)),
    (a_departure_bumps_nothing, (NotConvergedError,)),
    (a_member_runs_ahead_of_the_target, (InvariantBrokenError, ReplayError)),
    (state_is_changed_without_a_record, (InvariantBrokenError,)),
    (everybody_leads, (InvariantBrokenError,)),
    (generations_are_counted_backwards, (InvariantBrokenError, ReplayError)),
    (commits_are_acknowledged_and_not_written, (InvariantBrokenError,)),
    (the_next_coordinator_misses_the_last_batch, (InvariantBrokenError,)),
    (the_cleaner_keeps_the_first_record, (InvariantBrokenError,)),
)


@pytest.mark.parametrize(("bug", "caught_by"), BUGS, ids=[bug.__name__ for bug, _ in BUGS])
def test_a_planted_bug_is_caught(
    bug: Patch, caught_by: Iterable[type[Exception]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the first seeds, and by the check meant for it."""
    bug(monkeypatch)
    found: Exception | None = None
    for seed in SEEDS:
        try:
            simulate(seed, Overrides(minutes=2))
        except CAUGHT as error:
            found = error
            break
    assert found is not None, "no seed saw it"
    assert isinstance(found, tuple(caught_by)), repr(found)
