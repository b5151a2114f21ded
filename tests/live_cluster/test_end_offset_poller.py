"""What a thread asks a cluster for `watch`."""

import time

from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets
from rebalance_audit.live_cluster.poller import EndOffsetPoller, Poller, WantedPartitions
from rebalance_audit.wire.segments.folder import SourceNotReadable

PATIENCE_S = 20


def test_it_samples_what_is_wanted_within_its_bound_and_survives_an_outage() -> None:
    """The second request fails; afterwards the problem is gone."""
    asked: list[list[tuple[str, int]]] = []

    def sample(partitions: WantedPartitions) -> EndOffsets:
        asked.append([*partitions])
        if len(asked) == 2:
            raise SourceNotReadable("no broker answers")
        return EndOffsets({each: [EndOffset(len(asked), 0, 10)] for each in partitions})

    with EndOffsetPoller(sample, 0.05, partitions_max=2) as poller:
        assert not asked
        poller.want({("b", 0), ("a", 1), ("a", 0)})
        until = time.monotonic() + PATIENCE_S
        while poller.count < 2 and time.monotonic() < until:
            time.sleep(0.01)
        assert (poller.count >= 2, poller.problem, poller.left_out) == (True, "", 1)
    assert asked[0] == [("a", 0), ("a", 1)]
    found = poller.of("a", 1)
    assert found is not None
    assert [each.sampled_at_ms for each in found.samples][:2] == [1, 3]
    assert poller.of("b", 0) is None


def test_a_cluster_that_no_longer_answers_has_no_answer() -> None:
    """What it said before may be over: unknown, not the state of a moment ago."""
    answers = iter(["PreparingRebalance"])

    def ask() -> str:
        for answer in answers:
            return answer
        raise SourceNotReadable("no broker answers")

    with Poller(ask, 0.5) as poller:
        poller.start()
        until = time.monotonic() + PATIENCE_S
        while not poller.problem and time.monotonic() < until:
            time.sleep(0.01)
        assert (poller.newest, poller.problem) == (None, "no broker answers")
