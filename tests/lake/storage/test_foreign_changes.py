"""Which commits of others make a run doubt a table."""

import pytest

from rebalance_audit.lake.storage.table_log import TableCommit, change_by_others

OURS = "20261121T031200Z-0a1b2c3d"


@pytest.mark.parametrize(
    ("operation", "user_metadata", "append_only", "reason"),
    [
        ("MERGE", OURS, False, None),
        ("WRITE", f"{OURS}/3", False, None),
        ("WRITE", f"{OURS} without unreadable files", False, "WRITE"),
        ("MERGE", None, False, "MERGE"),
        ("RESTORE", None, False, "RESTORE"),
        ("DELETE", "cleanup of the 3rd", True, "DELETE"),
        ("WRITE", None, False, "WRITE"),
        ("WRITE", None, True, None),
        ("STREAMING UPDATE", None, True, None),
        ("OPTIMIZE", None, False, None),
        ("VACUUM END", None, True, None),
        (None, None, False, "None"),
    ],
)
def test_who_may_have_changed_rows(
    operation: str | None, user_metadata: str | None, append_only: bool, reason: str | None
) -> None:
    """Runs, operations that keep rows, and new rows of an append-only table are expected; nothing else is."""
    commits = [TableCommit(4, "OPTIMIZE", None, 1), TableCommit(5, operation, user_metadata, 2)]
    expected = reason and f"was changed by another program (version 5: {reason})"
    assert change_by_others(commits, append_only=append_only) == expected
