"""Shortcuts for routine work: the outcome is the same as without them."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.coordinator.handling import Dialect, RecordDraft
from rebalance_audit.coordinator.requests.classic import HeartbeatRequest
from rebalance_audit.coordinator.requests.consumer import ConsumerGroupHeartbeatRequest
from rebalance_audit.replay.shard import Shard
from rebalance_audit.sim.brokers.broker import Changed, Happening, Observer, ServedPartition
from rebalance_audit.sim.brokers.dialects import encode_commits, encode_draft, plain_commits
from rebalance_audit.sim.invariants.rules import require_equal
from rebalance_audit.sim.options import Overrides, draw_options
from rebalance_audit.sim.scenario import Simulation
from rebalance_audit.wire.generated.messages import ZERO_UUID, OffsetCommitKey, OffsetCommitValue
from rebalance_audit.wire.records import Record, decode_record
from tests.sim.test_simulations import written
from tests.support.examples import examples

pytestmark = pytest.mark.swarm


class HeartbeatCounter(Observer):
    """Counts the heartbeats that coordinators serve in full."""

    def __init__(self) -> None:
        """None so far."""
        self.served = 0

    def moved(self, shard: ServedPartition, happening: Happening, changed: Changed) -> None:
        """Count."""
        del shard, changed
        kinds = HeartbeatRequest | ConsumerGroupHeartbeatRequest
        self.served += isinstance(happening.request, kinds)


@pytest.mark.parametrize(
    ("seed", "faults"),
    [*((seed, False) for seed in range(60, 66)), *((seed, True) for seed in (2, 7, 11, 23, 31))],
)
def test_quiet_heartbeats_in_place_leave_the_bytes_and_the_truth_as_they_are(
    seed: int, faults: bool, tmp_path: Path
) -> None:
    """Sessions end at the same ms, and no observer sees that a heartbeat was not sent."""
    served = []
    for takes_shortcuts in (True, False):
        # Without faults no member joins, leaves or changes in the second minute.
        minutes = 2 if faults else 1
        options = draw_options(seed, Overrides(minutes=minutes, groups=6, faults=faults))
        if faults:
            for name in ("loss_probability", "duplication_probability", "delay_probability"):
                setattr(options.network, name, 0.0)  # else no heartbeat is quiet
        simulation = Simulation(seed, options)
        counter = HeartbeatCounter()
        simulation.cluster.observers.append(counter)
        simulation.cluster.takes_shortcuts = takes_shortcuts
        simulation.run()
        simulation.write(tmp_path / str(takes_shortcuts))
        served.append(counter.served)
    assert written(tmp_path / "True") == written(tmp_path / "False")
    assert served[0] < served[1] * 0.8


def commits(dialect: Dialect) -> st.SearchStrategy[list[RecordDraft]]:
    """Offset commits of one group as a coordinator of that release drafts them."""
    ids = [ZERO_UUID]
    if dialect not in {Dialect.R3_7, Dialect.R3_9, Dialect.R4_0}:
        ids.append(bytes(range(16)))
    value = st.builds(
        OffsetCommitValue,
        st.integers(0, 2**63 - 1),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
        st.integers(0, 2**62),
        st.integers(-1, 2**31 - 1),
        st.just(-1),
        st.sampled_from(ids),
    )
    key = st.builds(
        OffsetCommitKey, st.just("größe"), st.sampled_from(["a", "b"]), st.integers(0, 3)
    )
    return st.lists(st.builds(RecordDraft, key, value), min_size=1, max_size=8)


@pytest.mark.parametrize("dialect", list(Dialect))
@settings(max_examples=examples(25))
@given(data=st.data())
def test_plain_commits_say_in_their_bytes_what_their_drafts_say(
    dialect: Dialect, data: st.DataObject
) -> None:
    """They are known without decoding; the bytes are the same as those of the general encoder."""
    drafts = data.draw(commits(dialect))
    plain = plain_commits(drafts, dialect)
    assert plain is not None
    encoded = encode_commits(plain, dialect)
    assert encoded == [encode_draft(draft, dialect) for draft in drafts]
    for draft, (key, value) in zip(drafts, encoded, strict=True):
        record = decode_record(key, value)
        assert isinstance(record, Record)
        assert (record.key, record.value) == draft


KEY = OffsetCommitKey("g", "t", 0)


@pytest.mark.parametrize(
    "draft",
    [
        RecordDraft(KEY, None),
        RecordDraft(KEY, OffsetCommitValue(1, "", 2, expire_timestamp=3)),
        RecordDraft(KEY, OffsetCommitValue(1, "", 2, topic_id=bytes(range(16)))),
    ],
)
def test_what_the_bytes_may_not_say_in_full_is_no_plain_commit(draft: RecordDraft) -> None:
    """Tombstones, expiries and, before 4.1, topic ids: such a write takes no shortcut."""
    ordinary = RecordDraft(KEY, OffsetCommitValue(1, "", 2))
    assert plain_commits([ordinary], Dialect.R4_0) is not None
    assert plain_commits([ordinary, draft], Dialect.R4_0) is None


@pytest.mark.parametrize("seed", [4, 8, 15])
def test_the_last_commit_of_every_key_brings_a_partition_to_the_same_state(seed: int) -> None:
    """What the comparisons of log and live state leave out is replaced at once."""
    simulation = Simulation(seed, draw_options(seed, Overrides(minutes=1, groups=6)))
    simulation.run()
    for served in simulation.cluster.partitions.values():
        policy = served.replayed().policy
        whole, short = Shard(served.number, policy), Shard(served.number, policy)
        served.log.replay_into(whole)
        served.log.replay_outcome_into(short)
        require_equal(whole, short, f"partition {served.number}")
        assert all(one.base_offset < two.base_offset for one, two in pairwise(served.log.batches()))
