from typing import Any

from rebalance_audit.bounds import Bounds
from rebalance_audit.report.summary import summaries


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
        "unowned_partition_ms": 7,
    }
    return {**row, **more}


def rebalance(group_id: str, duration_ms: int | None, **more: Any) -> dict[str, Any]:
    """A row of gold.rebalances."""
    row = {
        "group_id": group_id,
        "protocol": "consumer",
        "started_at": 1000,
        "ended_at": None if duration_ms is None else 1000 + duration_ms,
        "duration_ms": duration_ms,
        "held_up_member_ids": ["m-1"],
        "held_up_from": [1000],
        "held_up_ms": [200],
    }
    return {**row, **more}


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
    assert (group.top_cause, group.top_cause_times) == ("member_joined", 2)
    assert (group.culprit_id, group.culprit_times) == ("m-1", 3)
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


def test_the_latest_life_tells_how_a_group_stands() -> None:
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
                rebalance("g", 30, protocol="classic", started_at_earliest=100),
                rebalance("g", 40, protocol="classic", **bounds(40, 3000, 900)),
            ],
            [state("g", None)],
        )
    )
    assert group.not_stable == Bounds(70, 3930, 930)
    assert group.longest == Bounds(40, 3000, 900)
    assert group.protocols == ("classic", "consumer")
