"""How each record type changes a group, where the scenarios and the anomalies do not show it."""

import pytest

from rebalance_audit.replay.groups import (
    ClassicGroup,
    ClassicMembership,
    ClientAssignorResult,
    GroupSlot,
    ModernGroup,
    RegexResolution,
)
from rebalance_audit.replay.playback import RULES
from rebalance_audit.wire.generated.messages import RecordType
from tests.dsl import (
    GROUP_ID,
    TOPIC_IDS,
    anomalies,
    picture,
    replay,
    replayed,
)

FOO = TOPIC_IDS["foo"]

LOGS = [
    # what it shows, log, last state
    ("a group epoch makes the group", "3 5", "Consumer Empty 5/0"),
    ("a recorded topic makes the group", "4 foo:6", "Consumer Empty 0/0"),
    ("a member makes the group", "5 A", "Consumer Stable 0/0 | A 0/-1 STABLE -"),
    ("a target epoch makes the group", "6 5", "Consumer Empty 0/5"),
    ("a target makes the group, not the member", "7 A 0-2", "Consumer Empty 0/0"),
    (
        "an assignment makes group and member",
        "8 A 0/0 STABLE 0",
        "Consumer Stable 0/0 | A 0/0 STABLE 0 wants -",
    ),
    ("an expression makes the group", "16 fo.* foo", "Consumer Empty 0/0"),
    (
        "a target waits for its member",
        "7 A 0-2; 3 2; 6 2; 5 A",
        "Consumer Reconciling 2/2 | A 0/-1 STABLE - wants 0-2",
    ),
    (
        "the implicit epochs are 1 where a member is at 1",
        "5 A; 8 A 1/0 STABLE -",
        "Consumer Stable 1/1 | A 1/0 STABLE -",
    ),
    (
        "the implicit epochs are 0 where no member shows more",
        "5 A; 8 A 0/0 STABLE -; 5 B",
        "Consumer Stable 0/0 | A 0/0 STABLE - | B 0/-1 STABLE -",
    ),
    (
        "an implicit assignment epoch does not touch a recorded group epoch",
        "5 A; 3 2; 8 A 1/0 STABLE -",
        "Consumer Assigning 2/1 | A 1/0 STABLE -",
    ),
    (
        "when the implicit epoch proves to be 1, who is at 0 has not converged",
        "5 A; 5 B; 8 A 1/0 STABLE -",
        "Consumer Reconciling 1/1 | A 1/0 STABLE - | B 0/-1 STABLE -",
    ),
    (
        "the tombstone of an assignment leaves the member at -1 with nothing",
        "5 A; 3 2; 7 A 0-2; 6 2; 8 A 2/1 UNREVOKED 0|1-2; 8t A",
        "Consumer Reconciling 2/2 | A -1/-1 UNREVOKED - wants 0-2",
    ),
    (
        "the tombstone of the target epoch sets it to -1",
        "5 A; 3 2; 6 2; 6t",
        "Consumer Assigning 2/-1 | A 0/-1 STABLE -",
    ),
    (
        "a state that a later release may write is no convergence",
        "5 A; 3 2; 6 2; 8 A 2/0 ODD -",
        "Consumer Reconciling 2/2 | A 2/0 UNKNOWN -",
    ),
    (
        "a simple group gives way to a consumer group",
        "1 foo:0 5; 5 A",
        "Consumer Stable 0/0 | A 0/-1 STABLE -",
    ),
    ("a simple group gives way to a streams group", "1 foo:0 5; 17 1", "Streams Empty 1/0"),
    ("an empty classic group without type counts as simple", "2 0; 3 1", "Consumer Empty 1/0"),
    ("even a tombstone replaces a simple group", "1 foo:0 5; 7t A", "Consumer Empty 0/0"),
    (
        "a classic record replaces a consumer group unasked",
        "5 A; 3 1; 2 4 range B=0",
        "Classic Stable 4 | B 0",
    ),
    (
        "a classic record replaces a share group unasked",
        "10 A; 2 4 range B=0",
        "Classic Stable 4 | B 0",
    ),
    ("a classic tombstone removes a streams group", "19 A; 2t", "gone"),
    ("a classic group lives on empty", "2 1 range A=0; 2 2 type=consumer", "Classic Empty 2"),
    (
        "a share group is stable with members, whatever the epochs",
        "10 A; 11 5",
        "Share Stable 5/0 | A 0/-1 STABLE -",
    ),
    (
        "members of a share group may share partitions",
        "10 A; 10 B; 11 2; 12 2; 14 A 2/0 STABLE 0; 14 B 2/0 STABLE 0",
        "Share Stable 2/2 | A 2/0 STABLE 0 wants - | B 2/0 STABLE 0 wants -",
    ),
    (
        "a share group is taken down",
        "10 A; 11 2; 13 A 0; 12 2; 14 A 2/0 STABLE 0; 15 foo; 14t A; 13t A; 10t A; 11 3; 12 3; 12t; 15t; 11t",
        "gone",
    ),
    (
        "a streams group without topology is not ready",
        "19 A; 17 2",
        "Streams NotReady 2/0 | A 0/-1 STABLE -",
    ),
    (
        "a streams group whose topology is not validated is not ready",
        "19 A; 23 1; 17 2; 20 2",
        "Streams NotReady 2/2 | A 0/-1 STABLE -",
    ),
    (
        "4.2 writes its settings, so that a missing validated epoch says that there is none",
        "19 A; 23 1; 17 2 standby=0; 21 A 0_1:0-2; 20 2; 22 A 2/0 STABLE 0_1:0-2",
        "Streams NotReady 2/2 | A 2/0 STABLE 0_1:0-2",
    ),
    (
        "4.1 writes neither, and assigns only a topology that is ready",
        "19 A; 23 1; 17 2; 21 A 0_1:0-2; 20 2; 22 A 2/0 STABLE 0_1:0-2",
        "Streams Stable 2/2 | A 2/0 STABLE 0_1:0-2",
    ),
    (
        "a topology that is no longer ready is assigned without tasks",
        "19 A; 23 1; 17 2; 21 A 0_1:0-2; 20 2; 22 A 2/0 STABLE 0_1:0-2; 17 3 h0; 21 A -; 20 3",
        "Streams NotReady 3/3 | A 2/0 STABLE 0_1:0-2 wants -",
    ),
    (
        "a streams group with a validated topology goes the way of a consumer group",
        "19 A; 23 1; 17 2 h1 valid=1; 21 A 0_1:0-2; 20 2; 22 A 2/0 STABLE 0_1:0-2",
        "Streams Stable 2/2 | A 2/0 STABLE 0_1:0-2",
    ),
    (
        "streams members have codes of their own for their states",
        "19 A; 23 1; 17 2 h1 valid=1; 20 2; 22 A 2/0 UNREVOKED 0_1:0|0_1:1; 22 B 2/0 UNRELEASED -",
        "Streams Reconciling 2/2 | A 2/0 UNREVOKED 0_1:0 gives up 0_1:1 wants - | B 2/0 UNRELEASED -",
    ),
]


@pytest.mark.parametrize(
    ("log", "state"), [case[1:] for case in LOGS], ids=[case[0] for case in LOGS]
)
def test_a_log_leads_to_its_state(log: str, state: str) -> None:
    """Each row is one rule of replay that a broker's loader has as well; none of these logs is out of order."""
    slot = GroupSlot(GROUP_ID)
    assert anomalies(replay(slot, log)) == []
    assert picture(slot) == state


def test_every_record_type_has_a_rule() -> None:
    """A new record type cannot be forgotten: it would stop the replay of any log that has it."""
    assert RULES.keys() == set(RecordType)


def modern(log: str) -> ModernGroup:
    """The consumer, share or streams group that a log leads to."""
    group = replayed(log).group
    assert isinstance(group, ModernGroup)
    return group


def classic(log: str) -> ClassicGroup:
    """The classic group that a log leads to."""
    group = replayed(log).group
    assert isinstance(group, ClassicGroup)
    return group


def test_member_metadata_overwrites_the_description_and_keeps_the_assignment() -> None:
    """[5] sets what the member says of itself; epochs, state and partitions come from [8] alone."""
    member = modern(
        "5 A topics=foo regex=fo.* rack=r assignor=range timeout=9 instance=i1 client=c classic=range;"
        " 3 2; 6 2; 8 A 2/1 STABLE 0-1; 5 A topics=bar,foo timeout=10"
    ).members["A"]
    assert (member.subscribed_topic_names, member.subscribed_topic_regex) == (("bar", "foo"), "")
    assert (member.rack_id, member.server_assignor, member.instance_id) == (None, None, None)
    assert (member.rebalance_timeout_ms, member.client_id, member.classic) == (10, "client", None)
    assert (member.member_epoch, member.previous_member_epoch) == (2, 1)
    assert member.assigned == {FOO: {0, 1}}


def test_a_classic_member_of_a_consumer_group_reports_its_protocols() -> None:
    """The part of [5] that marks a member as speaking the classic protocol is kept."""
    members = modern("5 A classic=range; 5 B").members
    assert members["A"].classic == ClassicMembership(45000, (("range", b"s"),))
    assert members["B"].classic is None


def test_a_member_known_by_its_assignment_alone_is_not_described() -> None:
    """Compaction may leave [8] ahead of [5]: what the member subscribes to is unknown until then."""
    group = modern("8 A 0/0 STABLE -; 8 B 0/0 STABLE -; 5 B")
    assert {name: member.described for name, member in group.members.items()} == {
        "A": False,
        "B": True,
    }


@pytest.mark.parametrize(
    ("log", "static_members"),
    [
        ("5 A instance=i1; 5 B", {"i1": "A"}),
        ("5 A instance=i1; 5 A instance=i2", {"i2": "A"}),
        ("5 A instance=i1; 5 A", {}),
        ("5 A instance=i1; 5 B instance=i1; 8t A; 5t A", {"i1": "B"}),
        ("5 A instance=i1; 8t A; 5t A", {}),
        ("19 A instance=i1", {"i1": "A"}),
    ],
)
def test_instance_ids_lead_to_their_member(log: str, static_members: dict[str, str]) -> None:
    """The last member that came with an instance id has it; an earlier one that leaves does not take it away."""
    assert modern(log).static_members == static_members


def test_a_partition_belongs_to_who_took_it_last() -> None:
    """A member whose releasing record is lost does not take the partition from its new owner when it writes again."""
    group = modern("5 A; 5 B; 3 3; 6 3; 8 A 2/0 STABLE 0-1; 8 B 3/0 STABLE 1; 8 A 3/2 STABLE 0")
    assert group.owners == {(FOO, 0): "A", (FOO, 1): "B"}


def test_partitions_pending_revocation_are_still_owned() -> None:
    """No other member may have what a member has yet to give up."""
    group = modern("5 A; 3 2; 6 2; 8 A 2/0 UNREVOKED 0|1")
    assert group.owners == {(FOO, 0): "A", (FOO, 1): "A"}


@pytest.mark.parametrize(
    ("assignment", "epochs"),
    [
        ("8 A 4/3 STABLE 0-1@2,2@4", [2, 2, 4]),
        ("8 A 4/3 UNREVOKED 0-1@2|2@3", [2, 2, 3]),
        ("8 A 4/3 STABLE 0-2@-", [4, 4, 4]),
        ("8 A -2/3 STABLE 0-2@-", [0, 0, 0]),
        ("8 A -2/3 STABLE 0-2@0", [0, 0, 0]),
    ],
)
def test_each_partition_has_the_epoch_of_its_assignment(assignment: str, epochs: list[int]) -> None:
    """Records from 4.3 on say it per partition; before, the member's epoch stands for it, at least 0."""
    member = modern(f"5 A; 3 4; 6 4; {assignment}").members["A"]
    assert [member.assignment_epoch_of(FOO, number) for number in range(3)] == epochs


def test_expressions_keep_their_topics_and_how_they_were_found() -> None:
    """A later resolution replaces the earlier one, a tombstone forgets the expression."""
    group = modern("16 a.* foo,bar v=7; 16 b.*; 16 a.* foo v=8; 16t b.*")
    assert group.regexes == {"a.*": {"foo"}}
    assert group.regex_resolutions == {"a.*": RegexResolution(8, 500)}


def test_a_group_knows_which_epochs_come_from_records() -> None:
    """What it has by default or after a tombstone is not what the log says."""
    group = modern("5 A; 8 A 1/0 STABLE -")
    assert (group.has_epoch_record, group.has_assignment_record) == (False, False)
    group = modern("3 2; 6 2 t=900")
    assert (group.has_epoch_record, group.has_assignment_record) == (True, True)
    assert group.assignment_timestamp_ms == 900
    group = modern("3 2; 6 2 t=900; 6t")
    assert (group.has_epoch_record, group.has_assignment_record) == (True, False)
    assert group.assignment_timestamp_ms == 0


def test_recorded_topics_are_those_of_the_last_record() -> None:
    """[4] lists all topics of the group each time; its tombstone means that the log holds none any more."""
    assert modern("4 foo:6 bar:3; 4 foo:7").recorded_topics == {"foo": 7}
    assert modern("4 foo:6; 4t").recorded_topics is None


def test_a_new_group_under_an_old_id_starts_afresh() -> None:
    """Nothing of the removed group is left in the one that comes after it."""
    group = modern(
        "5 A instance=i1; 3 2 h9; 7 A 0; 6 2 t=5; 8 A 2/0 STABLE 0; 8t A; 7t A; 5t A; 6t; 3t; 5 B"
    )
    assert group == modern("5 B")


def test_a_classic_record_is_kept_whole() -> None:
    """Type, protocol, leader and the times of the group; client, timeouts and the two payloads of each member."""
    group = classic("2 3 range A@i1=0-1 B topics=foo,bar lead=B state_at=77 session=10 timeout=-1")
    assert (group.has_record, group.protocol_type, group.protocol_name) == (
        True,
        "consumer",
        "range",
    )
    assert (group.leader_member_id, group.current_state_timestamp_ms) == ("B", 77)
    first, second = group.members.values()
    assert (first.member_id, first.instance_id, first.client_id) == ("A", "i1", "client")
    # A record of value version 0 has no rebalance timeout; the session timeout stands for it.
    assert (first.session_timeout_ms, first.rebalance_timeout_ms) == (10, 10)
    assert first.subscription is not None
    assert first.subscription.topics == ("foo", "bar")
    assert first.assigned == {"foo": {0, 1}}
    assert second.assigned == {}
    assert second.assignment is None


def test_payloads_of_other_protocol_types_stay_closed() -> None:
    """Only groups of protocol type `consumer` have subscriptions and assignments that Kafka defines."""
    (member,) = classic("2 3 sessioned A=0-1 type=connect").members.values()
    assert (member.subscription, member.assignment, member.assigned) == (None, None, {})
    assert member.assignment_bytes


def test_an_earlier_generation_stays_as_it_was() -> None:
    """Who kept the members of the generation before can compare them: each record brings new ones."""
    slot = replayed("2 1 range A=0-1")
    assert isinstance(slot.group, ClassicGroup)
    before = slot.group.members
    replay(slot, "2 2 range A=0 B=1")
    assert {name: member.assigned for name, member in before.items()} == {"A": {"foo": {0, 1}}}


@pytest.mark.parametrize(
    ("assignment", "state"),
    [
        ("8 A 2/1 STABLE 0|1 to=3 waits=2 layout=3.7", "UNREVOKED"),
        ("8 A 3/2 STABLE 0 to=3 waits=2 layout=3.7", "UNRELEASED"),
        ("8 A 3/2 STABLE 0 to=3 layout=3.7", "STABLE"),
    ],
)
def test_the_early_access_has_a_members_state_between_the_lines(
    assignment: str, state: str
) -> None:
    """3.7 wrote what a member waits for instead of its state, and the epoch it moves to."""
    member = modern(f"5 A; 3 3; 6 3; {assignment}").members["A"]
    assert (member.member_state, member.target_member_epoch) == (state, 3)
    assert member.client_assignor_result == ClientAssignorResult(0, 0, b"")


def test_the_early_access_says_how_a_client_side_assignor_fared() -> None:
    """3.7 kept the assignor's error and metadata beside each target; the target's tombstone drops them."""
    assert modern("7 A 0 error=5 layout=3.7").target_results == {
        "A": ClientAssignorResult(5, 0, b"")
    }
    assert modern("7 A 0 layout=3.7; 7t A").target_results == {}
    assert modern("7 A 0").target_results == {}


def test_streams_members_have_standby_and_warm_up_tasks() -> None:
    """They are no ownership: only active tasks have one owner."""
    log = "19 A; 22 A 0/0 STABLE 0_1:0 standby=0_1:1 warmup=0_2:0"
    member = modern(log).members["A"]
    assert member.standby == {"0_1": {1}}
    assert member.warmup == {"0_2": {0}}
    assert modern(log).owners == {("0_1", 0): "A"}
    released = modern(log + "; 22t A").members["A"]
    assert (released.standby, released.warmup) == ({}, {})
