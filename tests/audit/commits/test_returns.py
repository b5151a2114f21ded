"""What a return under its own id shows about a member's end."""

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from tests.audit.commits.test_ends_of_members import A_GOES, B_JOINS, SETTLED, commits
from tests.dsl import TOPIC_NAMES, log

JOINS = "5 {0} timeout=30000; 3 5; 7 {0} 0-2; 6 5; 8 {0} 5/0 UNRELEASED -"


def cause_of_end(last_commits: list[int], gone_ms: int, *later: tuple[int, str]) -> Row:
    """The cause of the epoch in which A went; `later`: writes after it."""
    joins = (1_000, "5 A timeout=30000; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
    writes = [joins, B_JOINS, *SETTLED[2:], *commits(0, *last_commits), (gone_ms, A_GOES), *later]
    got = audit_log(log(*writes), AuditOptions(topic_name=TOPIC_NAMES.get))
    (cause,) = [row for row in got["rebalance_causes"] if row["epoch"] == 4]
    (epoch,) = [row for row in got["epochs"] if row["epoch"] == 4]
    assert (epoch["primary_cause"], epoch["primary_certainty"]) == (cause["cause"], "probable")
    assert cause["alternatives"]
    (rebalance,) = [row for row in got["rebalances"] if row["first_epoch"] == 4]
    same = ("primary_cause", "primary_certainty")
    assert [rebalance[each] for each in same] == [epoch[each] for each in same]
    assert cause["cause"] in rebalance["causes"]
    return cause


@pytest.mark.parametrize(
    ("gone_ms", "later", "how"),
    [
        (27_000, [], "member_departed"),
        (27_000, [(29_000, JOINS.format("A"))], "member_session_expired"),
        (27_000, [(29_000, JOINS.format("C"))], "member_departed"),
        (24_500, [(36_000, JOINS.format("A"))], "member_session_expired"),
        (
            27_000,
            [(27_500, "3 5"), (28_500, JOINS.format("A").replace("3 5", "3 6"))],
            "member_departed",
        ),
        (
            27_000,
            [(27_500, "7 B 0-5; 6 4; 8 B 4/3 0-5"), (28_500, JOINS.format("A"))],
            "member_departed",
        ),
    ],
    ids=[
        "gone for good",
        "out of its rhythm",
        "another member",
        "in its rhythm and back late",
        "after another epoch",
        "after the rebalance",
    ],
)
def test_a_member_id_that_comes_back_had_not_closed(
    gone_ms: int, later: list[tuple[int, str]], how: str
) -> None:
    """A client keeps its member id until it closes. A made commits every 5 s until 20 s."""
    assert cause_of_end([5_000, 10_000, 15_000, 20_000], gone_ms, *later)["cause"] == how


def test_a_member_that_may_have_polled_too_late_is_left_undecided_when_it_comes_back() -> None:
    """It may have left and joined again with its next poll, as well as been fenced."""
    commits_ms = [5_000, 10_000, 15_000, 20_000]
    assert (
        cause_of_end(commits_ms, 57_000, (60_000, JOINS.format("A")))["cause"] == "member_departed"
    )
