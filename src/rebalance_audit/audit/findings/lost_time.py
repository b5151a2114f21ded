"""Findings whose whole duration is lost time."""

from typing import Final

STANDSTILLS: Final = frozenset(
    {
        "commits_stopped",
        "group_not_served",
        "hanging_transaction",
        "lost_partition",
        "static_subscription_ignored",
        "stuck_group",
        "two_owners",
    }
)
"""Kinds that cost all of their time; the others cost what the group was not stable meanwhile."""
