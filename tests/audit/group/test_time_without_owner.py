"""How long partitions of a classic group had no owner: an estimate where commits or sessions show it, else bounds."""

import pytest

from rebalance_audit.audit.log_audit import audit_log
from tests.audit.group.test_held_up import CREATED, STEADY, Writes, commits, eager
from tests.dsl import log

STORIES: dict[str, tuple[Writes, tuple[int, int | None, int | None]]] = {
    "a group is empty when its last member's session ends, and what the other one left had no owner": (
        [
            CREATED,
            eager(4010, 1, 4000, "A", "B"),
            *STEADY,
            *commits(0, 27_000),
            eager(36_010, 2, 36_000),
        ],
        (0, 64_020, 18_520),
    ),
    "the only member left alone, and the group was empty at once": (
        [
            CREATED,
            eager(4010, 1, 4000, "A"),
            *commits(0, 9000, 14_000, 19_000, 24_000, 26_000),
            (26_010, "2 2 state_at=26000"),
        ],
        (0, 22_010, 10),
    ),
    "the end of a session began it: the other one had the partitions a session later": (
        [
            CREATED,
            eager(4010, 1, 4000, "A", "B"),
            *commits(0, *range(5000, 45_000, 1000)),
            *commits(1, *range(5000, 33_000, 1000)),
            (45_010, "2 2 range A=0-1 session=10000 timeout=30000 state_at=45000"),
        ],
        (10, 82_020, 11_520),
    ),
    "it may have left or died without a commit: no estimate": (
        [
            CREATED,
            eager(4010, 1, 4000, "A", "B"),
            (60_010, "2 2 range A=0-1 session=10000 timeout=30000 state_at=60000"),
        ],
        (10, 112_020, None),
    ),
    "one member rejoins last, so it gave up as the join phase ended": (
        [
            CREATED,
            eager(4010, 1, 4000, "A"),
            *commits(0, 9000, 14_000, 19_000, 24_000),
            eager(26_010, 2, 26_000, "A", "B"),
        ],
        (10, 22_010, 10),
    ),
    "a static member commits as it closes, and is back within the generation": (
        [
            CREATED,
            (4010, "2 1 range A@i=0 B@j=1 session=30000 timeout=30000 state_at=4000"),
            *STEADY,
            *commits(1, 26_000),
            (28_000, "2 1 range A@i=0 C@j=1 session=30000 timeout=30000 state_at=4010"),
        ],
        (0, 23_990, 2000),
    ),
    "a static member is back, and no commit shows since when it was away": (
        [
            CREATED,
            (4010, "2 1 range A@i=0 B@j=1 session=30000 timeout=30000 state_at=4000"),
            (28_000, "2 1 range A@i=0 C@j=1 session=30000 timeout=30000 state_at=4010"),
        ],
        (0, 23_990, None),
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_an_estimate_rests_on_commits_or_on_how_members_ended(story: str) -> None:
    """Lower bound, upper bound and estimate of the last generation, summed over its partitions (ms)."""
    writes, expected = STORIES[story]
    row = audit_log(log(*sorted(writes)))["epochs"][-1]
    assert (
        row["unowned_partition_min_ms"],
        row["unowned_partition_max_ms"],
        row["unowned_partition_estimate_ms"],
    ) == expected
