"""Client-side assignors as KIP-848 specifies them, written in the layouts of 3.7 that have their fields."""

import pytest

from rebalance_audit.coordinator.client_side.choice import choose_client_assignor
from rebalance_audit.coordinator.handling import Dialect, ErrorCode
from rebalance_audit.coordinator.requests.consumer import (
    ConsumerGroupInstallAssignmentRequest,
    ConsumerGroupInstallAssignmentResponse,
    ConsumerGroupPrepareAssignmentRequest,
    ConsumerGroupPrepareAssignmentResponse,
    InstalledMember,
)
from rebalance_audit.replay.groups import ModernMember
from rebalance_audit.wire.generated.messages import ConsumerGroupMemberMetadataAssignor
from tests.coordinator.consumer.play import Play, play

ONE = "assignors=c:0..1:1"


def _prepare(acting: Play, member_id: str) -> ConsumerGroupPrepareAssignmentResponse:
    member_epoch = acting.epochs[member_id]
    response = acting.driver.ask(
        ConsumerGroupPrepareAssignmentRequest("g", member_id, member_epoch)
    )
    assert isinstance(response, ConsumerGroupPrepareAssignmentResponse)
    return response


def _install(
    acting: Play, member_id: str, group_epoch: int, shares: str = "", error: int = 0
) -> tuple[str, str]:
    """Assignments are `A=0-2 B=3-5`. Returns the records and the error."""
    members = tuple(
        InstalledMember(name, acting.owned(share), 1, name.encode())
        for name, share in (word.split("=") for word in shares.split())
    )
    start = len(acting.driver.log)
    response = acting.driver.ask(
        ConsumerGroupInstallAssignmentRequest(
            "g", member_id, acting.epochs[member_id], group_epoch, error, members
        )
    )
    assert isinstance(response, ConsumerGroupInstallAssignmentResponse)
    return acting.text(acting.driver.records_since(start)), response.error_code.name


def _started() -> Play:
    """A and B joined with the same assignor; A was asked to compute."""
    acting = play(dialect=Dialect.R3_7)
    assert acting.run(f"A joins {ONE}") == "5 A; 4 foo:6; 3 1 h0"
    assert acting.answer() == "0 has - computes"
    assert acting.run(f"B joins {ONE}") == "5 B; 3 2 h0"
    assert acting.answer() == "0 has -"
    return acting


def test_a_member_computes_and_the_group_takes_its_target() -> None:
    """ShouldComputeAssignment, Prepare, Install, and then reconciliation as with any other target."""
    acting = _started()
    prepared = _prepare(acting, "A")
    assert (prepared.group_epoch, prepared.assignor_name) == (2, "c")
    assert [member.member_id for member in prepared.members] == ["A", "B"]
    assert [(topic.topic_name, topic.num_partitions) for topic in prepared.topics] == [("foo", 6)]
    assert prepared.members[0].assignor == (0, 1, b"m")
    assert acting.run("A beats epoch=0 full") == ""
    assert "computes" not in acting.answer(), "it has asked for the group already"
    assert _install(acting, "A", 2, "A=0-1 B=2-5") == ("7 A 0-1; 7 B 2-5; 6 2 t0", "NONE")
    assert acting.run("B joins") == "8 B 2/0 to=2 2-5 waits=-"
    assert acting.last.assignment is not None
    assert acting.last.assignment[2:] == (0, 1, b"B"), "the member gets the assignor's metadata"


def test_the_chosen_member_is_asked_until_it_answers() -> None:
    """A lost response costs nothing."""
    acting = _started()
    acting.run("A joins")
    assert acting.answer().endswith("computes")
    _prepare(acting, "A")
    acting.run("A joins")
    assert not acting.answer().endswith("computes")


def test_a_static_member_waits_for_its_first_target_as_the_holder_of_its_instance() -> None:
    """Epoch 0 again is no second process; another member with the instance id is one, until the first one leaves."""
    acting = play(dialect=Dialect.R3_7)
    acting.run(f"A joins instance=i {ONE}")
    assert acting.run("A joins instance=i") == ""
    assert acting.answer() == "0 has - computes"
    assert acting.run(f"B joins instance=i {ONE}") == ""
    assert acting.answer() == "UNRELEASED_INSTANCE_ID"
    _prepare(acting, "A")
    assert _install(acting, "A", 1, "A=0-5") == ("7 A 0-5; 6 1 t0", "NONE")
    assert acting.run("A joins instance=i") == "8 A 1/0 to=1 0-5 waits=-"


def test_a_static_member_that_came_back_while_the_assignor_ran_takes_its_share() -> None:
    """Its return under another id bumps no epoch: what was computed for the first id goes to the second one."""
    acting = _started()
    acting.run(f"C joins instance=i {ONE}")
    acting.run("A joins")
    _prepare(acting, "A")
    acting.run("C pauses")
    acting.run(f"D joins instance=i {ONE}")
    shares = "A=0-1 B=2-3 C=4-5"
    assert _install(acting, "A", 3, shares) == ("7 A 0-1; 7 B 2-3; 7 D 4-5; 6 3 t0", "NONE")


def test_a_static_member_that_comes_back_has_the_target_it_had() -> None:
    """No assignor runs for its return: the target, and what the assignor said about it, follow it to its new id."""
    acting = _started()
    acting.run(f"C joins instance=i {ONE}")
    acting.run("A joins")
    _prepare(acting, "A")
    _install(acting, "A", 3, "A=0-1 B=2-3 C=4-5")
    acting.run("C pauses")
    assert acting.run(f"D joins instance=i {ONE}") == (
        "8t C; 7t C; 5t C; 5 D; 7 D 4-5; 8 D 3/0 to=3 4-5 waits=-"
    )


def test_a_result_that_a_server_side_assignor_was_quicker_than_is_refused() -> None:
    """C supports no assignor of A's and B's: the server-side one computes epoch 3 while A works on epoch 2."""
    acting = _started()
    _prepare(acting, "A")
    acting.run("C joins")
    assert _install(acting, "A", 2, "A=0-2 B=3-5") == ("", "UNKNOWN_MEMBER_ID")


def test_a_member_that_does_not_deliver_is_passed_over_and_not_fenced() -> None:
    """One run at a time: after the rebalance timeout another member is chosen; the late result is refused."""
    acting = _started()
    _prepare(acting, "A")
    for _ in range(10):
        acting.run("wait 30000")
        acting.run("A joins")
        acting.run("B joins")
    assert acting.answer() == "0 has - computes"
    assert _install(acting, "A", 2, "A=0-5 B=-") == ("", "UNKNOWN_MEMBER_ID")
    _prepare(acting, "B")
    assert _install(acting, "B", 2, "A=0-5 B=-") == ("7 A 0-5; 7 B -; 6 2 t0", "NONE")


def test_a_chosen_member_that_leaves_is_replaced_at_once() -> None:
    """The next heartbeat of another member finds no run under way."""
    acting = _started()
    acting.run("A leaves")
    acting.run("B joins")
    assert acting.answer() == "0 has - computes"


def test_a_result_is_installed_even_if_the_group_moved_on_and_the_next_run_begins() -> None:
    """The assignment epoch is that of the group that was prepared; a member that left meanwhile gets no target."""
    acting = _started()
    _prepare(acting, "A")
    acting.run(f"C joins {ONE}")
    acting.run("B leaves")
    assert _install(acting, "A", 2, "A=0-2 B=3-5") == ("7 A 0-2; 6 2 t0", "NONE")
    acting.run("A joins")
    assert acting.answer() == "2 has 0-2 computes"


INVALID = [
    ("a partition missing", "A=0-2 B=3-4"),
    ("a partition twice", "A=0-3 B=3-5"),
    ("twice for one member", "A=0-5,5 B=-"),
    ("a partition that is not there", "A=0-6 B=-"),
    ("another topic", "A=0-5+bar:0 B=-"),
    ("a stranger", "A=0-5 Z=-"),
    ("a member twice", "A=0-2 A=3-5"),
    ("nothing", ""),
]


@pytest.mark.parametrize("shares", [row[1] for row in INVALID], ids=[row[0] for row in INVALID])
def test_an_invalid_assignment_is_refused(shares: str) -> None:
    """INVALID_ASSIGNMENT, judged by what the assignor was given; a better one may follow."""
    acting = _started()
    _prepare(acting, "A")
    assert _install(acting, "A", 2, shares) == ("", "INVALID_ASSIGNMENT")
    assert _install(acting, "A", 2, "A=0-5 B=-")[1] == "NONE"


def test_what_was_not_prepared_cannot_be_installed() -> None:
    """INVALID_ASSIGNMENT without ConsumerGroupPrepareAssignment, or for another group epoch than it returned."""
    acting = _started()
    assert _install(acting, "A", 2, "A=0-5 B=-") == ("", "INVALID_ASSIGNMENT")
    _prepare(acting, "A")
    assert _install(acting, "A", 1, "A=0-5 B=-") == ("", "INVALID_ASSIGNMENT")


def test_an_assignor_that_cannot_assign_leaves_the_targets() -> None:
    """Every member gets the error with its next assignment; the epochs move on."""
    acting = _started()
    _prepare(acting, "A")
    _install(acting, "A", 2, "A=0-2 B=3-5")
    acting.run(f"C joins {ONE}")
    acting.run("A joins")
    assert acting.answer().endswith("computes")
    _prepare(acting, "A")
    records, error = _install(acting, "A", 3, error=3)
    assert error == "NONE"
    assert records == "7 A 0-2 error=3; 7 B 3-5 error=3; 7 C - error=3; 6 3 t0"
    acting.run("A joins")
    assert acting.last.assignment is not None
    assert acting.last.assignment.error == 3


def test_new_metadata_or_a_reason_calls_for_a_new_assignment() -> None:
    """The same assignors once more do not; a reason does, even if all else is the same."""
    acting = _started()
    assert acting.run(f"B joins {ONE}") == ""
    assert acting.run("B joins assignors=c:0..1:0") == "5 B; 3 3 h0"
    assert acting.run("B joins assignors=c:0..1:0!1") == "5 B; 3 4 h0"
    assert acting.run("B joins assignors=c:0..1:0!1") == "3 5 h0"


def test_one_member_without_the_assignor_means_a_server_side_one() -> None:
    """A client-side assignor is used only when all support it."""
    acting = _started()
    assert acting.run("C joins") == (
        "5 C; 3 3 h0; 7 A 0-1; 7 B 2-3; 7 C 4-5; 6 3 t0; 8 C 3/0 to=3 4-5 waits=-"
    )


def test_a_new_coordinator_asks_again() -> None:
    """The run is soft state: after a fail-over the target is still due, so a member is asked again."""
    acting = _started()
    _prepare(acting, "A")
    acting.run("fail over")
    assert _install(acting, "A", 2, "A=0-5 B=-") == ("", "UNKNOWN_MEMBER_ID")
    acting.run("B joins")
    assert not acting.answer().endswith("computes")
    acting.run("A joins")
    assert acting.answer().endswith("computes")


CHOICES = [
    ("one assignor", {"A": "c:0-1:1", "B": "c:0-1:1"}, "c", "A B"),
    ("the KIP's ranges", {"B": "c:3-4:3", "C": "c:2-4:4", "A": "c:1-5:5"}, "c", "A"),
    ("no range takes in all, versions do", {"A": "c:1-3:2", "B": "c:2-4:3"}, "c", "A B"),
    ("only one reads all versions in use", {"A": "c:1-3:3", "B": "c:2-4:4"}, "c", "B"),
    ("no member reads all versions in use", {"A": "c:1-3:1", "B": "c:2-4:4"}, None, ""),
    ("nothing in common", {"A": "c:0-1:1", "B": "d:0-1:1"}, None, ""),
    ("somebody has none", {"A": "c:0-1:1", "B": ""}, None, ""),
    (
        "most preferred",
        {"A": "c:0-1:1 d:0-1:1", "B": "d:0-1:1 c:0-1:1", "C": "d:0-1:1 c:0-1:1"},
        "d",
        "A B C",
    ),
    ("a tie goes to the oldest", {"A": "c:0-1:1 d:0-1:1", "B": "d:0-1:1 c:0-1:1"}, "c", "A B"),
    ("the one that can be run", {"A": "c:0-1:0 d:0-1:1", "B": "c:1-2:2 d:0-1:1"}, "d", "A B"),
]


@pytest.mark.parametrize(
    ("offers", "name", "runners"), [row[1:] for row in CHOICES], ids=[row[0] for row in CHOICES]
)
def test_which_assignor_and_who_can_run_it(
    offers: dict[str, str], name: str | None, runners: str
) -> None:
    """Member -> its assignors `name:min-max:version`, most preferred first."""
    members = []
    for member_id, text in offers.items():
        assignors = []
        for word in text.split():
            assignor, versions, version = word.split(":")
            low, _, high = versions.partition("-")
            assignors.append(
                ConsumerGroupMemberMetadataAssignor(
                    assignor, int(low), int(high), 0, int(version), b""
                )
            )
        members.append(ModernMember(member_id, client_assignors=tuple(assignors)))
    choice = choose_client_assignor(members)
    assert (None if choice is None else choice.assignor_name) == name
    assert " ".join(() if choice is None else choice.runners) == runners


def test_no_release_but_the_early_access_one_knows_them() -> None:
    """UNSUPPORTED_ASSIGNOR elsewhere."""
    for dialect in Dialect:
        acting = play(dialect=dialect)
        acting.run(f"A joins {ONE}")
        known = dialect is Dialect.R3_7
        assert (acting.last.error_code is ErrorCode.UNSUPPORTED_ASSIGNOR) is not known
