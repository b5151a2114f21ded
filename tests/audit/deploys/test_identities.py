"""What identifies a member's pod, and which ids a pattern of a file is about."""

from typing import Any

import pytest

from rebalance_audit.audit.deploys.match import GroupTies
from rebalance_audit.audit.deploys.member_pods import MemberEvent, MemberPods
from rebalance_audit.audit.deploys.rollout import DeployIndex, Pod, Rollout

NEW = "shop-7f4c9d8b6c-x2x4z"


def at(seconds: float) -> int:
    """Epoch milliseconds of so many seconds after the beginning."""
    return 1_795_252_000_000 + round(seconds * 1000)


@pytest.mark.parametrize(
    ("pattern", "group_id", "fits"),
    [
        ("orders[eu]", "orders[eu]", True),
        ("orders[eu]", "orderse", False),
        ("orders?", "orders1", False),
        ("orders*", "orders-1", True),
        ("*", "", True),
    ],
)
def test_a_star_is_the_only_wildcard(pattern: str, group_id: str, fits: bool) -> None:
    """Kafka allows any characters in a group id, so the others are meant as they are."""
    index = DeployIndex([Rollout("csv", "shop", at(0), group_pattern=pattern)])
    rebalance = {"started_at": at(30), "ended_at": at(32), "completeness": "complete"}
    assert bool(GroupTies(index, group_id, []).of(rebalance, [])) == fits


@pytest.mark.parametrize(
    ("story", "earlier", "is_proven"),
    [
        ("the first of its pod", [], True),
        ("threads that start together", [("1", 29.0), ("2", 29.5)], True),
        ("a thread that takes the place of one that failed", [("1", 22.0)], False),
        ("a process that had the name before the pod was created", [("1", -60.0)], True),
    ],
)
@pytest.mark.parametrize("by", ["name", "address"])
def test_only_members_that_a_pod_begins_with_prove_its_rollout(
    by: str, story: str, earlier: list[tuple[str, float]], is_proven: bool
) -> None:
    """A consumer that a running process recreates has a client id of its own: the next number."""

    def row(number: str, seen: float) -> dict[str, Any]:
        prefix = f"{NEW}-StreamThread" if by == "name" else "consumer-orders"
        return {
            "member_id": f"m-{number}",
            "instance_id": None,
            "client_id": f"{prefix}-{number}",
            "client_host": "/10.1.0.5" if by == "address" else "/10.9.9.9",
            "first_seen_at": at(seen),
            "session_timeout_ms": 45_000,
        }

    member = row("3", 30)
    deploy = Rollout("kubernetes", "shop", at(0), pods=(Pod(NEW, at(20), None, "10.1.0.5", True),))
    members = [member, *(row(number, seen) for number, seen in earlier)]
    pods = MemberPods(DeployIndex([deploy]), members)
    found = pods.of(MemberEvent("member_joined", member, at(30), at(30)))
    assert [match.identifies for match in found] == [is_proven], story
