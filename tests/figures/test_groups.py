from typing import Any

from rebalance_audit.bounds import Bounds
from rebalance_audit.figures.groups import Culprit, Totals, culprits, summaries


def epoch(group_id: str, number: int, **more: Any) -> dict[str, Any]:
    """A row of gold.epochs, with what the summary needs."""
    row = {
        "group_id": group_id,
        "incarnation": 0,
        "epoch": number,
        "protocol": "consumer",
        "assignor": "uniform",
        "log_partition": 3,
        "members": 2,
        "primary_cause": "member_joined",
        "unowned_partition_min_ms": 7,
        "unowned_partition_max_ms": 7,
        "unowned_partition_estimate_ms": 7,
    }
    return {**row, **more}


def rebalance(group_id: str, duration_ms: int | None, **more: Any) -> dict[str, Any]:
    """A row of gold.rebalances."""
    row = {
        "group_id": group_id,
        "protocol": "consumer",
        "started_at": 1000,
        "ended_at": None if duration_ms is None else 1000 + duration_ms,
        "held_up_member_ids": ["m-1"],
        "held_up_from": [1000],
        "held_up_ms": [200],
        "held_up_why": ["late"],
        "primary_cause": "member_joined",
        "incarnation": 0,
        "rebalance_seq": 1,
        "completeness": "complete",
    }
    exact = {} if duration_ms is None else bounds(duration_ms, duration_ms, duration_ms)
    return {**row, **exact, **more}


def bounds(least: int, most: int | None, estimate: int) -> dict[str, int | None]:
    """Columns of a rebalance of this duration."""
    return {
        "duration_min_ms": least,
        "duration_max_ms": most,
        "duration_estimate_ms": estimate,
    }


def state(group_id: str, to_at: int | None, **more: Any) -> dict[str, Any]:
    """A row of gold.group_states."""
    row = {
        "group_id": group_id,
        "incarnation": 0,
        "protocol": "consumer",
        "group_state": "Stable",
        "from_at": 500,
        "to_at": to_at,
        "members_at_end": 2,
        "log_partition": 3,
    }
    return {**row, **more}


def tables(
    epochs: list[dict[str, Any]],
    rebalances: list[dict[str, Any]],
    group_states: list[dict[str, Any]],
) -> dict[str, list[dict[str, Any]]]:
    """The tables that a summary reads."""
    return {
        "epochs": epochs,
        "rebalances": rebalances,
        "group_states": group_states,
        "members": [],
    }


def test_a_group_adds_up_its_rebalances() -> None:
    """Time not stable is the sum, the longest is the maximum; an open one counts up to the end of the log."""
    (group,) = summaries(
        tables(
            [epoch("g", 1), epoch("g", 2), epoch("g", 3, primary_cause="member_left")],
            [rebalance("g", 300), rebalance("g", 500), rebalance("g", None, open_until=1900)],
            [state("g", None)],
        )
    )
    assert (group.epochs, group.rebalances) == (3, 3)
    assert (group.not_stable, group.longest) == (Bounds.exactly(1700), Bounds.exactly(900))
    assert group.open_since_ms == 1000
    assert group.unowned == Bounds.exactly(21)
    assert (group.commonest_cause, group.commonest_cause_times) == ("member_joined", 3)
    assert group.culprit == Culprit("m-1", 3, 1300, ("late",))
    assert group.present is not None
    assert (group.present.group_state, group.present.members, group.last_epoch) == ("Stable", 2, 3)


def test_the_most_unsettled_group_comes_first() -> None:
    """The overview begins with the group that lost the most time."""
    found = summaries(
        tables(
            [epoch("calm", 1), epoch("busy", 1), epoch("middle", 1)],
            [rebalance("calm", 1), rebalance("busy", 900), rebalance("middle", 20)],
            [],
        )
    )
    assert [group.group_id for group in found] == ["busy", "middle", "calm"]


def test_a_group_that_waits_for_somebody_comes_before_all_others() -> None:
    """Be it in a rebalance that goes on, or without one: a static member that left temporarily, an empty assignment."""
    found = summaries(
        tables(
            [epoch("busy", 1), epoch("away", 1), epoch("stuck", 1)],
            [rebalance("busy", 90_000), rebalance("stuck", None, open_until=3_000)],
            [state("away", None, is_stuck=True)],
        )
    )
    assert [group.group_id for group in found] == ["stuck", "away", "busy"]


def test_a_deleted_group_has_no_state() -> None:
    """A group whose last state has ended is gone."""
    (group,) = summaries(tables([epoch("g", 1)], [], [state("g", 2000)]))
    assert group.present is None


def test_the_latest_life_shows_how_a_group_stands() -> None:
    """Rows come with the latest life first; a group that was deleted once and came back is not deleted."""
    (group,) = summaries(
        tables(
            [epoch("g", 1, incarnation=1), epoch("g", 9)],
            [],
            [state("g", None, incarnation=1, from_at=3000), state("g", 2000)],
        )
    )
    assert group.present is not None
    assert group.present.incarnation == 1
    assert (group.last_epoch, group.incarnations) == (1, 2)


def test_bounds_of_classic_rebalances_add_up() -> None:
    """When a generation's join phase began is not in the log."""
    (group,) = summaries(
        tables(
            [epoch("g", 1, protocol="classic"), epoch("g", 2)],
            [
                rebalance("g", 30, protocol="classic", **bounds(30, 930, 30)),
                rebalance("g", 40, protocol="classic", **bounds(40, 3000, 900)),
            ],
            [state("g", None)],
        )
    )
    assert group.not_stable == Bounds(70, 3930, 930)
    assert group.longest == Bounds(40, 3000, 900)
    assert group.protocols == ("classic", "consumer")


def test_the_commonest_cause_is_that_of_most_rebalances() -> None:
    """Of several the first by name, whatever the order of the rows; one that is not known is none."""
    causes = [
        "subscription_changed",
        "member_left",
        None,
        None,
        "member_left",
        "subscription_changed",
    ]
    rows = [rebalance("g", 10, primary_cause=cause) for cause in causes]
    assert Totals.of(rows).commonest_cause == ("member_left", 2)
    assert Totals.of(rows[:1]).plus(Totals.of(rows[1:])) == Totals.of(rows)
    assert Totals.of(rows[2:4]).commonest_cause == (None, 0)


def test_the_creation_is_the_longest_only_without_another() -> None:
    """It waits for `group.initial.rebalance.delay.ms` and takes nothing from anybody."""
    creation = rebalance("g", 3000, rebalance_seq=0, first_epoch=1, last_epoch=1, members_left=0)
    for rows, expected in (([creation], 3000), ([creation, rebalance("g", 40)], 40)):
        (group,) = summaries(tables([epoch("g", 1)], rows, []))
        assert group.longest == Bounds.exactly(expected)


def test_a_static_member_is_one_culprit_over_its_ids() -> None:
    """By its latest id; of two for whom the group waited as long, who held up more rebalances comes first."""
    members = [{"member_id": each, "instance_id": "pod-0"} for each in ("a-1", "a-2")]
    waits = [("a-1", 100), ("z", 300), ("a-2", 200), ("b", 300)]
    rows = [
        rebalance("g", ms, held_up_member_ids=[member_id], held_up_ms=[ms])
        for member_id, ms in waits
    ]
    found = [
        each[:3] for each in culprits(rows, [*members, {"member_id": "z", "instance_id": None}])
    ]
    assert found == [("a-2", 2, 300), ("b", 1, 300), ("z", 1, 300)]
