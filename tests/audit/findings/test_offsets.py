"""Findings about committed offsets: the story that shows each one, and the nearest story that does not."""

import pytest

from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from tests.audit.findings.stories import Write, findings, only, pick
from tests.dsl import TOPIC_NAMES

A_OWNS = (1_000, "5 A; 3 2; 7 A 0-1; 6 2; 8 A 2/0 0-1")
B_JOINS = (60_000, "5 B; 3 3; 7 A 0; 7 B 1; 6 3; 8 B 3/0 UNRELEASED -")
A_GIVES = (62_000, "8 A 3/2 0")
B_TAKES = (80_000, "8 B 3/3 1")
STEADY = [(at_ms, f"1 foo:1 {at_ms // 100}") for at_ms in range(5_000, 60_001, 5_000)]
HANDED_OVER: list[Write] = [A_OWNS, B_JOINS, A_GIVES, B_TAKES, *STEADY]
EMPTIED: list[Write] = [
    *((500, "2 0"), (1_000, "2 1 range A=1"), *STEADY, (62_000, "2 2")),
    *((80_000, "2 3 range B=1"), (90_000, "2 4 range B=1 C=-")),
]


def _found(
    *writes: Write, samples: list[EndOffset] | None = None, log_end_ms: int | None = None
) -> dict[str, list[Row]]:
    ends = EndOffsets({("foo", 1): samples or []})
    options = AuditOptions(topic_name=TOPIC_NAMES.get, log_end_ms=log_end_ms)
    if samples:
        options = AuditOptions(
            topic_name=TOPIC_NAMES.get, log_end_ms=log_end_ms, end_offsets=ends.of
        )
    return findings(*sorted(writes, key=lambda write: write[0]), options=options)


@pytest.mark.parametrize(
    ("commit", "detail"),
    [
        (
            "1 foo:1 550",
            (
                "The next owner of 1 partition committed a lower offset than the owner before; 50 records in total "
                "will be read again."
            ),
        ),
        ("1 foo:1 600", None),
    ],
)
def test_a_backward_commit(commit: str, detail: str | None) -> None:
    """Records are read again only if the next owner goes below what was committed."""
    found = _found(*HANDED_OVER, (83_000, commit))
    if detail is None:
        assert "backward_commit" not in found
        return
    row = only(found, "backward_commit")
    assert row["detail"] == detail
    assert pick(row, "severity", "topics", "from_at", "to_at") == (
        "warning",
        ["foo"],
        60_000,
        83_000,
    )


def test_a_commit_of_a_partition_without_owner() -> None:
    """A commits after it gave the partition up; before that it may."""
    row = only(_found(*HANDED_OVER, (70_000, "1 foo:1 620")), "commit_without_ownership")
    assert pick(row, "severity", "topics") == ("info", ["foo"])
    assert "commit_without_ownership" not in _found(*HANDED_OVER, (61_000, "1 foo:1 620"))


@pytest.mark.parametrize(("offset", "kind"), [(700, "records_skipped"), (600, None), (500, None)])
def test_an_offset_that_is_moved_forward_without_members(offset: int, kind: str | None) -> None:
    """`--reset-offsets` on an empty group; moved back, the next owner's commits show it."""
    found = _found(*EMPTIED, (70_000, f"1 foo:1 {offset}"), (83_000, "1 foo:1 830"))
    assert set(found) & {"records_skipped", "records_lost"} == ({kind} if kind else set())
    if kind:
        assert "moved forward by 100 records" in only(found, kind)["detail"]


@pytest.mark.parametrize(("start", "lost"), [(700, True), (600, False)])
def test_records_that_retention_deleted(start: int, lost: bool) -> None:
    """The log begins after what is committed."""
    samples = [EndOffset(59_000, 0, 590), EndOffset(79_000, start, 790)]
    found = _found(*HANDED_OVER, (83_000, "1 foo:1 830"), samples=samples)
    assert ("records_lost" in found) == lost
    if lost:
        assert pick(only(found, "records_lost"), "severity", "detail") == (
            "critical",
            "Retention deleted at least 100 records of 1 partition before they were committed.",
        )


@pytest.mark.parametrize(
    ("samples", "stalled"),
    [
        ([EndOffset(70_000, 0, 650), EndOffset(900_000, 0, 9_000)], True),
        ([EndOffset(70_000, 0, 600), EndOffset(900_000, 0, 600)], False),
        ([EndOffset(70_000, 0, 600), EndOffset(900_000, 0, 601)], False),
        ([], False),
    ],
    ids=["records wait", "idle", "a record just came", "nothing sampled"],
)
def test_a_member_that_stalls_with_lag(samples: list[EndOffset], stalled: bool) -> None:
    """End offsets separate an idle partition from a stuck one."""
    found = _found(A_OWNS, *STEADY, samples=samples, log_end_ms=900_000)
    assert ("stalled_with_lag" in found) == stalled
    if stalled:
        row = only(found, "stalled_with_lag")
        assert pick(row, "member_ids", "from_at", "to_at") == (["A"], 60_000, None)
        assert "8,400 records waited" in row["detail"]


def test_a_stall_that_ends() -> None:
    """Its end is the last record of the group before it went on."""
    samples = [EndOffset(70_000, 0, 650), EndOffset(1_900_000, 0, 9_000)]
    writes = [A_OWNS, *STEADY, (500_000, "5 C; 3 3; 6 3"), (600_000, "1 foo:1 9000")]
    row = only(_found(*writes, (700_000, "5 D; 3 4; 6 4"), samples=samples), "stalled_with_lag")
    assert row["to_at"] == 500_000


@pytest.mark.parametrize(
    ("samples", "detail"),
    [
        # everything that waited has expired
        (
            [EndOffset(70_000, 0, 650), EndOffset(200_000, 650, 650), EndOffset(900_000, 650, 650)],
            None,
        ),
        # some of it
        (
            [EndOffset(70_000, 0, 650), EndOffset(200_000, 630, 650)],
            "A did not commit 1 partition for at least 14 min, while at least 20 records waited.",
        ),
        # the marker of a transaction, perhaps, and surely
        (
            [EndOffset(70_000, 0, 601)],
            (
                "A did not commit 1 partition for at least 14 min, while at least 1 record waited. The one offset that "
                "waits may be the marker of a transaction, which is no record: end offsets alone do not show which it "
                "is."
            ),
        ),
        ([EndOffset(70_000, 0, 601, markers=1)], None),
        (
            [EndOffset(70_000, 0, 601, markers=0)],
            "A did not commit 1 partition for at least 14 min, while at least 1 record waited.",
        ),
    ],
)
def test_only_records_wait(samples: list[EndOffset], detail: str | None) -> None:
    """Not what was deleted, and no marker."""
    found = _found(A_OWNS, *STEADY, samples=samples, log_end_ms=900_000)
    assert [row["detail"] for row in found.get("stalled_with_lag", [])] == (
        [detail] if detail else []
    )


@pytest.mark.parametrize(
    ("ends", "offsets"),
    [([140, 141], 459), ([140, 600], None), ([140, 9_000], None), ([600, 600], None)],
)
def test_a_committed_offset_beyond_the_end(ends: list[int], offsets: int | None) -> None:
    """A commits 600; the topic was created anew, or the offset is another cluster's."""
    samples = [EndOffset(70_000, 0, ends[0]), EndOffset(880_000, 0, ends[1])]
    found = _found(A_OWNS, *STEADY, samples=samples, log_end_ms=900_000)
    assert ("committed_beyond_end" in found) == (offsets is not None)
    if offsets:
        row = only(found, "committed_beyond_end")
        assert pick(row, "severity", "topics", "to_at") == ("warning", ["foo"], None)
        assert f"beyond the end by up to {offsets} offsets for at least 13 min" in row["detail"]


def test_an_offset_that_was_beyond_the_end() -> None:
    """The next commit ends it."""
    samples = [EndOffset(70_000, 0, 140), EndOffset(300_000, 0, 150), EndOffset(500_000, 0, 160)]
    writes = [A_OWNS, *STEADY, (320_000, "5 C; 3 3; 6 3"), (400_000, "1 foo:1 150")]
    row = only(_found(*writes, (520_000, "5 D; 3 4; 6 4"), samples=samples), "committed_beyond_end")
    assert (row["from_at"], row["to_at"]) == (60_000, 300_000)


@pytest.mark.parametrize(
    ("commits", "kind"), [(1, "records_skipped"), (15, "committed_without_members")]
)
def test_steady_commits_without_members_are_no_reset(commits: int, kind: str) -> None:
    """MirrorMaker syncs offsets as long as the group is empty; an administrator resets them once."""
    synced = [(63_000 + 1_000 * number, f"1 foo:1 {700 + number}") for number in range(commits)]
    found = _found(*EMPTIED, *synced, (83_000, "1 foo:1 830"))
    assert set(found) & {"records_skipped", "committed_without_members"} == {kind}
    if kind == "committed_without_members":
        row = only(found, kind)
        assert row["severity"] == "info"
        assert (
            "were moved forward by 114 records in total by 15 commits while the group had no members"
            in row["detail"]
        )


@pytest.mark.parametrize(("every_ms", "flood"), [(5, True), (11, False)])
def test_a_partition_that_is_committed_all_the_time(every_ms: int, flood: bool) -> None:
    """Two hundred a second, and ninety."""
    writes = [(2_000 + every_ms * number, "1 foo:1 7") for number in range(6_100)]
    found = _found(A_OWNS, *writes, (90_000, "5 C; 3 3; 6 3"))
    assert ("commit_flood" in found) == flood
    if flood:
        row = only(found, "commit_flood")
        assert pick(row, "member_ids", "topics") == (["A"], ["foo"])
        assert row["detail"].startswith("foo-1 was committed 6,100 times in 30.5 s. Most of these")
