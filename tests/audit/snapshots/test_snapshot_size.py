"""The size of a snapshot depends on the size of its group."""

from collections.abc import Iterable

import orjson

from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.snapshots.snapshot import snapshot_of
from rebalance_audit.replay.changes import Position
from rebalance_audit.wire.generated.messages import ConsumerGroupMemberMetadataValue
from rebalance_audit.wire.records import Record
from tests.audit.group.test_memory import restarts
from tests.dsl import GROUP_ID, log

EPOCH_BYTES = 600
"""Room for an epoch that waits for its target, whatever the number of members."""


def nothing(_table: str, _row: Row) -> None:
    """Discard the rows, which do not matter here."""


def new_clients(running: GroupAudit, records: Iterable[tuple[Record, Position]]) -> bytes:
    """The snapshot after more records, in which each member has its own client id and host."""
    for record, position in records:
        value = record.value
        if isinstance(value, ConsumerGroupMemberMetadataValue):
            number = position.log_offset
            value = value._replace(client_id=f"c{number}", client_host=f"/10.0.0.{number}")
        running.feed(record._replace(value=value), position)
    return orjson.dumps(snapshot_of(running))


def test_it_does_not_grow_with_the_history() -> None:
    """Clients that come once and go are forgotten when the windows of the findings have passed."""
    running = GroupAudit(GROUP_ID, 0, nothing)
    records, cut = log(*restarts(1350)), len(log(*restarts(450)))
    short, long = (len(new_clients(running, part)) for part in (records[:cut], records[cut:]))
    assert long < short + 1024


def test_epochs_without_a_target_keep_no_members() -> None:
    """A hundred members join before anybody gets a target: one epoch for each, but not a hundred members in each."""
    joins = ((1000 * number, f"5 M{number}; 3 {number + 2}") for number in range(100))
    state = orjson.loads(new_clients(GroupAudit(GROUP_ID, 0, nothing), log(*joins)))
    assert len(state["life"]["awaiting"]) > 90
    assert len(orjson.dumps(state["life"]["awaiting"])) < EPOCH_BYTES * 100
