"""How right the ends of real clients' members are that no rule was made for."""

from collections import Counter

import pytest

from rebalance_audit.audit.causes.departure_weights import WEIGHTS
from workshop.accuracy.ends import CLIENTS, ends_of_log
from workshop.accuracy.fit import joint_ends, posteriors, result_of

NAMED = {
    "frameworks": 0.45,
    "many-clients": 0.45,
    "old-clients": 0.7,
    "slow-applications": 0.25,
}
"""Log -> the share of ends that are named at least. Where sessions and max.poll.interval.ms are alike, few can be."""


@pytest.mark.parametrize("name", sorted(folder.name for folder in CLIENTS.iterdir()))
def test_what_is_named_is_right(name: str) -> None:
    """At most one of fifty ends is wrong."""
    ends = joint_ends(ends_of_log(name))
    counts = Counter(result_of(*each) for each in posteriors(ends, WEIGHTS))
    assert counts.total() > 30
    assert counts["wrong"] <= counts.total() / 50, counts
    assert counts["right"] > NAMED[name] * counts.total(), counts
