"""What a broker writes while its clients ask again as soon as they hear."""

from collections.abc import Callable

import pytest

from rebalance_audit.coordinator.handling import Dialect
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    TxnOffsetCommitRequest,
)
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.broker import ServedPartition
from rebalance_audit.sim.options import Overrides, draw_options
from rebalance_audit.sim.scenario import Simulation

TOPICS = (OffsetCommitRequestTopic("t", (OffsetCommitRequestPartition(0, 7),)),)


def _nothing(_: object) -> None:
    pass


def in_transaction(served: ServedPartition) -> None:
    """Commit offsets in a transaction, which has a batch of its own."""
    served.receive(TxnOffsetCommitRequest("p", "of-producer", 1, 0, TOPICS), _nothing)


def in_bulk(served: ServedPartition) -> None:
    """Write commits that no client waits for."""
    first = next(served.log.batches())
    record = first.records[0]
    again = LoggedRecord(served.next_offset, served.now_ms, record.key, record.value)
    served.append_bulk([again])


@pytest.mark.parametrize("write", [in_transaction, in_bulk])
def test_a_batch_of_its_own_comes_before_what_clients_ask_on_hearing_of_the_one_before(
    write: Callable[[ServedPartition], None],
) -> None:
    """The open batch is written first, and whoever hears of that commits again at once, as nothing delays it."""
    options = draw_options(
        1, Overrides(minutes=1, groups=1, partitions=1, faults=False, dialect=Dialect.R4_1)
    )
    cluster = Simulation(1, options).cluster
    cluster.topics.create("t", 1)
    served = cluster.partition_of("first")
    commit = OffsetCommitRequest("first", TOPICS)
    served.receive(commit, _nothing)
    served.flush()
    served.receive(commit, lambda _: served.receive(commit, _nothing))
    write(served)
    served.flush()
    batches = list(served.log.batches())
    assert [batch.base_offset for batch in batches] == [0, 1, 2, 3]
    own = [batch.producer.producer_id >= 0 or batch.packed is not None for batch in batches]
    assert own == [False, False, True, False]
