"""The server-side assignor that a group's members come to."""

import pytest

from rebalance_audit.replay.groups import ModernMember
from rebalance_audit.replay.modern.preferred_assignor import preferred_assignor


@pytest.mark.parametrize(
    ("preferences", "assignor"),
    [
        ([], None),
        ([None, None], None),
        (["range", None, None], "range"),
        (["uniform", "range", "uniform"], "uniform"),
        (["range", "uniform"], "uniform"),
        (["uniform", "range"], "uniform"),
        (["range", "uniform", "sticky-x"], "uniform"),
        (["aa", "bb", "cc", "dd", "ee"], "bb"),
        (["sticky", "range"], "range"),
    ],
)
def test_the_assignor_is_the_one_that_most_members_prefer(
    preferences: list[str | None], assignor: str | None
) -> None:
    """Ties go as in Kafka's TimelineHashMap, whose own class of 4.3.1 gave these answers."""
    members = [ModernMember(str(i), server_assignor=name) for i, name in enumerate(preferences)]
    assert preferred_assignor(members) == assignor
