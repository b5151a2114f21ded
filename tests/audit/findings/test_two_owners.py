"""Two members of a consumer group that have a partition at once."""

import pytest

from rebalance_audit.audit.options import AuditOptions
from tests.audit.findings.stories import findings, only, pick
from tests.dsl import TOPIC_NAMES

BEGINS = (1_000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
TAKES = (6_000, "5 B; 3 3; 7 B 0-2; 7 A 3-5; 6 3; 8 B 3/0 0-2")
GIVES_UP = (9_000, "8 A 2/0 UNREVOKED 3-5|0-2")
RELEASED = (9_800, "8 A 3/2 3-5")
GONE = (9_800, "8t A; 7t A; 5t A; 3 4")


@pytest.mark.parametrize(
    ("later", "to_ms", "how_long"),
    [
        ((), None, ""),
        ((GIVES_UP,), None, ""),
        ((GIVES_UP, RELEASED), 9_800, " for 3.8 s"),
        ((GONE,), 9_800, " for 3.8 s"),
    ],
    ids=["never writes again", "still gives up", "released", "gone"],
)
def test_it_lasts_until_one_of_them_has_the_partition_no_more(
    later: tuple[tuple[int, str], ...], to_ms: int | None, how_long: str
) -> None:
    """From the record that gave it to the second one, if the log lacks no record; then no record is missing."""
    whole = AuditOptions(topic_name=TOPIC_NAMES.get, is_whole=lambda _: True)
    found = findings(BEGINS, TAKES, *later, options=whole)
    row = only(found, "two_owners")
    assert pick(row, "severity", "from_at", "to_at") == ("critical", 6_000, to_ms)
    assert pick(row, "member_ids", "topics") == (["A", "B"], ["foo"])
    assert row["detail"] == f"Partitions were in two assignments at once{how_long}."
    assert "log_gap" not in found


def test_missing_records_look_the_same() -> None:
    """Then the owner is unknown, and only the gap is reported."""
    found = findings(BEGINS, TAKES, options=AuditOptions(is_whole=lambda _: False))
    assert [*found] == ["log_gap"]
