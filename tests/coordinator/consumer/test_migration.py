"""Groups that change their protocol while they run: upgrade, mixed groups, downgrade, static members, policy."""

import pytest

from rebalance_audit.coordinator.handling import Dialect, MigrationPolicy
from rebalance_audit.replay.groups import ClassicGroup, ModernGroup
from tests.coordinator.consumer.mixed_play import MixedPlay, perform_mixed
from tests.coordinator.consumer.play import Scenario, play


def _classic(*rows: tuple[str, ...], **settings: object) -> MixedPlay:
    """A stable classic group: C leads and has foo 0-2, S is static (instance i1) and has 3-5; generation 1."""
    mixed = MixedPlay(play(**settings))
    perform_mixed(
        mixed,
        [
            ("C asks", "2 0 at1000"),
            ("C asks", ""),
            ("S asks instance=i1", ""),
            ("wait 6000", ""),
        ],
    )
    mixed.run("C syncs gives=C:0-2,,S:3-5")
    mixed.run("S syncs instance=i1")
    assert mixed.answered == "3-5"
    perform_mixed(mixed, list(rows))
    return mixed


UPGRADE = (
    "2t; 5 C; 5 S; 3 1 hA; 7 C 0-2; 7 S 3-5; 6 1 t0; 8 C 1/1 STABLE 0-2@1; 8 S 1/1 STABLE 3-5@1"
)


def _in_any_order(text: str) -> list[str]:
    return sorted(text.split("; "))


def test_the_first_member_of_the_consumer_protocol_brings_everybody_along() -> None:
    """The generation becomes the epoch, the assignment the target; then the newcomer joins like any other member."""
    mixed = _classic()
    records = mixed.run("D joins")
    joined = "5 D; 3 2 hA; 7 C 0-1; 7 S 3-4; 7 D 2,5; 6 2 t7000; 8 D 2/0 UNRELEASED -"
    assert _in_any_order(records) == _in_any_order(f"{UPGRADE}; {joined}")


MIXED: Scenario = [
    ("C pings", "", "REBALANCE_IN_PROGRESS"),
    ("C asks owns=0-2", "5 C; 8 C 1/1 UNREVOKED 0-1@1|2@1", "generation 1"),
    ("C syncs", "", "0-1"),
    ("C pings", "", "REBALANCE_IN_PROGRESS"),
    ("C asks owns=0-1", "5 C; 8 C 2/1 STABLE 0-1@1", "generation 2"),
    ("C syncs", "", "0-1"),
    ("C pings", "", "NONE"),
    ("D beats", "8 D 2/2 UNRELEASED 2@2", "2 has 2"),
    ("S pings instance=i1", "", "REBALANCE_IN_PROGRESS"),
    ("S asks instance=i1", "8 S 2/1 STABLE 3-4@1", "generation 2"),
    ("D beats", "8 D 2/2 STABLE 2@2,5@2", "2 has 2,5"),
    ("S syncs instance=i1", "", "3-4"),
    ("S pings instance=i1", "", "NONE"),
]


def test_classic_members_are_led_through_revocation_one_by_one() -> None:
    """A cooperative member joins twice; an eager one owns nothing when it joins, so once is enough."""
    mixed = _classic()
    mixed.run("D joins")
    perform_mixed(mixed, MIXED)


def test_a_waiting_classic_member_is_called_when_its_partitions_are_free() -> None:
    """UNRELEASED, but no partition is held back any longer: the heartbeat asks it to join again."""
    mixed = _classic()
    mixed.run("D joins")
    mixed.run("D beats epoch=2")
    mixed.run("C asks owns=0-2")
    mixed.run("E asks")
    assert mixed.answered == "MEMBER_ID_REQUIRED"
    records = mixed.run("E asks")
    assert records.startswith("5 E; 3 3 hA;")
    assert mixed.answered == "generation 3"
    mixed.run("E syncs")
    assert mixed.answered == "-"
    mixed.run("E pings")
    assert mixed.answered == "NONE", "others still hold what it waits for"
    mixed.run("C asks")
    mixed.run("S asks instance=i1")
    mixed.run("D beats owns=-")
    mixed.run("E pings")
    assert mixed.answered == "REBALANCE_IN_PROGRESS"


def test_the_last_member_of_the_consumer_protocol_turns_the_group_back() -> None:
    """By leave, by session timeout or by rebalance timeout: the same records, and a classic rebalance follows."""
    for how in ("leaves", "is silent"):
        mixed = _classic()
        mixed.run("D joins")
        if how == "leaves":
            records = mixed.run("D leaves")
        else:
            mixed.run("wait 30000")
            mixed.run("C pings")
            mixed.run("S pings instance=i1")
            records = mixed.run("wait 15000")
        at = mixed.driver.now_ms
        last = f"2 2 at{at} "
        assert records.startswith("8t "), how
        assert "; 4t; 3t; " + last in records
        group = mixed.driver.group()
        assert isinstance(group, ClassicGroup)
        assert group.generation == 2
        assigned = {name: group.members[mixed.ids[name]].assigned for name in ("C", "S")}
        assert assigned == {"C": {"foo": frozenset({0, 1})}, "S": {"foo": frozenset({3, 4})}}
        mixed.run("C pings generation=2")
        assert mixed.answered == "REBALANCE_IN_PROGRESS"


def test_a_classic_member_takes_the_place_of_the_last_consumer_member() -> None:
    """Downgrade by static replacement: the block of tombstones names the new id; no rebalance is needed."""
    mixed = MixedPlay(play())
    perform_mixed(
        mixed,
        [
            ("A joins instance=i1", "5 A; 3 2 hA; 7 A 0-5; 6 2 t1000; 8 A 2/0 STABLE 0-5@2"),
            (
                "S asks instance=i1",
                (
                    "8t A; 7t A; 5t A; 5 S; 7 S 0-5; 8 S 0/0 STABLE 0-5@2; 5 S"
                    "; 8 S 2/0 STABLE 0-5@2"
                    "; 8t S; 7t S; 6t; 5t S; 4t; 3t; 2 2 at1000 S"
                ),
                "generation 2",
            ),
            ("S syncs instance=i1", "", "0-5"),
            ("S pings instance=i1", "", "NONE"),
        ],
    )


def test_a_replacement_that_changes_the_subscription_rebalances() -> None:
    """The group epoch is bumped before the downgrade, so the assignment is behind it."""
    mixed = MixedPlay(play())
    mixed.run("A joins instance=i1")
    assert mixed.run("S asks instance=i1 topics=bar") == (
        "8t A; 7t A; 5t A; 5 S; 7 S 0-5; 8 S 0/0 STABLE 0-5@2; 5 S; 3 3 hB"
        "; 8t S; 7t S; 6t; 5t S; 4t; 3t; 2 2 at1000 S"
    )
    mixed.run("S pings instance=i1 generation=2")
    assert mixed.answered == "REBALANCE_IN_PROGRESS"


def test_a_static_member_moves_to_the_consumer_protocol_without_having_left() -> None:
    """Its classic predecessor is replaced and its partitions come along."""
    mixed = _classic()
    mixed.run("D joins")
    for step in ("C asks", "S asks instance=i1", "D beats", "C syncs", "S syncs instance=i1"):
        mixed.run(step)
    records = mixed.run("T joins instance=i1")
    assert records == (
        "8t S; 7t S; 5t S; 5 T; 7 T 3-4; 8 T 0/0 STABLE 3-4@1; 5 T; 8 T 2/0 STABLE 3-4@1"
    )
    assert mixed.answered == "2 has 3-4"
    mixed.run("S pings instance=i1")
    assert mixed.answered == "FENCED_INSTANCE_ID"


def test_an_administrator_removes_static_members_of_either_protocol_in_one_write() -> None:
    """One epoch for all; names that no member holds have their own error."""
    mixed = _classic()
    mixed.run("D joins")
    mixed.run("E joins instance=i2")
    records = mixed.run("admin removes named=i1,i2,i3")
    assert mixed.answered == "NONE,NONE,UNKNOWN_MEMBER_ID"
    assert records.count("3 4") == 1
    assert records.startswith("8t S; 7t S; 5t S; 8t E; 7t E; 5t E; 3 4")


TIMEOUTS = [
    ("asked to join and does not", ["D joins", "C pings"], 60_000),
    ("joined and does not sync", ["D joins", "C asks timeout=60000"], 60_000),
]


@pytest.mark.parametrize(
    ("steps", "timeout_ms"), [row[1:] for row in TIMEOUTS], ids=[row[0] for row in TIMEOUTS]
)
def test_a_classic_member_that_does_not_follow_is_out(steps: list[str], timeout_ms: int) -> None:
    """Its rebalance timeout runs from the first request to rejoin; heartbeats do not extend it."""
    mixed = MixedPlay(play())
    mixed.run("C asks")
    mixed.run(f"C asks timeout={timeout_ms}")
    mixed.run("wait 3000")
    mixed.run("C syncs gives=C:0-5")
    for step in steps:
        mixed.run(step)
    for _ in range(2):
        mixed.run("wait 29999")
        mixed.run("C pings")
        mixed.run("D beats")
    mixed.run("wait 1")
    group = mixed.driver.group()
    assert isinstance(group, ModernGroup)
    assert mixed.ids["C"] in group.members
    mixed.run("wait 1")
    group = mixed.driver.group()
    assert isinstance(group, ModernGroup)
    assert list(group.members) == ["D"]


REFUSALS = [
    ("not a member", "Z pings", "UNKNOWN_MEMBER_ID"),
    ("a consumer member", "D pings generation=2", "UNKNOWN_MEMBER_ID"),
    ("another generation", "C pings generation=7", "ILLEGAL_GENERATION"),
    ("instance of another", "C pings instance=i1", "FENCED_INSTANCE_ID"),
    ("an unknown instance", "C pings instance=x", "UNKNOWN_MEMBER_ID"),
    ("sync by no member", "Z syncs", "UNKNOWN_MEMBER_ID"),
    ("sync of another generation", "C syncs generation=7", "ILLEGAL_GENERATION"),
    ("sync with another protocol", "C syncs protocol=x", "INCONSISTENT_GROUP_PROTOCOL"),
    ("sync with another type", "C syncs type=connect", "INCONSISTENT_GROUP_PROTOCOL"),
    ("sync while it must join again", "C syncs", "REBALANCE_IN_PROGRESS"),
    ("join with another type", "C asks type=connect", "INCONSISTENT_GROUP_PROTOCOL"),
    ("join with a strange protocol", "C asks protocol=x", "INCONSISTENT_GROUP_PROTOCOL"),
    ("join with malformed bytes", "C asks bytes=00", "INCONSISTENT_GROUP_PROTOCOL"),
    ("join with too short a session", "C asks session=1", "INVALID_SESSION_TIMEOUT"),
    ("join of a full group", "N asks", "GROUP_MAX_SIZE_REACHED"),
    ("leave of no member", "Z quits", "UNKNOWN_MEMBER_ID"),
    ("leave by another's instance", "C quits instance=i1", "FENCED_INSTANCE_ID"),
]


@pytest.mark.parametrize(
    ("command", "error"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
def test_what_classic_members_of_a_consumer_group_are_refused(command: str, error: str) -> None:
    """The errors of JoinGroup, SyncGroup, Heartbeat and LeaveGroup in a mixed group; nothing is written."""
    mixed = _classic(consumer_max_size=3)
    mixed.run("D joins")
    mixed.ids["D"] = "D"
    assert mixed.run(command) == ""
    assert mixed.answered == error


STAYS_CLASSIC = [
    ("upgrade off", {"migration_policy": MigrationPolicy.DOWNGRADE}, "C:0-5"),
    ("migration off", {"migration_policy": MigrationPolicy.DISABLED}, "C:0-5"),
    ("too many members", {"consumer_max_size": 0}, "C:0-5"),
    ("no release for it", {"dialect": Dialect.R3_7}, "C:0-5"),
]


@pytest.mark.parametrize(
    ("config", "gives"), [row[1:] for row in STAYS_CLASSIC], ids=[row[0] for row in STAYS_CLASSIC]
)
def test_a_classic_group_that_must_not_move_stays_as_it_is(
    config: dict[str, object], gives: str
) -> None:
    """GROUP_ID_NOT_FOUND for the newcomer; the group continues, its soft state unchanged."""
    mixed = MixedPlay(play(**config))
    mixed.run("C asks")
    mixed.run("C asks")
    mixed.run("wait 3000")
    mixed.run(f"C syncs gives={gives}")
    assert mixed.run("D joins") == ""
    assert mixed.answered == "GROUP_ID_NOT_FOUND"
    mixed.run("C pings")
    assert mixed.answered == "NONE"


def test_a_custom_assignors_data_is_not_thrown_away() -> None:
    """A classic group whose assignments carry user data is not upgraded."""
    mixed = MixedPlay(play())
    mixed.run("C asks")
    mixed.run("C asks")
    mixed.run("wait 3000")
    mixed.run("C syncs gives=C:0-5 data=x")
    assert mixed.run("D joins") == ""
    assert mixed.answered == "GROUP_ID_NOT_FOUND"


def test_an_upgrade_with_partitions_that_no_longer_exist_is_refused() -> None:
    """A topic was recreated with fewer partitions: the uniform assignor finds no room for what classic members own."""
    mixed = _classic()
    mixed.run("topics foo=3")
    assert mixed.run("D joins") == ""
    assert mixed.answered == "UNKNOWN_SERVER_ERROR"
    mixed.run("C pings")
    assert mixed.answered == "NONE"


def test_an_upgrade_in_the_middle_of_a_rebalance_sends_everybody_back() -> None:
    """Parked JoinGroups are answered REBALANCE_IN_PROGRESS, and are sent again to the consumer group."""
    mixed = _classic()
    mixed.run("E asks")
    mixed.run("E asks")
    assert mixed.answered == "parked"
    records = mixed.run("D joins")
    assert records.startswith("2t; 5 ")
    group = mixed.driver.group()
    assert isinstance(group, ModernGroup)
    assert group.members.keys() == {*(mixed.ids[name] for name in "CSE"), "D"}
    assert "E" not in mixed.tokens


def test_without_downgrade_a_group_of_classic_members_stays_a_consumer_group() -> None:
    """The policy forbids it: the leave is an ordinary one."""
    mixed = _classic(migration_policy=MigrationPolicy.UPGRADE)
    mixed.run("D joins")
    assert mixed.run("D leaves") == "8t D; 7t D; 5t D; 3 3 hA"


def test_no_classic_member_joins_where_migration_is_off() -> None:
    """INCONSISTENT_GROUP_PROTOCOL for a JoinGroup in a consumer group with members."""
    mixed = MixedPlay(play(migration_policy=MigrationPolicy.DISABLED))
    mixed.run("A joins")
    assert mixed.run("C asks") == ""
    assert mixed.answered == "INCONSISTENT_GROUP_PROTOCOL"


def test_4_0_upgrades_with_its_topic_metadata() -> None:
    """The record of the topics comes before the epoch."""
    mixed = _classic(dialect=Dialect.R4_0)
    records = mixed.run("D joins").split("; ")
    assert records[3:5] == ["4 foo:6", "3 1 h0"]


def test_a_group_that_lost_everybody_in_its_first_join_phase_is_upgraded_too() -> None:
    """It is not empty until the phase ends, so it is upgraded with no members and generation 0."""
    mixed = MixedPlay(play())
    mixed.run("S asks instance=i1")
    mixed.run("admin removes named=i1")
    assert (
        mixed.run("D joins")
        == "2t; 3 0 h0; 6 0 t0; 5 D; 3 1 hA; 7 D 0-5; 6 1 t1000; 8 D 1/0 STABLE 0-5@1"
    )


def test_a_group_above_the_classic_limit_is_not_turned_back() -> None:
    """Two classic members stay and the limit is one: the leave is an ordinary one."""
    mixed = _classic()
    mixed.run("D joins")
    mixed.driver.config.group_max_size = 1
    assert mixed.run("D leaves") == "8t D; 7t D; 5t D; 3 3 hA"


def test_a_member_that_changes_its_protocol_under_its_id_is_held_to_the_new_one() -> None:
    """It was asked to join again as a classic member; as a member of the consumer protocol it need not."""
    mixed = _classic()
    mixed.run("D joins")
    mixed.run("C pings")
    assert mixed.answered == "REBALANCE_IN_PROGRESS"
    member_id = mixed.ids.pop("C")
    mixed.run(f"{member_id} joins")
    assert mixed.answered == "2 has 0-1"
    mixed.run(f"{member_id} beats owns=0-1")
    for _ in range(10):
        mixed.run("wait 30000")
        mixed.run(f"{member_id} beats")
        mixed.run("D beats")
    group = mixed.driver.group()
    assert isinstance(group, ModernGroup)
    assert member_id in group.members
