"""An audit saved and resumed between two commits, or before a member comes back, reports the same ends."""

import pytest

from rebalance_audit.audit.options import AuditOptions
from tests.audit.commits.test_ends_of_members import A_GOES, B_JOINS, SETTLED, commits
from tests.audit.commits.test_returns import JOINS
from tests.audit.snapshots.test_snapshot import always, audit, in_order, never
from tests.dsl import TOPIC_NAMES, log

FIRST = [(1_000, "5 A timeout=30000; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"), B_JOINS, *SETTLED[2:]]
CLASSIC = "session=6000 timeout=30000"


@pytest.mark.parametrize(
    ("writes", "word"),
    [
        ([*FIRST, (27_000, A_GOES), (29_000, JOINS.format("A"))], "under its own member id"),
        ([*FIRST, (50_010, A_GOES)], "does not show how"),
        ([*FIRST, (62_510, A_GOES)], "then nothing for"),
        (
            [*FIRST, (20_010, A_GOES), (20_040, "8t B; 7t B; 5t B; 3 5")],
            "the application was shut down",
        ),
        (
            [
                (1_000, f"2 1 range A@i1=0 B@i2=1 C@i3=2 {CLASSIC} state_at=1000"),
                *commits(2, 4_900, 9_900, 14_900, 19_900, 23_500),
                (28_000, f"2 2 range D@i1=0 E@i2=1 C@i3=2 {CLASSIC} state_at=27990"),
            ],
            "rejoined as D",
        ),
    ],
    ids=["a member comes back", "a late poll", "an expiry by heartbeats", "a stop", "a batch"],
)
def test_what_commits_show_of_an_end_does_not_depend_on_where_the_audit_was_saved(
    writes: list[tuple[int, str]], word: str
) -> None:
    """Saved after every record, each commit among them."""
    made = [
        *commits(0, 5_000, 10_000, 15_000, 20_000),
        *commits(1, 4_990, 9_990, 14_990, 19_990),
    ]
    records = log(*sorted([*writes, *made], key=lambda write: write[0]))
    options = AuditOptions(topic_name=TOPIC_NAMES.get)
    whole = audit("g", records, options, never)
    assert in_order(audit("g", records, options, always)) == in_order(whole)
    causes = [row["detail"] for table, row in whole if table == "rebalance_causes"]
    assert any(word in detail for detail in causes), causes
