"""Findings keep windows, not history."""

import tracemalloc

from rebalance_audit.audit.group.group_audit import GroupAudit
from rebalance_audit.audit.options import AuditOptions
from tests.audit.group.test_memory import restarts
from tests.dsl import GROUP_ID, log

WINDOWS_BYTES = 16_384
"""Room for windows that fill up after the first of the two measurements; a row per restart would take far more."""


def bytes_kept(times: int) -> int:
    """What an audit with findings still holds before the end of a history of `times` restarts."""
    records = log(*restarts(times))
    tracemalloc.start()
    audit = GroupAudit(GROUP_ID, 0, lambda _table, _row: None, AuditOptions(with_findings=True))
    for record, position in records:
        audit.feed(record, position)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    audit.finish()
    return kept


def test_memory_does_not_grow_with_the_history() -> None:
    """A group that restarts a member every ten seconds, all the time: storm, deploy and flapping at once."""
    assert bytes_kept(600) < bytes_kept(200) + WINDOWS_BYTES
