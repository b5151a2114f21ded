"""The bytes of Connect's workers, schema registries and Streams' clients."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.wire import embedded
from rebalance_audit.wire.connect_protocol import (
    read_worker_assignment,
    read_worker_state,
    running,
)
from rebalance_audit.wire.embedded import Embedded, Malformed
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.registry_protocol import (
    LONGEST,
    RegistryAssignment,
    RegistryIdentity,
    read_registry_assignment,
    read_registry_identity,
)
from rebalance_audit.wire.streams_protocol import (
    REJOIN_AT_ONCE,
    REJOIN_NEVER,
    StreamsAssignment,
    TaskId,
    read_streams_assignment,
)

URL = "0003 682f31"
LEADER = f"0001 77 {URL}"
OFFSET = "0000000000000005"
SINK = "0004 73696e6b"
NEW_WORKER = f"0002 {URL} ffffffffffffffff ffffffff"
HAS_SINK_0 = (
    f"0002 0000 {LEADER} {OFFSET} 00000001 {SINK} 00000002 ffffffff 00000000 00000000 00000000"
)

ONE_FOR_ANOTHER = (
    f"0002 0000 {LEADER} {OFFSET} 00000001 {SINK} 00000001 00000002 "
    f"00000001 {SINK} 00000001 00000000 00000000"
)


def connect(text: str) -> Embedded:
    """A worker's state that can be read."""
    read = read_worker_state(bytes.fromhex(text))
    assert isinstance(read, Embedded), read
    return read


def assigned(text: str) -> Embedded:
    """A worker's assignment that can be read."""
    read = read_worker_assignment(bytes.fromhex(text))
    assert isinstance(read, Embedded), read
    return read


def worker_with(allocation: str) -> str:
    """State of a worker that runs something."""
    size = len(bytes.fromhex(allocation))
    return f"0002 {URL} {OFFSET} {size:08x} {allocation}"


def test_a_worker_that_joins_has_an_address_and_a_config_offset() -> None:
    """In all three versions; what it runs comes with version 1."""
    assert connect(NEW_WORKER) == Embedded(2, messages.ConnectWorkerState("h/1", -1, None), ())
    assert connect(f"0000 {URL} {OFFSET}") == Embedded(
        0, messages.ConnectWorkerState("h/1", 5, None), ()
    )


@pytest.mark.parametrize(
    ("state", "assignment", "expected"),
    [
        (
            f"0000 {URL} {OFFSET}",
            f"0000 0000 {LEADER} {OFFSET} 00000001 {SINK} 00000001 00000001",
            (("sink", (1,)),),
        ),
        (NEW_WORKER, HAS_SINK_0, (("sink", (-1, 0)),)),
        (
            worker_with(HAS_SINK_0),
            f"0002 0000 {LEADER} {OFFSET} 00000000 00000000 00000000",
            (("sink", (-1, 0)),),
        ),
        (
            worker_with(HAS_SINK_0),
            ONE_FOR_ANOTHER,
            (("sink", (-1, 2)),),
        ),
        (worker_with("cafe"), HAS_SINK_0, None),
        (NEW_WORKER, f"0002 0000 {LEADER} {OFFSET} 00000002 {SINK}", None),
    ],
    ids=["eager", "first", "nothing changes", "one for another", "unreadable state", "cut short"],
)
def test_what_a_worker_runs(state: str, assignment: str, expected: object) -> None:
    """An eager assignment is all of it; an incremental one changes what the worker said it runs."""
    assert running(connect(state), assigned(assignment)) == expected


STREAMS_ASSIGNMENT = (
    "0000000b 0000000b 00000002 00000000 00000001 00000000 00000001 00000003 00000001 0061"
    "00000001 00000001 00000000 00000000 00000001 0001 74 00000000"
    "00000000 00000000 00000000 00000000 {at}"
)


@pytest.mark.parametrize("at", [REJOIN_AT_ONCE, REJOIN_NEVER, 1_795_802_861_704])
def test_a_streams_assignment_says_when_to_rejoin(at: int) -> None:
    """At once when tasks change their owner, later to probe whether standby tasks have caught up, or never."""
    read = read_streams_assignment(bytes.fromhex(STREAMS_ASSIGNMENT.format(at=f"{at:016x}")))
    assert read == StreamsAssignment((TaskId(0, 1), TaskId(1, 3, "a")), (TaskId(1, 0),), 0, at, ())
    assert [str(task) for task in read.active] == ["0_1", "a__1_3"]


def test_old_streams_assignments_do_not_say_when_to_rejoin() -> None:
    """Nothing is made up for versions below 7, nor where the bytes end early."""
    old = bytes.fromhex("00000001 00000001 00000000 00000001 00000000")
    assert read_streams_assignment(old) == StreamsAssignment((TaskId(0, 1),), (), 0, None, ())
    cut = read_streams_assignment(bytes.fromhex(STREAMS_ASSIGNMENT.format(at="00")))
    assert isinstance(cut, StreamsAssignment)
    assert (cut.next_rebalance_ms, cut.unread) == (None, ("nextRebalance",))


def test_registries_elect_a_primary() -> None:
    """Karapace writes a newer version of the identity, with more fields."""
    identity = b'{"version":2,"karapace_version":"5","host":"k","port":8081,"scheme":"https","master_eligibility":true}'
    who = RegistryIdentity("https", "k", 8081, may_be_primary=True)
    assert read_registry_identity(identity) == who
    assert who.url() == "https://k:8081"
    data = b'{"error":0,"master":"sr-1","master_identity":%s}' % identity
    assert read_registry_assignment(data) == RegistryAssignment(0, "sr-1", who)
    assert read_registry_assignment(b'{"error":1,"master":null}') == RegistryAssignment(
        1, None, None
    )
    strange = read_registry_identity(b'{"host":3,"port":true,"master_eligibility":1}')
    assert strange == RegistryIdentity(None, None, None, None)


@pytest.mark.parametrize(
    ("read", "text", "why"),
    [
        (read_worker_state, "", "0 bytes"),
        (read_worker_state, "ffff", "version -1"),
        (read_worker_state, f"0001 {URL}", "no config offset"),
        (read_worker_assignment, "0001 0000", "no leader"),
        (read_streams_assignment, "00000000", "version 0"),
        (read_streams_assignment, "80000001", "version -2147483647"),
        (read_streams_assignment, "00000001 00000000", "no standbyTasks"),
        (read_registry_identity, "5b5d", "JSON, but no object"),
        (read_registry_assignment, "7b7d", "neither a primary nor an error"),
        (read_registry_identity, "20" * (LONGEST + 1), "65537 bytes"),
        (read_registry_identity, b"[".hex() * 60_000, "not JSON"),
    ],
)
def test_malformed_bytes_say_why(read: Callable[[bytes], object], text: str, why: str) -> None:
    """Any client may send any bytes."""
    found = read(bytes.fromhex(text))
    assert isinstance(found, Malformed)
    assert why in found.detail


READERS = (
    read_worker_state,
    read_worker_assignment,
    read_streams_assignment,
    read_registry_identity,
    read_registry_assignment,
)
SAMPLES = [
    NEW_WORKER,
    HAS_SINK_0,
    worker_with(HAS_SINK_0),
    STREAMS_ASSIGNMENT.format(at="00" * 8),
    b'{"error":0,"master":"a","master_identity":{"host":"h"}}'.hex(),
]


@given(
    sample=st.sampled_from(SAMPLES).map(bytes.fromhex),
    at=st.integers(0, 200),
    with_bytes=st.binary(max_size=8),
    keep=st.booleans(),
)
def test_damage_never_raises(sample: bytes, at: int, with_bytes: bytes, *, keep: bool) -> None:
    """Every outcome is a value, and what is read of the first bytes is all that is claimed."""
    place = min(at, len(sample))
    damaged = sample[:place] + with_bytes + (sample[place + len(with_bytes) :] if keep else b"")
    for read in READERS:
        assert isinstance(read(damaged), tuple)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
CONNECTORS = st.lists(
    st.builds(
        messages.ConnectAssignmentConnector,
        TEXT,
        st.lists(st.integers(-1, 9), max_size=3).map(tuple),
    ),
    max_size=3,
).map(tuple)


@given(
    version=st.integers(0, 2),
    given_fields=st.fixed_dictionaries(
        {"error": st.integers(0, 1), "leader": TEXT, "leader_url": TEXT, "assigned": CONNECTORS}
    ),
    revoked=CONNECTORS,
)
def test_connect_assignments_survive_bytes(
    version: int, given_fields: Mapping[str, Any], revoked: Any
) -> None:
    """What is written is read, and every shorter piece of it is read as far as it goes or refused."""
    made = messages.ConnectAssignment(
        **given_fields, config_offset=7, revoked=revoked if version else None
    )
    data = embedded.encode_embedded(made, version)
    read = read_worker_assignment(data)
    assert isinstance(read, Embedded)
    assert read.fields.assigned == made.assigned
    assert (read.fields.config_offset, read.unread) == (7, ())
    for end in range(len(data)):
        cut = read_worker_assignment(data[:end])
        assert isinstance(cut, Malformed) or cut.unread
