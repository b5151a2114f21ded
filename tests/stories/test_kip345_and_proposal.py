"""Scenarios of KIP-345 (static membership) and of the client-side assignment proposal, step by step.

The language of the tables, `step | answers | records`, is that of the classic protocol's tests.
"""

import pytest

from tests.coordinator.classic.stage import check

STORIES = {
    "kip-345: a rolling bounce of static members causes no rebalance": """
        join A@i1          |                  | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2     | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        restart B
        wait 5000
        join B             | B joined 1 range | [2] 1 range A: A=0-2 B2=3-5 @7000
        sync B             | B synced 3-5
        beat A             | A ok
        """,
    "kip-345: a static member that stays away is removed when its session ends": """
        join A@i1          |                  | [2] 0 empty @1000
        join B@i2
        wait 6000          | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5 | A synced 0-2     | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B             | B synced 3-5
        wait 40000
        beat A             | A ok
        wait 5000
        beat A             | A REBALANCE_IN_PROGRESS
        join A             | A joined 2 range of A
        sync A A=0-5       | A synced 0-5     | [2] 2 range A: A=0-5 @52000
        """,
    "kip-345: scaling down, an administrator removes instances at once": """
        join A@i1             |                  | [2] 0 empty @1000
        join B@i2
        wait 6000             | A joined 1 range of A,B; B joined 1 range
        sync A A=0-2 B=3-5    | A synced 0-2     | [2] 1 range A: A=0-2 B=3-5 @7000
        sync B                | B synced 3-5
        remove @i2            | admin ok
        beat A                | A REBALANCE_IN_PROGRESS
        join A                | A joined 2 range of A
        sync A A=0-5          | A synced 0-5     | [2] 2 range A: A=0-5 @7000
        """,
    "proposal: the leader fails before it brings the assignment": """
        join A         | A=A                      | [2] 0 empty @1000
        join A
        join B         | B=B
        join B
        wait 6000      | B joined 1 range; A joined 1 range of A,B
        sync B
        wait 45000     | B REBALANCE_IN_PROGRESS
        join B         | B joined 2 range of B
        sync B B=0-5   | B synced 0-5             | [2] 2 range B: B=0-5 @52000
        """,
    "proposal: the coordinator fails in the join phase, and everybody joins again": """
        join A         | A=A                      | [2] 0 empty @1000
        join A
        wait 3000      | A joined 1 range of A
        sync A A=0-5   | A synced 0-5             | [2] 1 range A: A=0-5 @4000
        join B         | B=B
        join B
        failover
        join B         | B UNKNOWN_MEMBER_ID
        beat A         | A ok
        """,
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_story(story: str) -> None:
    """Every step is answered and recorded as the text says."""
    check(story)
