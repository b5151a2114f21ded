"""Thresholds grow with the group, and findings that repeat are one with a count."""

import pytest

from rebalance_audit.audit.members.tally import common_name
from rebalance_audit.audit.thresholds import FindingRules
from tests.audit.findings.stories import Write, findings, found_in, only, pick
from tests.audit.findings.test_counting import CREATED, generations
from tests.audit.findings.test_modern import A_JOINS, handed_over, moved_at


def rolling(members: int, every_ms: int) -> list[Write]:
    """Each member goes and another one comes in its place, one after the other."""
    steps = [",".join(f"O{slot}" for slot in range(members))]
    for turn in range(members):
        others = [f"N{slot}" if slot < turn else f"O{slot}" for slot in range(members)]
        steps.append(",".join(name for slot, name in enumerate(others) if slot != turn))
        others[turn] = f"N{turn}"
        steps.append(",".join(others))
    return generations(steps, every_ms, start=1)


def test_two_epochs_for_each_member_are_no_storm() -> None:
    """Sixteen members that restart in turn have 32 epochs in under three minutes; crashing clients have more each."""
    found = findings(*rolling(16, 5_000))
    assert "rebalance_storm" not in found
    assert pick(only(found, "deploy_wave"), "severity") == ("info",)
    again = [f"A,M{number}" for number in range(40)]
    assert "rebalance_storm" in findings(CREATED, *generations(again, 5_000))


def test_members_that_go_all_at_once_are_no_deploy() -> None:
    """An administrator drains the group, and the clients are back at once under new member ids."""
    assert "deploy_wave" in findings(*rolling(4, 5_000))
    drained = [
        (10_000, "2 1 range A=0-2 B=3 C=4"),
        (200_000, "2 0"),
        (202_000, "2 2 range D=0-2 E=3 F=4"),
    ]
    assert findings(*drained) == {}


@pytest.mark.parametrize(
    ("timeout_ms", "least_ms"),
    [(None, 10_000), (300_000, 10_000), (1_800_000, 60_000), (20_000, 10_000), (6_000, 6_000)],
)
def test_a_threshold_follows_the_time_that_a_member_may_take(
    timeout_ms: int | None, least_ms: int
) -> None:
    """It is meant for Kafka's default rebalance timeout; none may take longer than its timeout."""
    assert FindingRules.of_timeout(10_000, timeout_ms) == least_ms


def restarted(*slots: int) -> list[Write]:
    """A consumer group of three whose processes close and come back in this order, 17 s apart."""
    at_ms, epoch, writes = 1_000, 1, list[Write]()
    member_ids = {slot: f"O{slot}" for slot in range(3)}

    def change(text: str, delay_ms: int) -> None:
        nonlocal at_ms, epoch
        at_ms, epoch = at_ms + delay_ms, epoch + 1
        writes.append((at_ms, f"{text}; 3 {epoch}; 6 {epoch}"))

    for slot, name in member_ids.items():
        change(f"5 {name} client=c-{slot}; 7 {name} {slot}; 8 {name} {epoch + 1}/0 {slot}", 100)
    for turn, slot in enumerate(slots):
        for _ in range(3):
            at_ms += 3_000
            writes.append((at_ms, "; ".join(f"1 foo:{number} {at_ms}" for number in range(3))))
        writes.append((at_ms + 3_000, f"1 foo:{slot} {at_ms + 3_000}"))
        old, new = member_ids[slot], f"N{turn}"
        change(f"8t {old}; 7t {old}; 5t {old}", 3_003)
        change(f"5 {new} client=c-{slot}; 7 {new} {slot}; 8 {new} {epoch + 1}/0 {slot}", 5_000)
        member_ids[slot] = new
    return writes


def test_restarts_in_turn_are_a_deploy_without_quiet_before_and_after() -> None:
    """Two deploys at once follow the start of the group; processes that each restart twice are none."""
    deploys = only(findings(*restarted(0, 1, 2, 2, 1, 0)), "deploy_wave")
    assert "2 cases" in deploys["detail"]
    assert "deploy_wave" not in findings(*restarted(0, 0, 1, 1, 2, 2))


@pytest.mark.parametrize(
    ("slots", "kinds"),
    [
        ((0, 1, 2, 2, 1, 0, 0, 1, 2), {"deploy_wave"}),
        ((0,) * 9, {"flapping_member", "rebalance_storm"}),
        ((0, 1, 2, 2, 1, 0, 0, 1, 2, 0, 0, 0), {"deploy_wave", "flapping_member"}),
    ],
)
def test_what_rollouts_bring_about_is_no_finding_of_its_own(
    slots: tuple[int, ...], kinds: set[str]
) -> None:
    """Three rolling restarts, crashes of one process, and both: only what comes on top of rollouts counts."""
    found = findings(*restarted(*slots), storm_epochs=12, storm_epochs_per_member=4)
    assert found.keys() & {"deploy_wave", "flapping_member", "rebalance_storm"} == kinds


def replaced_in_turn(*client_ids: str) -> list[Write]:
    """A consumer group with these clients; the first three restart in turn."""
    at_ms, epoch, writes = 1_000, 1, list[Write]()

    def change(text: str, delay_ms: int) -> None:
        nonlocal at_ms, epoch
        at_ms, epoch = at_ms + delay_ms, epoch + 1
        writes.append((at_ms, f"{text}; 3 {epoch}; 6 {epoch}"))

    for number, client_id in enumerate(client_ids):
        change(f"5 O{number} client={client_id}; 7 O{number} {number}", 100)
    for number, client_id in enumerate(client_ids[:3]):
        change(f"8t O{number}; 7t O{number}; 5t O{number}", 10_000 if number else 600_000)
        change(f"5 N{number} client={client_id}; 7 N{number} {number}", 5_000)
    return writes


def test_a_deploy_is_of_one_deployment() -> None:
    """Three red ones of six restart in turn; three of six different applications have nothing to do with each other."""
    row = only(
        findings(*replaced_in_turn("red-1", "red-2", "red-3", "x-1", "x-2", "x-3")), "deploy_wave"
    )
    assert row["detail"].startswith("3 of 3 members named red… left and 3 joined within 35.0 s;")
    others = replaced_in_turn("red-1", "blue-1", "green-1", "red-2", "blue-2", "green-2")
    assert "deploy_wave" not in findings(*others)


def test_a_change_that_every_member_makes_once_is_no_loop() -> None:
    """Six members subscribe to one more topic in turn, which is a rollout; one that does so six times is a loop."""
    members = "ABCDEF"
    shares = " ".join(f"{name}={place}" for place, name in enumerate(members))

    def topics(changed: str) -> str:
        return " ".join(f"topics:{name}=foo,bar" for name in changed)

    rollout = [
        (9_000 * (turn + 1), f"2 {turn + 1} range {shares} {topics(members[:turn])}")
        for turn in range(7)
    ]
    flapping = [
        (9_000 * (turn + 1), f"2 {turn + 1} range {shares} {topics('A' if turn % 2 else '')}")
        for turn in range(9)
    ]
    assert "rebalance_loop" not in findings(*rollout)
    assert "rebalance_loop" in findings(*flapping)


def test_a_migration_that_goes_on_is_not_half_done() -> None:
    """Members of both protocols for two hours, while the classic ones become fewer every forty minutes."""
    two = "5 A session=6000; 5 C session=6000; 3 2; 7 A 0-2; 7 C 3-5; 6 2; 8 A 2/0 0-2; 8 C 2/0 3-5"
    begun: list[Write] = [(1_000, two), (2_000, "5 B; 3 3; 7 B -; 6 3; 8 B 3/0 -")]
    one_less = (2_400_000, "5 A; 8 A 3/2 0-2")
    last = (4_800_000, "5 C; 8 C 3/2 3-5")
    assert "half_finished_migration" not in findings(*begun, one_less, last)
    row = only(findings(*begun, last, (4_900_000, one_less[1])), "half_finished_migration")
    assert pick(row, "from_at", "to_at") == (2_000, 4_800_000)


def test_one_member_of_many_is_not_lost_with_a_coordinator() -> None:
    """One of five goes after a move: any deploy does that."""
    names = "ABCDE"
    joins = [
        (
            900 + epoch,
            f"5 {name}; 3 {epoch}; 7 {name} {epoch}; 6 {epoch}; 8 {name} {epoch}/0 {epoch}",
        )
        for epoch, name in enumerate(names, start=2)
    ]
    left = (60_000, "8t A; 7t A; 5t A; 3 7")
    story = moved_at(60_000, *joins, left)
    assert "coordinator_moved" not in {row["kind"] for row in found_in(story)}


def test_what_repeats_is_one_finding_with_a_count() -> None:
    """Two epochs that are not reached for minutes: the sentence is that of the longer one."""
    again: list[Write] = [
        *handed_over(400_000),
        (900_000, "3 4 h2; 7 A 0; 7 B 1-5; 6 4"),
        (900_100, "8 A 3/3 UNREVOKED 0|1-2"),
        (900_150, "8 B 4/3 UNRELEASED 3-5"),
        (1_400_100, "8 A 4/3 0"),
        (1_400_200, "8 B 4/4 1-5"),
    ]
    row = only(findings(*again), "stuck_group")
    assert pick(row, "from_at", "to_at", "from_offset") == (2_000, 1_400_200, 7)
    assert row["detail"] == (
        "Epoch 4 was not reached by every member for 8 min 20 s: A took 8 min 20 s to revoke partitions. "
        "This is the worst of 2 cases."
    )
    far = [*again[:5], *((at_ms + 90_000_000, text) for at_ms, text in again[5:])]
    assert len(findings(*far)["stuck_group"]) == 2


def test_members_that_only_a_gap_keeps_in_the_group_block_no_rebalance() -> None:
    """The tombstones of C are lost: no later epoch is reached by it, and the group is not stuck for that."""
    story: list[Write] = [
        *handed_over(500),
        (60_000, "3 9 h2; 7 A 0-2,6; 6 9; 8 A 9/3 0-2,6"),
        (900_000, "3 10 h3; 7 A 0-2,6,7; 6 10; 8 A 10/9 0-2,6,7"),
        (1_900_000, "3 11 h4"),
    ]
    assert set(findings(*story)) == {"log_gap"}
    assert "stuck_group" in findings(
        *handed_over(500), (60_000, "3 4 h2; 7 A 0-2,6; 6 4"), (900_000, "3 5 h3")
    )
    assert findings(A_JOINS) == {}


@pytest.mark.parametrize(
    ("name", "deployment"),
    [
        ("orders-app-7d9f8b6c5d-x2x4z", "orders-app"),
        ("consumer-orders-3", "consumer-orders"),
        ("app2-consumer-1", "app2-consumer"),
        ("orders", "orders"),
        ("rdkafka", "rdkafka"),
        ("0f8fad5b-d9cb-469f-a165-70867728950e", ""),
        ("17", ""),
        ("", ""),
    ],
)
def test_the_name_of_a_deployment(name: str, deployment: str) -> None:
    """What pods and clients of one deployment have in common; names that are only numbers have nothing."""
    assert common_name(name) == deployment
