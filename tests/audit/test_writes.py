"""Records are split into writes by time, offset and the order that one request allows."""

import pytest

from rebalance_audit.audit.writes import WriteSplitter
from tests.dsl import log

CASES = {
    "a join is one write": ["5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"],
    "two leaves in one millisecond": ["8t A; 7t A; 5t A; 3 4", "8t B; 7t B; 5t B; 3 5"],
    # Whether the target came with the leave or with a heartbeat in the same millisecond does not matter.
    "a leave and its target": ["8t A; 7t A; 5t A; 3 4; 7 B 0-5; 6 4; 8 B 4/3 0-5"],
    "heartbeats of two members": [
        "8 A 3/2 UNREVOKED 0-2|3-5",
        "7 B 3-5; 6 3; 8 B 3/2 UNRELEASED -",
    ],
    "a static member replaces another": [
        "8t A; 7t A; 5t A; 5 B instance=i; 7 B 0-5; 8 B 0/0 0-5; 8 B 2/0 0-5"
    ],
    "a replacement that changes its subscription": [
        "8t A; 7t A; 5t A; 5 B instance=i; 7 B 0-5; 8 B 0/0 0-5; 5 B instance=i topics=bar; 3 3; 6 3; 8 B 3/0 -"
    ],
    "an upgrade, then the join that asked for it": [
        "2t; 5 C session=6000; 3 1; 7 C 0-5; 6 1; 8 C 1/1 0-5",
        "5 D; 3 2; 7 C 0-2; 7 D 3-5; 6 2; 8 D 2/0 UNRELEASED -",
    ],
    "an upgrade in a join phase without members, then the join that asked for it": [
        "2t; 4; 3 1; 6 1",
        "5 D; 3 2; 7 D 0-5; 6 2; 8 D 2/0 0-5",
    ],
    "the same from release 4.1 on": ["2t; 3 1; 6 1", "5 D; 3 2; 7 D 0-5; 6 2; 8 D 2/0 0-5"],
    "a downgrade with its classic record": [
        "8t D; 8t C; 7t D; 7t C; 6t; 5t D; 5t C; 3t; 2 2 range C=0-2"
    ],
    "two classic records": ["2 1 range A=0-5", "2 2 range A=0-2 B=3-5"],
    "a deletion": ["6t; 16t ^f; 3t"],
    "a join without topics, then another member's": ["5 A topics=", "5 B; 3 3"],
    "a join without topics, then a leave": ["5 A topics=", "8t B; 7t B; 5t B; 3 3"],
    "a resolution without news, then a join": ["16 ^f foo", "5 B; 3 3"],
    "a resolution without news, then a leave": ["16 ^f foo", "8t B; 7t B; 5t B; 16t ^f; 3 3"],
    "another expression, then its resolution": ["5 A regex=^b; 16t ^f", "16 ^b bar; 3 3"],
    "a target, then a topic that grew": ["7 A 0-5; 6 3", "3 4 h9; 7 A 0-8; 6 4"],
    "two regex refreshes": ["16 ^f foo; 3 2", "16 ^f foo,bar; 3 3"],
}


@pytest.mark.parametrize("writes", CASES.values(), ids=CASES.keys())
def test_contiguous_writes_of_one_millisecond_stay_separate(writes: list[str]) -> None:
    """Even with the same timestamp and adjacent offsets, each request's records are a write of their own."""
    records = log((1000, "; ".join(writes)))
    splitter = WriteSplitter()
    begins = [number for number, entry in enumerate(records) if splitter.begins(*entry)]
    lengths = [len(write.split(";")) for write in writes]
    assert begins == [sum(lengths[:number]) for number in range(len(lengths))]


def test_time_offset_and_coordinator_separate_writes() -> None:
    """A new timestamp, a gap in the offsets or a new leader epoch begins a write, whatever the record types."""
    (first, at), (second, then) = log((1000, "5 A; 3 2"))
    for moved in (
        then._replace(record_timestamp_ms=1001),
        then._replace(log_offset=2),
        then._replace(leader_epoch=1),
    ):
        splitter = WriteSplitter()
        assert splitter.begins(first, at)
        assert splitter.begins(second, moved)
    splitter = WriteSplitter()
    assert splitter.begins(first, at)
    assert not splitter.begins(second, then)
