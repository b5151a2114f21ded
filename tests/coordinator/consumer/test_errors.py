"""Each error that answers the consumer protocol's requests: what provokes it, and that it leaves no trace."""

import pytest

from rebalance_audit.coordinator.handling import Dialect, ErrorCode
from rebalance_audit.coordinator.requests.consumer import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupInstallAssignmentRequest,
    ConsumerGroupPrepareAssignmentRequest,
    TopicIdPartitions,
)
from rebalance_audit.coordinator.requests.offsets import DeleteGroupsRequest
from tests.coordinator.consumer.play import play
from tests.support.coordinator_driver import Topics

JOIN = ConsumerGroupHeartbeatRequest(
    "g",
    "A",
    0,
    rebalance_timeout_ms=1,
    subscribed_topic_names=("foo",),
    topic_partitions=(),
)
FOO = Topics.of(foo=1).by_name["foo"].topic_id

INVALID = [
    ("no group", JOIN._replace(group_id="")),
    ("no member id", JOIN._replace(member_id="")),
    ("no member id when it stays", JOIN._replace(member_id="", member_epoch=1, api_version=0)),
    ("no member id when it leaves", JOIN._replace(member_id="", member_epoch=-1, api_version=0)),
    ("empty instance id", JOIN._replace(instance_id="")),
    ("empty rack", JOIN._replace(rack_id="")),
    ("no rebalance timeout", JOIN._replace(rebalance_timeout_ms=-1)),
    ("a rebalance timeout of nothing", JOIN._replace(rebalance_timeout_ms=0)),
    ("owned partitions missing", JOIN._replace(topic_partitions=None)),
    (
        "owned partitions when it joins",
        JOIN._replace(topic_partitions=(TopicIdPartitions(FOO, (0,)),)),
    ),
    ("no subscription", JOIN._replace(subscribed_topic_names=None)),
    ("a pause without instance id", JOIN._replace(member_epoch=-2)),
    ("an epoch below the last", JOIN._replace(member_epoch=-3, instance_id="i")),
]


@pytest.mark.parametrize("request_", [row[1] for row in INVALID], ids=[row[0] for row in INVALID])
def test_an_invalid_heartbeat_is_refused(request_: ConsumerGroupHeartbeatRequest) -> None:
    """INVALID_REQUEST before the group is read."""
    acting = play()
    response = acting.driver.ask(request_)
    assert response[0] is ErrorCode.INVALID_REQUEST
    assert acting.driver.log == []


INVALID_ASSIGNORS = [
    ("both kinds", "assignor=range assignors=c:0..1:0"),
    ("no name", "assignors=:0..1:0"),
    ("lowest version below -1", "assignors=c:-2..1:0"),
    ("highest version below 0", "assignors=c:-1..-1:-1"),
    ("highest below lowest", "assignors=c:2..1:1"),
    ("version below the range", "assignors=c:1..2:0"),
    ("version above the range", "assignors=c:1..2:3"),
]


@pytest.mark.parametrize(
    "options", [row[1] for row in INVALID_ASSIGNORS], ids=[row[0] for row in INVALID_ASSIGNORS]
)
def test_an_invalid_client_side_assignor_is_refused(options: str) -> None:
    """INVALID_REQUEST for names and version ranges that KIP-848 forbids."""
    acting = play(dialect=Dialect.R3_7)
    assert acting.run(f"A joins {options}") == ""
    assert acting.answer() == "INVALID_REQUEST"


REFUSED = [
    ("unknown server assignor", [], "A joins assignor=sticky", "UNSUPPORTED_ASSIGNOR"),
    (
        "client-side assignor where there is none",
        [],
        "A joins assignors=c:0..1:0",
        "UNSUPPORTED_ASSIGNOR",
    ),
    ("heartbeat of no group", [], "A beats epoch=1", "GROUP_ID_NOT_FOUND"),
    ("leave of no group", [], "A leaves", "GROUP_ID_NOT_FOUND"),
    ("heartbeat of no member", ["A joins"], "B beats epoch=1", "UNKNOWN_MEMBER_ID"),
    ("leave of no member", ["A joins"], "B leaves", "UNKNOWN_MEMBER_ID"),
    ("an epoch too high", ["A joins"], "A beats epoch=3", "FENCED_MEMBER_EPOCH"),
    ("an epoch too low", ["A joins"], "A beats epoch=1", "FENCED_MEMBER_EPOCH"),
    ("group full", ["A joins", "B joins"], "C joins", "GROUP_MAX_SIZE_REACHED"),
    ("not an expression", [], "A joins regex=(", "INVALID_REGULAR_EXPRESSION"),
    ("Perl's look-ahead", [], "A joins regex=(?=foo).*", "INVALID_REGULAR_EXPRESSION"),
    ("instance id taken", ["A joins instance=i"], "B joins instance=i", "UNRELEASED_INSTANCE_ID"),
    (
        "the same member joins again without leaving",
        ["A joins instance=i"],
        "A joins instance=i",
        "UNRELEASED_INSTANCE_ID",
    ),
    (
        "a member that was replaced",
        ["A joins instance=i", "A pauses", "B joins instance=i"],
        "A beats epoch=2",
        "FENCED_INSTANCE_ID",
    ),
    (
        "leave of a replaced member",
        ["A joins instance=i", "A pauses", "B joins instance=i"],
        "A leaves",
        "FENCED_INSTANCE_ID",
    ),
]


@pytest.mark.parametrize(
    ("before", "command", "error"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_heartbeat_is_refused_for_the_state_of_its_group(
    before: list[str], command: str, error: str
) -> None:
    """The answer is the error, and nothing is written."""
    acting = play(consumer_max_size=2)
    for step in before:
        acting.run(step)
        assert acting.answer()[0] in "-0123456789", step
    assert acting.run(command) == ""
    assert acting.answer() == error


def test_an_unknown_instance_id_cannot_stay() -> None:
    """UNKNOWN_MEMBER_ID for an instance id that no member holds."""
    acting = play()
    acting.run("A joins")
    acting.instances["B"] = "i"
    acting.run("B beats epoch=2")
    assert acting.answer() == "UNKNOWN_MEMBER_ID"


def test_version_ranges_of_client_side_assignors_must_overlap() -> None:
    """UNSUPPORTED_ASSIGNOR for a member whose versions no other member's assignor shares."""
    acting = play(dialect=Dialect.R3_7)
    acting.run("A joins assignors=c:0..2:2")
    assert acting.run("B joins assignors=c:3..4:3") == ""
    assert acting.answer() == "UNSUPPORTED_ASSIGNOR"


def test_regular_expressions_came_with_4_0() -> None:
    """In earlier releases a heartbeat with one is an invalid request, and so is a join without topics."""
    acting = play(dialect=Dialect.R3_9)
    acting.run("A joins regex=fo.* topics=foo")
    assert acting.answer() == "INVALID_REQUEST"
    acting.run("A joins topics=")
    assert acting.answer() == "INVALID_REQUEST"


LOST_RESPONSE = [
    ("owns less than it got", "A beats epoch=2 owns=0-1", "3"),
    ("owns what it got", "A beats epoch=2 owns=0-2", "3"),
    ("owns more", "A beats epoch=2 owns=0-3", "FENCED_MEMBER_EPOCH"),
    ("owns another topic", "A beats epoch=2 owns=0+bar:0", "FENCED_MEMBER_EPOCH"),
    ("does not say", "A beats epoch=2", "FENCED_MEMBER_EPOCH"),
]


@pytest.mark.parametrize(
    ("command", "answer"),
    [row[1:] for row in LOST_RESPONSE],
    ids=[row[0] for row in LOST_RESPONSE],
)
def test_a_lost_response_is_forgiven_when_nothing_beyond_the_assignment_is_owned(
    command: str, answer: str
) -> None:
    """The previous epoch is accepted once more from a member that owns a subset of its assignment."""
    acting = play()
    for step in ("A joins", "B joins", "A beats", "A beats owns=0-2"):
        acting.run(step)
    assert acting.epochs["A"] == 3
    acting.run(command)
    assert acting.answer() == answer


def test_a_fenced_member_joins_again_under_its_id() -> None:
    """Epoch 0 is always accepted from 4.3 on; earlier, a member that is still known is fenced for it."""
    acting = play()
    acting.run("A joins")
    assert acting.run("A joins") == ""
    assert acting.answer() == "2 has 0-5"
    early = play(dialect=Dialect.R4_1)
    early.run("A joins")
    early.run("B joins")
    early.run("A beats")
    early.run("A beats owns=0-2")
    early.run("A joins")
    assert early.answer() == "FENCED_MEMBER_EPOCH"


def test_a_group_with_members_is_not_deleted() -> None:
    """NON_EMPTY_GROUP while it has members."""
    acting = play()
    acting.run("A joins")
    response = acting.driver.ask(DeleteGroupsRequest(("g",)))
    assert response[0][0].error_code is ErrorCode.NON_EMPTY_GROUP  # type: ignore[index]


ASSIGNMENT_REQUESTS = [
    ("no group id", ("", "A", 1), ErrorCode.INVALID_REQUEST),
    ("no member id", ("g", "", 1), ErrorCode.INVALID_REQUEST),
    ("a negative epoch", ("g", "A", -1), ErrorCode.INVALID_REQUEST),
    ("no such group", ("x", "A", 1), ErrorCode.GROUP_ID_NOT_FOUND),
    ("no such member", ("g", "Z", 1), ErrorCode.UNKNOWN_MEMBER_ID),
    ("another epoch", ("g", "A", 7), ErrorCode.STALE_MEMBER_EPOCH),
    ("not the chosen one", ("g", "B", 0), ErrorCode.UNKNOWN_MEMBER_ID),
]


@pytest.mark.parametrize(
    ("who", "error"),
    [row[1:] for row in ASSIGNMENT_REQUESTS],
    ids=[row[0] for row in ASSIGNMENT_REQUESTS],
)
def test_who_may_prepare_and_install(who: tuple[str, str, int], error: ErrorCode) -> None:
    """Only the chosen member, at its epoch, with a complete request."""
    acting = play(dialect=Dialect.R3_7)
    acting.run("A joins assignors=c:0..1:1")
    acting.run("B joins assignors=c:0..1:1")
    prepared = acting.driver.ask(ConsumerGroupPrepareAssignmentRequest(*who))
    installed = acting.driver.ask(ConsumerGroupInstallAssignmentRequest(*who, 2))
    assert (prepared[0], installed[0]) == (error, error)
