"""Offset commits, transactions and fetches: what is written, and what is refused.

The group is as named in each case; its topics foo (6 partitions) and bar (3) exist.
"""

from typing import Any

import pytest

from rebalance_audit.coordinator.handling import CoordinatorConfig, Dialect, ErrorCode
from rebalance_audit.coordinator.requests.offsets import (
    NO_OFFSET,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponsePartition,
    TxnOffsetCommitRequest,
    WriteTxnMarkerRequest,
)
from rebalance_audit.wire.generated.messages import ZERO_UUID
from tests.coordinator.classic.stage import Stage
from tests.support.coordinator_driver import CoordinatorDriver

STABLE = ("join A@i1", "wait 3000", "sync A A=0-5")
SYNCING = ("join A@i1", "wait 3000")
JOINING = (*STABLE, "join B", "join B")
EMPTY = (*STABLE, "leave A")
NO_MEMBER: tuple[str, ...] = ()


def topics(*places: str, metadata: str | None = None) -> tuple[OffsetCommitRequestTopic, ...]:
    """Offsets to commit, each as `foo:0=42` or with a leader epoch as `foo:0=42@7`."""
    found = []
    for place in places:
        where, _, committed = place.partition("=")
        name, _, number = where.partition(":")
        committed_offset, _, leader_epoch = committed.partition("@")
        partition = OffsetCommitRequestPartition(
            int(number), int(committed_offset), int(leader_epoch or -1), metadata
        )
        found.append(OffsetCommitRequestTopic(name, (partition,)))
    return tuple(found)


def commit(*places: str, **fields: Any) -> OffsetCommitRequest:
    """A commit by no member."""
    return OffsetCommitRequest("g", topics(*places), api_version=9)._replace(**fields)


def transactional(*places: str, **fields: Any) -> TxnOffsetCommitRequest:
    """A commit in producer 7's transaction, by no member."""
    return TxnOffsetCommitRequest("txn", "g", 7, 0, topics(*places))._replace(**fields)


def errors(response: Any) -> list[str]:
    """The error of each partition."""
    return [each.error_code.name for topic in response.topics for each in topic.partitions]


def fetched(driver: CoordinatorDriver, *places: str, **fields: Any) -> list[str]:
    """What a fetch of these partitions returns (without any: of all): offset, or the error's name."""
    wanted = tuple(
        OffsetFetchRequestTopic(name, (int(number),))
        for name, number in (place.split(":") for place in places)
    )
    asked = OffsetFetchRequestGroup("g", wanted or None)
    response: Any = driver.ask(OffsetFetchRequest((asked,), **fields))
    (group,) = response.groups
    assert group.error_code is ErrorCode.NONE
    return [
        f"{topic.name}:{each.partition_index}={_offset_or_error(each)}"
        for topic in group.topics
        for each in topic.partitions
    ]


def _offset_or_error(partition: OffsetFetchResponsePartition) -> str:
    if partition.error_code is not ErrorCode.NONE:
        return partition.error_code.name
    return str(partition.committed_offset)


MEMBER = {"member_id": "A", "generation_id_or_member_epoch": 1}
CASES: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
    # no member
    (NO_MEMBER, {}, "NONE"),
    (EMPTY, {}, "NONE"),
    (STABLE, {}, "UNKNOWN_MEMBER_ID"),
    (JOINING, {}, "UNKNOWN_MEMBER_ID"),
    # a member
    (STABLE, MEMBER, "NONE"),
    (STABLE, MEMBER | {"group_instance_id": "i1"}, "NONE"),
    (JOINING, MEMBER, "NONE"),
    (SYNCING, MEMBER, "REBALANCE_IN_PROGRESS"),
    (STABLE, MEMBER | {"generation_id_or_member_epoch": 0}, "ILLEGAL_GENERATION"),
    (STABLE, MEMBER | {"generation_id_or_member_epoch": -1}, "ILLEGAL_GENERATION"),
    (STABLE, MEMBER | {"member_id": "x"}, "UNKNOWN_MEMBER_ID"),
    (STABLE, MEMBER | {"member_id": "x", "group_instance_id": "i1"}, "FENCED_INSTANCE_ID"),
    (STABLE, MEMBER | {"group_instance_id": "i9"}, "UNKNOWN_MEMBER_ID"),
    # a member of a group that does not exist
    (NO_MEMBER, MEMBER, "GROUP_ID_NOT_FOUND"),
    (NO_MEMBER, MEMBER | {"api_version": 8}, "ILLEGAL_GENERATION"),
    # what is committed
    (NO_MEMBER, {"topics": topics("nope:0=1")}, "UNKNOWN_TOPIC_OR_PARTITION"),
    (NO_MEMBER, {"topics": topics("foo:0=1", metadata="m" * 4096)}, "NONE"),
    (NO_MEMBER, {"topics": topics("foo:0=1", metadata="m" * 4097)}, "OFFSET_METADATA_TOO_LARGE"),
    (
        NO_MEMBER,
        {"topics": (topics("foo:0=1")[0]._replace(name="", topic_id=b"?" * 16),)},
        "UNKNOWN_TOPIC_ID",
    ),
]


@pytest.mark.parametrize(("steps", "fields", "expected"), CASES)
def test_who_may_commit(steps: tuple[str, ...], fields: dict[str, Any], expected: str) -> None:
    """A commit is written where its error is NONE, and nowhere else."""
    stage = Stage()
    for step in steps:
        stage.play(step)
    if fields.get("member_id") == "A" and steps:
        member_id = stage.clients["A"].member_id or next(iter(stage.live().members))  # type: ignore[union-attr]
        fields = fields | {"member_id": member_id}
    log_length = len(stage.driver.log)
    response = stage.driver.ask(commit("foo:0=42", **fields))
    assert errors(response) == [expected]
    assert len(stage.driver.records_since(log_length)) == (expected == "NONE")


TRANSACTIONAL_CASES: list[tuple[tuple[str, ...], dict[str, Any], str]] = [
    (NO_MEMBER, {}, "NONE"),
    (STABLE, {}, "NONE"),
    (SYNCING, {}, "NONE"),
    (STABLE, {"member_id": "x", "generation_id": 1}, "UNKNOWN_MEMBER_ID"),
    (STABLE, {"member_id": "A", "generation_id": 2}, "ILLEGAL_GENERATION"),
    (STABLE, {"member_id": "x", "group_instance_id": "i1"}, "FENCED_INSTANCE_ID"),
    (NO_MEMBER, {"generation_id": 1}, "GROUP_ID_NOT_FOUND"),
    (NO_MEMBER, {"generation_id": 1, "api_version": 5}, "ILLEGAL_GENERATION"),
    (NO_MEMBER, {"group_id": ""}, "INVALID_GROUP_ID"),
]


@pytest.mark.parametrize(("steps", "fields", "expected"), TRANSACTIONAL_CASES)
def test_who_may_commit_in_a_transaction(
    steps: tuple[str, ...], fields: dict[str, Any], expected: str
) -> None:
    """A transaction may leave the member out, and does not wait for the end of a rebalance."""
    stage = Stage()
    for step in steps:
        stage.play(step)
    if fields.get("member_id") == "A":
        fields = fields | {"member_id": stage.clients["A"].member_id}
    assert errors(stage.driver.ask(transactional("foo:0=42", **fields))) == [expected]


def test_a_refused_partition_does_not_hold_up_the_others() -> None:
    """Each partition has its own error; the valid commits are one write."""
    driver = CoordinatorDriver()
    request = commit("nope:0=1", "foo:0=1", "bar:2=5")
    assert errors(driver.ask(request)) == ["UNKNOWN_TOPIC_OR_PARTITION", "NONE", "NONE"]
    assert fetched(driver) == ["bar:2=5", "foo:0=1"]


@pytest.mark.parametrize(
    ("dialect", "retention_time_ms", "expected"),
    [
        (Dialect.R3_9, -1, (9, -1, ZERO_UUID)),
        (Dialect.R4_0, -1, (9, -1, ZERO_UUID)),
        (Dialect.R4_1, -1, (9, -1, b"foo".ljust(16, b"\1"))),
        (Dialect.R4_4, -1, (9, -1, b"foo".ljust(16, b"\1"))),
        (Dialect.R4_4, 5_000, (-1, 6_000, ZERO_UUID)),
    ],
)
def test_what_a_commit_holds(
    dialect: Dialect, retention_time_ms: int, expected: tuple[int, int, bytes]
) -> None:
    """Leader epoch, expiry and topic id as the release writes them; a commit with an expiry holds nothing else."""
    driver = CoordinatorDriver(CoordinatorConfig(dialect=dialect))
    driver.ask(commit("foo:0=42@9", retention_time_ms=retention_time_ms))
    (record,) = driver.records_since(0)
    value: Any = record.value
    assert (value.offset, value.metadata, value.commit_timestamp) == (42, "", 1_000)
    assert (value.leader_epoch, value.expire_timestamp, value.topic_id) == expected


def test_a_commit_keeps_a_classic_member_alive() -> None:
    """Commits count as heartbeats, except in the sync phase, where none are due."""
    stage = Stage()
    for step in (*STABLE, "wait 40000", "commit A foo:0=1", "wait 40000"):
        stage.play(step)
    assert stage.play("beat A").endswith("A ok | ")


def test_a_commit_of_an_unknown_group_makes_a_simple_one() -> None:
    """It has no record of its own and is empty; a member that joins later takes it over without one either."""
    stage = Stage()
    assert stage.play("commit - foo:0=42") == "commit - foo:0=42 | - ok | [1] foo:0=42"
    assert stage.play("join A") == "join A | A=A | "
    assert fetched(stage.driver) == ["foo:0=42"]


# --- transactions ------------------------------------------------------------------------------


def marker(driver: CoordinatorDriver, *, committed: bool, producer_id: int = 7) -> None:
    """End the producer's transaction."""
    driver.ask(WriteTxnMarkerRequest(producer_id, 0, committed))


@pytest.mark.parametrize(("committed", "expected"), [(True, ["foo:0=42"]), (False, ["foo:0=1"])])
def test_a_transaction_counts_when_its_marker_says_so(committed: bool, expected: list[str]) -> None:
    """Until then the earlier offset holds, and a reader that wants stable offsets has to wait."""
    driver = CoordinatorDriver()
    driver.ask(commit("foo:0=1"))
    driver.ask(transactional("foo:0=42"))
    assert fetched(driver, "foo:0") == ["foo:0=1"]
    assert fetched(driver, "foo:0", require_stable=True) == ["foo:0=UNSTABLE_OFFSET_COMMIT"]
    driver.fail_over()
    assert fetched(driver, "foo:0", require_stable=True) == ["foo:0=UNSTABLE_OFFSET_COMMIT"]
    marker(driver, committed=committed)
    assert fetched(driver, "foo:0", require_stable=True) == expected


def test_a_later_plain_commit_wins_over_the_transaction() -> None:
    """The transaction's offset is older than what was committed meanwhile."""
    driver = CoordinatorDriver()
    driver.ask(transactional("foo:0=42", "foo:1=42"))
    driver.ask(commit("foo:0=50"))
    marker(driver, committed=True)
    assert fetched(driver) == ["foo:0=50", "foo:1=42"]


def test_a_marker_without_pending_commits_changes_nothing() -> None:
    """A marker goes to every partition that its transaction wrote to."""
    driver = CoordinatorDriver()
    driver.ask(commit("foo:0=1"))
    marker(driver, committed=True, producer_id=99)
    assert fetched(driver) == ["foo:0=1"]


# --- fetches -----------------------------------------------------------------------------------


def test_what_a_fetch_brings() -> None:
    """Offset, leader epoch and metadata of a commit; -1 where there is none, which is no error."""
    driver = CoordinatorDriver()
    driver.ask(OffsetCommitRequest("g", topics("foo:1=42@9", metadata="text")))
    asked = (
        OffsetFetchRequestGroup("g", (OffsetFetchRequestTopic("foo", (1, 2)),)),
        OffsetFetchRequestGroup("missing", (OffsetFetchRequestTopic("foo", (1,)),)),
        OffsetFetchRequestGroup("missing"),
    )
    response: Any = driver.ask(OffsetFetchRequest(asked))
    partitions = [[topic.partitions for topic in group.topics] for group in response.groups]
    assert partitions == [
        [
            (
                OffsetFetchResponsePartition(1, 42, 9, "text"),
                OffsetFetchResponsePartition(2, NO_OFFSET),
            )
        ],
        [(OffsetFetchResponsePartition(1, NO_OFFSET),)],
        [],
    ]


def test_an_offset_of_a_topic_made_again_is_no_offset_of_the_new_one() -> None:
    """A fetch that names the new topic's id does not get the old one's offset."""
    driver = CoordinatorDriver()
    driver.ask(commit("foo:0=42"))
    old, new = b"foo".ljust(16, b"\1"), b"new" + bytes(13)
    found = []
    for topic_id in (old, new, ZERO_UUID):
        wanted = OffsetFetchRequestTopic("foo", (0,), topic_id)
        response: Any = driver.ask(OffsetFetchRequest((OffsetFetchRequestGroup("g", (wanted,)),)))
        found.append(response.groups[0].topics[0].partitions[0].committed_offset)
    assert found == [42, NO_OFFSET, 42]


def test_a_fetch_by_topic_id_alone() -> None:
    """From version 10 on topics have no name in the request; an unknown id is an error."""
    driver = CoordinatorDriver()
    driver.ask(commit("foo:0=42"))
    found = []
    for topic_id in (b"foo".ljust(16, b"\1"), b"?" * 16):
        wanted = OffsetFetchRequestTopic("", (0,), topic_id)
        response: Any = driver.ask(OffsetFetchRequest((OffsetFetchRequestGroup("g", (wanted,)),)))
        partition = response.groups[0].topics[0].partitions[0]
        found.append((partition.committed_offset, partition.error_code))
    assert found == [(42, ErrorCode.NONE), (NO_OFFSET, ErrorCode.UNKNOWN_TOPIC_ID)]
