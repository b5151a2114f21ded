"""Classic groups whose members are no plain consumers: Connect, registries, Streams, unknown protocols."""

from typing import Any

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.replay.changes import Position
from rebalance_audit.wire import embedded
from rebalance_audit.wire.consumer_protocol import (
    Assignment,
    Subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.generated.messages import (
    GroupMetadataKey,
    GroupMetadataMember,
    GroupMetadataValue,
    RecordType,
)
from rebalance_audit.wire.records import Record
from rebalance_audit.wire.streams_protocol import REJOIN_AT_ONCE, REJOIN_NEVER

Member = tuple[str, bytes, bytes]
"""Member id, metadata, assignment."""
FOREIGN = ("foreign", "v1")
CONNECT = ("connect", "sessioned")
REGISTRY = ("sr", "v0")
STREAMS = ("consumer", "stream")


def tables(
    protocol: tuple[str, str], *generations: tuple[int, list[Member]]
) -> dict[str, list[Row]]:
    """The audit of the generations from 1 on, each with its time in seconds and its members."""
    log = []
    for number, (at_s, members) in enumerate(generations, start=1):
        made = tuple(
            GroupMetadataMember(member_id, "c", "/h", 10_000, metadata, assignment, None, 60_000)
            for member_id, metadata, assignment in members
        )
        at_ms = at_s * 1000
        value = GroupMetadataValue(protocol[0], number, protocol[1], made[0].member_id, made, at_ms)
        record = Record(RecordType.GROUP_METADATA, GroupMetadataKey("g"), value, 3)
        log.append((record, Position(0, number, at_ms + 10, 0)))
    return audit_log(log, AuditOptions(is_whole=lambda _: True))


def last_cause(rows: dict[str, list[Row]]) -> tuple[str, str, str]:
    """Cause, certainty and detail of the last generation's first cause."""
    last = max(rows["rebalance_causes"], key=lambda row: (row["epoch"], -row["cause_seq"]))
    return last["cause"], last["certainty"], last["detail"]


def worker(config_offset: int) -> bytes:
    """Metadata of a Connect worker that runs nothing yet."""
    state = messages.ConnectWorkerState("http://w/", config_offset, None)
    return embedded.encode_embedded(state, 2)


def connect(
    config_offset: int,
    assigned: tuple[int, ...],
    *,
    revoked: tuple[int, ...] = (),
    delay_ms: int = 0,
) -> bytes:
    """An incremental assignment of tasks of the connector `sink`."""

    def of_sink(tasks: tuple[int, ...]) -> Any:
        return (messages.ConnectAssignmentConnector("sink", tasks),) if tasks else ()

    made = messages.ConnectAssignment(
        0, "w0", "http://w/", config_offset, of_sink(assigned), of_sink(revoked), delay_ms
    )
    return embedded.encode_embedded(made, 2)


def streams(unique: int, owned: tuple[int, ...]) -> bytes:
    """A Streams client's subscription."""
    info = messages.StreamsSubscriptionInfo(b"p" * 16, 11, unique_field=unique)
    user_data = b"\x00\x00" + embedded.encode_embedded(info, 11)
    return encode_subscription(Subscription(("in",), user_data, (("in", owned),) if owned else ()))


def tasks(numbers: tuple[int, ...], next_rebalance_ms: int = REJOIN_NEVER) -> bytes:
    """A Streams client's assignment."""
    info = messages.StreamsAssignmentInfo(
        tuple(messages.StreamsAssignmentInfoTaskId(0, number, ()) for number in numbers),
        (),
        11,
        next_rebalance=next_rebalance_ms,
    )
    user_data = b"\x00\x00" + embedded.encode_embedded(info, 11)
    return encode_assignment(Assignment((("in", numbers),) if numbers else (), user_data))


def test_an_unknown_protocol_has_bytes_and_sizes() -> None:
    """Nothing is made up for it: no topics, no partitions, no time without owner."""
    rows = tables(FOREIGN, (10, [("m", b"abc", b"x")]), (20, [("m", b"abcdef", b"yz")]))
    assert last_cause(rows) == (
        "subscription_changed",
        "probable",
        "Protocol type foreign: The metadata of member m changed: 3 bytes to 6 bytes.",
    )
    for table in ("epochs", "rebalances"):
        absent = {
            name: value
            for row in rows[table]
            for name, value in row.items()
            if "partition" in name and name != "log_partition"
        }
        assert set(absent.values()) == {None}, table
    assert {row["partitions_after"] for row in rows["convergence"]} == {None}
    assert not rows["ownership"]
    assert rows["members"][0]["subscribed_topics"] is None
    same = tables(FOREIGN, (10, [("m", b"abc", b"x")]), (20, [("m", b"abc", b"yz")]))
    assert last_cause(same)[::2] == (
        "leader_rejoined",
        "Protocol type foreign: Members and their metadata are the same.",
    )


@pytest.mark.parametrize(
    ("first", "second", "cause", "detail"),
    [
        (
            (worker(1), connect(1, (0,))),
            (worker(4), connect(4, (0, 1, 2))),
            "subscription_changed",
            "The metadata of worker w0 changed: config offset 1 to 4. Now w0 runs tasks 0 to 2 of sink.",
        ),
        (
            (worker(1), connect(1, (), revoked=(1,))),
            (worker(1), connect(1, (1,))),
            "cooperative_follow_up",
            "Generation 1 revoked connectors or tasks, which this one hands out. Now w0 runs task 1 of sink.",
        ),
        (
            (worker(1), connect(1, (), delay_ms=10_000)),
            (worker(1), connect(1, (-1,))),
            "cooperative_follow_up",
            (
                "Generation 1 scheduled it for 10.0 s later, because the tasks of a lost worker wait for its return. "
                "Now w0 runs the connector of sink."
            ),
        ),
        (
            (worker(1), connect(1, (), delay_ms=300_000)),
            (worker(1), connect(1, (0,))),
            "leader_rejoined",
            (
                "Workers and their config offsets are the same, but other connectors or tasks run. Now w0 runs task 0 "
                "of sink."
            ),
        ),
        (
            (b"\xff", b"\xff"),
            (b"\xff\xff", b"\xff"),
            "subscription_changed",
            "The metadata of worker w0 changed: 1 byte to 2 bytes.",
        ),
    ],
    ids=["configured anew", "revoked before", "delay over", "delay not over", "unreadable"],
)
def test_why_workers_rebalance(
    first: tuple[bytes, bytes], second: tuple[bytes, bytes], cause: str, detail: str
) -> None:
    """A worker rejoins for a new configuration, or because the generation before called for it (KIP-415)."""
    rows = tables(CONNECT, (10, [("w0", *first)]), (20, [("w0", *second)]))
    found, _, said = last_cause(rows)
    assert (found, said) == (cause, f"Protocol type connect (Kafka Connect): {detail}")


def test_registries_have_a_primary() -> None:
    """That is what they own."""
    identity, elected = b'{"host":"a","port":1}', b'{"error":0,"master":"s1"}'
    moved = b'{"host":"b","port":1}'
    both = [("s1", identity, elected), ("s2", identity, elected)]
    rows = tables(REGISTRY, (10, both), (20, [("s1", moved, elected), both[1]]))
    assert [row["work"] for row in rows["convergence"]] == [["primary"], []]
    assert last_cause(rows)[2] == (
        "Protocol type sr (schema registry): The metadata of registry instance s1 changed: address http://a:1 to "
        "http://b:1. The primary is s1."
    )


@pytest.mark.parametrize(
    ("next_rebalance_ms", "at_s", "cause", "detail"),
    [
        (
            REJOIN_AT_ONCE,
            11,
            "cooperative_follow_up",
            (
                "A follow-up rebalance: in generation 1 the leader asked 1 client to rejoin at once, because tasks "
                "change their owner."
            ),
        ),
        (
            610_010,
            612,
            "cooperative_follow_up",
            (
                "A probing rebalance, which generation 1 scheduled for 10 min later, to move tasks to clients that "
                "have restored their state."
            ),
        ),
        (
            610_010,
            400,
            "topic_metadata_changed",
            "The same members share a different set of partitions.",
        ),
        (
            REJOIN_NEVER,
            400,
            "topic_metadata_changed",
            "The same members share a different set of partitions.",
        ),
    ],
    ids=["follow-up", "probing", "before the probe", "not called for"],
)
def test_streams_says_when_it_rebalances_again(
    next_rebalance_ms: int, at_s: int, cause: str, detail: str
) -> None:
    """The user data of an assignment has the time of the next rebalance (KIP-441)."""
    rows = tables(
        STREAMS,
        (
            10,
            [
                ("a", streams(1, ()), tasks((0,), next_rebalance_ms)),
                ("b", streams(1, ()), tasks(())),
            ],
        ),
        (at_s, [("a", streams(2, (0,)), tasks((0,))), ("b", streams(2, ()), tasks((1,)))]),
    )
    found, certainty, said = last_cause(rows)
    assert (found, certainty, said) == (
        cause,
        "probable",
        f"Protocol stream (Kafka Streams): {detail}",
    )
    assert [row["work"] for row in rows["convergence"]] == [["task 0_0"], [], ["task 0_1"]]


def test_consumers_whose_bytes_end_early() -> None:
    """Topics are known where they are there; what is not there is unknown, and nothing is concluded from it."""
    subscription = bytes.fromhex("0001 00000001 0003 666f6f ffffffff")
    assignment = encode_assignment(Assignment((("foo", (0, 1)),), None, 0))
    readable = [("m", subscription, assignment[:-4])]
    rows = tables(("consumer", "range"), (10, readable), (400, readable))
    assert [row["partitions"] for row in rows["epochs"]] == [2, 2]
    assert rows["members"][0]["subscribed_topics"] == ["foo"]
    assert not rows["findings"]
    unreadable = [("m", subscription, assignment[:-6])]
    rows = tables(("consumer", "range"), (10, readable), (400, unreadable), (800, readable))
    assert [row["partitions"] for row in rows["epochs"]] == [2, None, None]
    assert [row["partitions_after"] for row in rows["convergence"]] == [2, None, None]
    assert {row["unowned_partition_max_ms"] for row in rows["epochs"][1:]} == {None}
    assert last_cause(rows)[0] == "leader_rejoined"
    assert not rows["findings"]
