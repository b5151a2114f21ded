"""How a group stood at a moment."""

from typing import Any

from rebalance_audit.report.at_moment import sentences_at

OWN = {"incarnation": 0}


def member(member_id: str, first_ms: int, left_ms: int | None, stints: int = 1) -> dict[str, Any]:
    """A row of gold.members."""
    return OWN | {
        "member_id": member_id,
        "first_seen_at": first_ms,
        "left_at": left_ms,
        "stints": stints,
    }


def owned(member_id: str, topic: str, number: int) -> dict[str, Any]:
    """A row of gold.ownership that lasts."""
    return OWN | {
        "member_id": member_id,
        "topic": topic,
        "topic_partition": number,
        "from_at": 100,
        "to_at": None,
    }


def test_members_without_partitions_are_told_too() -> None:
    """Everybody who was there and nobody else; who left and came back is told only with partitions."""
    state = OWN | {"protocol": "consumer", "group_state": "Stable", "epoch": 1}
    own: dict[str, list[dict[str, Any]]] = {
        "group_states": [state | {"from_at": 100, "to_at": None, "from_offset": 0}],
        "epochs": [],
        "members": [
            member("busy", 100, None),
            member("idle", 100, None),
            member("left", 100, 150),
            member("later", 300, None),
            member("back", 100, None, stints=2),
        ],
        "ownership": [owned("busy", "orders", n) for n in (0, 1, 3)] + [owned("busy", "pay", 2)],
    }
    assert list(sentences_at(own, 200))[1:] == [
        "busy had orders 0-1,3; pay 2.",
        "idle had no partition.",
    ]
