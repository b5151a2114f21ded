"""Who may commit and fetch offsets of a consumer group."""

import pytest

from rebalance_audit.coordinator.handling import Dialect, ErrorCode
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from tests.coordinator.consumer.mixed_play import MixedPlay
from tests.coordinator.consumer.play import Play, play


def _moving(dialect: Dialect = Dialect.R4_4) -> Play:
    """A is at epoch 3 with 0-2 (since epoch 2); B at epoch 3 with 3-5 (since 3)."""
    acting = play(dialect=dialect)
    for step in ("A joins", "B joins", "A beats", "A beats owns=0-2", "B beats"):
        acting.run(step)
    return acting


def _commit(acting: Play, member_id: str, epoch: int, number: int, version: int = 9) -> str:
    topic = OffsetCommitRequestTopic("foo", (OffsetCommitRequestPartition(number, 1),))
    request = OffsetCommitRequest("g", (topic,), epoch, member_id, api_version=version)
    response = acting.driver.ask(request)
    assert isinstance(response, OffsetCommitResponse)
    return response.topics[0].partitions[0].error_code.name


COMMITS = [
    ("its epoch", "A", 3, 0, "NONE"),
    ("an epoch since which it has the partition", "A", 2, 2, "NONE"),
    ("an epoch before it had the partition", "B", 2, 3, "STALE_MEMBER_EPOCH"),
    ("an old epoch, not its partition", "A", 2, 3, "STALE_MEMBER_EPOCH"),
    ("an epoch too high", "A", 4, 0, "STALE_MEMBER_EPOCH"),
    ("missing", "", -1, 0, "UNKNOWN_MEMBER_ID"),
    ("a stranger", "Z", 3, 0, "UNKNOWN_MEMBER_ID"),
]


@pytest.mark.parametrize(
    ("member_id", "epoch", "number", "error"),
    [row[1:] for row in COMMITS],
    ids=[row[0] for row in COMMITS],
)
def test_who_may_commit(member_id: str, epoch: int, number: int, error: str) -> None:
    """The member epoch, or an older one since which the member has held the partition."""
    assert _commit(_moving(), member_id, epoch, number) == error


def test_before_4_3_only_the_members_epoch_is_good() -> None:
    """An older one is stale for any partition."""
    acting = _moving(Dialect.R4_1)
    assert _commit(acting, "A", 2, 0) == "NONE"
    assert _commit(acting, "A", 1, 0) == "STALE_MEMBER_EPOCH"


def test_members_of_the_consumer_protocol_need_the_version_that_knows_epochs() -> None:
    """UNSUPPORTED_VERSION before version 9."""
    assert _commit(_moving(), "A", 3, 0, version=8) == "UNSUPPORTED_VERSION"


def test_anybody_may_commit_to_an_empty_group() -> None:
    """An administrator sets offsets while the group has no members."""
    acting = play()
    acting.run("A joins")
    acting.run("A leaves")
    assert _commit(acting, "", -1, 0) == "NONE"
    assert _commit(acting, "A", 2, 0) == "UNKNOWN_MEMBER_ID"


def test_a_classic_member_takes_the_epoch_for_its_generation() -> None:
    """ILLEGAL_GENERATION where a consumer member would get STALE_MEMBER_EPOCH."""
    mixed = MixedPlay(play())
    for step in ("A joins", "C asks", "C asks"):
        mixed.run(step)
    assert _commit(mixed.acting, mixed.ids["C"], 9, 0, version=8) == "ILLEGAL_GENERATION"
    assert _commit(mixed.acting, mixed.ids["C"], 3, 0, version=8) == "NONE"


def test_a_transaction_need_not_name_a_member() -> None:
    """Where it names one, the member must be right; the request's version does not matter."""
    acting = _moving()
    topic = OffsetCommitRequestTopic("foo", (OffsetCommitRequestPartition(0, 1),))
    for member, epoch, error in (
        ("", -1, ErrorCode.NONE),
        ("A", 3, ErrorCode.NONE),
        ("A", 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("Z", 3, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        response = acting.driver.ask(
            TxnOffsetCommitRequest("t", "g", 7, 0, (topic,), epoch, member)
        )
        assert isinstance(response, TxnOffsetCommitResponse)
        assert response.topics[0].partitions[0].error_code is error


FETCHES = [
    ("an administrator", None, -1, "NONE"),
    ("its epoch", "A", 3, "NONE"),
    ("another epoch", "A", 2, "STALE_MEMBER_EPOCH"),
    ("a stranger", "Z", 3, "UNKNOWN_MEMBER_ID"),
    ("an epoch and no member", None, 3, "UNKNOWN_MEMBER_ID"),
]


@pytest.mark.parametrize(
    ("member_id", "epoch", "error"), [row[1:] for row in FETCHES], ids=[row[0] for row in FETCHES]
)
def test_who_may_fetch(member_id: str | None, epoch: int, error: str) -> None:
    """A member at exactly its epoch, or a client that claims to be no member."""
    asked = OffsetFetchRequestGroup("g", member_id=member_id, member_epoch=epoch)
    response = _moving().driver.ask(OffsetFetchRequest((asked,)))
    assert isinstance(response, OffsetFetchResponse)
    assert response.groups[0].error_code.name == error
