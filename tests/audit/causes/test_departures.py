"""How a member went: what the log can distinguish, rule by rule, and what it leaves open."""

from typing import Any

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.thresholds import DepartureRules
from tests.dsl import TOPIC_NAMES, log

GONE = "8t A; 7t A; 5t A"
A_JOINS = (1_000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
STATIC_A_JOINS = (1_000, "5 A instance=i1; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
B_JOINS = (2_000, "5 B host=/b; 3 3; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -")
A_ANSWERS = (2_500, "8 A 3/2 0-2")
OPEN = ["member_left", "member_session_expired", "member_removed_by_admin"]


def departure(rules: DepartureRules, *writes: tuple[int, str]) -> Row:
    """The first cause of the last epoch."""
    got = audit_log(log(*writes), AuditOptions(topic_name=TOPIC_NAMES.get, rules=rules))
    epoch = max(row["epoch"] for row in got["epochs"])
    causes = [row for row in got["rebalance_causes"] if row["epoch"] == epoch]
    member = next(row for row in got["members"] if row["member_id"] == "A")
    assert member["left_how"] == causes[0]["cause"]
    return min(causes, key=lambda row: row["cause_seq"])


@pytest.mark.parametrize(
    ("writes", "cause", "alternatives"),
    [
        pytest.param(
            [A_JOINS, B_JOINS, A_ANSWERS, (6_000, f"{GONE}; 3 4")],
            "member_left",
            ["member_removed_by_admin", "member_session_expired"],
            id="it wrote something less than any sensible session ago",
        ),
        pytest.param(
            [A_JOINS, B_JOINS, A_ANSWERS, (40_000, f"{GONE}; 3 4")],
            "member_departed",
            OPEN,
            id="silent for long: a stable member writes nothing",
        ),
        pytest.param(
            [A_JOINS, B_JOINS, (40_000, f"{GONE}; 3 4")],
            "member_session_expired",
            ["member_left", "member_removed_by_admin"],
            id="it never answered the target that B's join brought",
        ),
        pytest.param(
            [A_JOINS, (9_000, "5 B; 3 3; 8 B 2/0 -"), (40_000, f"{GONE}; 3 4")],
            "member_session_expired",
            ["member_left", "member_removed_by_admin"],
            id="its process was started anew while it was still a member",
        ),
        pytest.param(
            [A_JOINS, (9_000, "5 B host=/b; 3 3; 8 B 2/0 -"), (40_000, f"{GONE}; 3 4")],
            "member_departed",
            OPEN,
            id="another process joined meanwhile",
        ),
        pytest.param(
            [STATIC_A_JOINS, (60_000, f"{GONE}; 3 3")],
            "member_session_expired",
            ["member_left", "member_removed_by_admin"],
            id="static, silent",
        ),
        pytest.param(
            [A_JOINS, B_JOINS, (2_500, "8 A 2/2 UNREVOKED 0-2|3-5"), (302_600, f"{GONE}; 3 4")],
            "member_rebalance_timeout",
            OPEN,
            id="it kept what it had to give up for its rebalance timeout",
        ),
        pytest.param(
            [A_JOINS, B_JOINS, (2_500, "8 A 2/2 UNREVOKED 0-2|3-5"), (302_460, f"{GONE}; 3 4")],
            "member_rebalance_timeout",
            OPEN,
            id="its timer started 40 ms before the record that shows it",
        ),
    ],
)
def test_what_times_and_company_show(
    writes: list[tuple[int, str]], cause: str, alternatives: list[str]
) -> None:
    """Leave, expiry, timeout and removal write the same records; each is claimed only if something favours it."""
    row = departure(DepartureRules(), *writes)
    assert (row["cause"], row["certainty"], row["alternatives"]) == (
        cause,
        "probable",
        alternatives,
    )


def answers(**leader_epochs: int) -> list[Any]:
    """A log in which A owes an answer while the coordinator moves."""
    records = log(A_JOINS, B_JOINS, (40_000, f"{GONE}; 3 4"))
    moved = leader_epochs["at_ms"]
    return [
        (record, at._replace(leader_epoch=1 if at.record_timestamp_ms >= moved else 0))
        for record, at in records
    ]


def test_no_member_owes_an_answer_to_an_absent_coordinator() -> None:
    """While the coordinator moves no member can answer a target: that is no silence."""
    got = audit_log(answers(at_ms=39_000), AuditOptions(topic_name=TOPIC_NAMES.get))
    (row,) = [row for row in got["rebalance_causes"] if row["epoch"] == 4]
    assert row["cause"] == "member_departed"


@pytest.mark.parametrize(
    ("moved_ms", "cause"), [(99_000, "member_left"), (20_000, "member_departed")]
)
def test_a_new_coordinator_gives_classic_members_the_session_of_the_others(
    moved_ms: int, cause: str
) -> None:
    """Until it hears them: their own session, of 45 s here, proves nothing behind a fail-over."""
    joins = (1_000, "5 A session=45000; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
    records = [
        (record, at._replace(leader_epoch=1 if at.record_timestamp_ms >= moved_ms else 0))
        for record, at in log(joins, (30_000, f"{GONE}; 3 3 h0"))
    ]
    got = audit_log(records, AuditOptions(topic_name=TOPIC_NAMES.get))
    causes = [row for row in got["rebalance_causes"] if row["epoch"] == 3 and not row["cause_seq"]]
    assert [row["cause"] for row in causes] == [cause]
