"""How long a partition stood still between the last commit of one owner and the first of the next."""

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from tests.dsl import TOPIC_NAMES, log

A_OWNS = (1_000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
B_JOINS = (20_000, "5 B; 3 3; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -")
A_GIVES = (22_000, "8 A 3/2 0-2")
B_TAKES = (25_000, "8 B 3/3 3-5")
B_GOES = (60_000, "8t B; 7t B; 5t B; 3 4; 7 A 0-5; 6 4; 8 A 4/3 0-5")


@pytest.mark.parametrize(
    ("of_a", "of_b", "uncommitted_ms", "why"),
    [
        ([5_000, 10_000], [31_000, 36_000], 21_000, None),
        ([], [31_000], None, "no_commit_before"),
        ([5_000], [], None, "no_commit"),
        ([5_000, 23_000], [31_000], 26_000, None),
    ],
    ids=["both", "none before", "none since", "while it has no owner"],
)
def test_work_stopped_with_the_last_commit_of_one_owner_until_the_first_of_the_next(
    of_a: list[int], of_b: list[int], uncommitted_ms: int | None, why: str | None
) -> None:
    """Not when the partition changed hands: A stopped long before, and B began long after."""
    writes = [A_OWNS, B_JOINS, A_GIVES, B_TAKES, B_GOES]
    writes += [(at_ms, f"1 foo:3 {at_ms}") for at_ms in (*of_a, *of_b)]
    rows = audit_log(
        log(*sorted(writes, key=lambda write: write[0])), AuditOptions(topic_name=TOPIC_NAMES.get)
    )["ownership"]
    third = sorted(
        (row for row in rows if row["topic_partition"] == 3), key=lambda row: row["from_offset"]
    )
    assert [row["member_id"] for row in third] == ["A", "B", "A"]
    handover = third[1]
    assert (handover["uncommitted_before_ms"], handover["uncommitted_before_unknown"]) == (
        uncommitted_ms,
        why,
    )
    # Each of these commits commits its own time as the offset.
    for owned, commits in zip(
        third, ([each for each in of_a if each < 22_000], of_b), strict=False
    ):
        bounds = owned["first_committed_offset"], owned["last_committed_offset"]
        assert bounds == ((commits[0], commits[-1]) if commits else (None, None))
    assert third[2]["uncommitted_before_unknown"] == "open"
    assert third[2]["last_committed_at"] is None


@pytest.mark.parametrize(("is_whole", "first_ms"), [(True, 5_000), (None, 5_000), (False, None)])
def test_where_compaction_takes_commits_the_first_is_unknown(
    is_whole: bool | None, first_ms: int | None
) -> None:
    """It keeps the newest commit for a partition: where one of the owner before is left, it took none since."""
    writes = [
        *((500, "2 0"), (1_000, "2 1 range A=3"), (20_000, "2 2 range A=- B=3")),
        *((60_000, "2 3 range A=3"), (5_000, "1 foo:3 1"), (6_000, "1 foo:3 2")),
        *((31_000, "1 foo:3 3"), (36_000, "1 foo:3 4")),
    ]
    options = AuditOptions(is_whole=lambda _partition: is_whole)
    rows = audit_log(log(*sorted(writes)), options)["ownership"]
    spans = {
        row["member_id"]: (row["first_committed_at"], row["last_committed_at"])
        for row in rows
        if row["to_at"] is not None
    }
    assert spans == {"A": (first_ms, 6_000), "B": (31_000, 36_000)}
