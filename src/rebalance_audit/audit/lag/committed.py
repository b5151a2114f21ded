"""What a group has committed of one partition so far, and who owns it."""

from typing import NamedTuple


class CommittedPosition(NamedTuple):
    """The committed offset of a partition that has an owner."""

    topic: str
    topic_partition: int
    member_id: str
    """The owner; it may not have committed yet."""
    instance_id: str | None
    client_id: str
    committed: int
    at_ms: int
    """Time of the last commit (epoch ms)."""
    per_second: float | None
    """By how many offsets the commits since the last generation or epoch moved, in a second; None without two."""
