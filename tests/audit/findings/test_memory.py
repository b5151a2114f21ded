"""Findings keep windows, not history."""

from rebalance_audit.audit.options import AuditOptions
from tests.audit.group.test_memory import assert_no_growth, kept_at, restarts
from tests.dsl import log
from tests.support.memory import Kept

WINDOWS = Kept(16_384, 150)
"""Room for windows that fill up after the first of the two measurements; a row per restart would take far
more."""


def test_memory_does_not_grow_with_the_history() -> None:
    """A group that restarts a member every ten seconds, all the time: storm, deploy and flapping at once."""
    cut, records = len(log(*restarts(200))), log(*restarts(450))
    few, many = kept_at(cut, records, AuditOptions(with_findings=True))
    assert_no_growth(few, many, WINDOWS)
