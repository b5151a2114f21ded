"""What a rebalance cost in records: late, read again, skipped."""

from collections.abc import Sequence

import pytest

from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets
from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from tests.dsl import TOPIC_NAMES, log

A_OWNS = (1_000, "5 A; 3 2; 7 A 0-1; 6 2; 8 A 2/0 0-1")
B_JOINS = (60_000, "5 B; 3 3; 7 A 0; 7 B 1; 6 3; 8 B 3/0 UNRELEASED -")
A_GIVES = (62_000, "8 A 3/2 0")
B_TAKES = (80_000, "8 B 3/3 1")
STEADY = [(at_ms, f"1 foo:1 {at_ms // 100}") for at_ms in range(5_000, 60_001, 5_000)]
"""Ten records a second, committed every five seconds: offset 600 at 60,000 ms."""
EVERY_5_S = [EndOffset(at_ms, 0, at_ms // 100) for at_ms in range(2_500, 120_000, 5_000)]


def _rebalance(
    writes: Sequence[tuple[int, str]], samples: Sequence[EndOffset] = (), number: int = 1
) -> Row:
    ends = EndOffsets({("foo", 1): samples} if samples else {})
    options = AuditOptions(topic_name=TOPIC_NAMES.get, end_offsets=ends.of)
    rows = audit_log(log(*sorted(writes, key=lambda write: write[0])), options)["rebalances"]
    assert [row["rebalance_seq"] for row in rows] == list(range(len(rows)))
    return rows[number]


def _story(*commits: tuple[int, str]) -> list[tuple[int, str]]:
    return [A_OWNS, B_JOINS, A_GIVES, B_TAKES, *STEADY, *commits]


def _records(row: Row, what: str) -> tuple[int | None, int | None]:
    return row[f"records_{what}_min"], row[f"records_{what}_max"]


def test_records_that_arrive_while_a_partition_stands_still_are_delayed() -> None:
    """A committed 600 at 60 s; by the assignment to B at 80 s the end was about 800."""
    row = _rebalance(_story((83_000, "1 foo:1 830")), EVERY_5_S)
    assert (row["partitions_stopped"], row["longest_stop_ms"]) == (1, 20_000)
    assert _records(row, "delayed") == (775 - 600, 825 - 600)
    assert _records(row, "lagged") == (0, 25)
    assert row["records_delayed_estimate"] == 200
    assert row["records_delayed_by"] == "end_offsets"
    assert (row["catch_up_min_ms"], row["catch_up_max_ms"]) == (0, 3_000)


def test_records_that_waited_before_are_delayed_as_well() -> None:
    """The group lagged by 1,000 records: the stop makes these late, too."""
    ahead = [sample._replace(end_offset=sample.end_offset + 1_000) for sample in EVERY_5_S]
    row = _rebalance(_story((83_000, "1 foo:1 830")), ahead)
    assert _records(row, "delayed") == (1_175, 1_225)
    assert _records(row, "lagged") == (975, 1_025)
    assert (row["catch_up_min_ms"], row["catch_up_max_ms"]) == (3_000, None)


def test_without_end_offsets_the_rate_before_gives_an_estimate() -> None:
    """Ten records a second for twenty seconds; there is no upper bound."""
    row = _rebalance(_story((83_000, "1 foo:1 830")))
    assert _records(row, "delayed") == (None, None)
    assert (row["records_delayed_estimate"], row["records_delayed_by"]) == (200, "commit_rate")
    assert _records(row, "read_again") == (0, None)
    assert (row["catch_up_min_ms"], row["catch_up_max_ms"]) == (None, None)


def test_uncommitted_work_may_be_read_again_at_most_what_had_arrived() -> None:
    """A may have read on after its last commit, up to the end when B took over; most likely for a commit interval."""
    row = _rebalance(_story((83_000, "1 foo:1 830")), EVERY_5_S)
    assert _records(row, "read_again") == (0, 825 - 600)
    assert (row["records_read_again_estimate"], row["records_read_again_why"]) == (
        50,
        "uncommitted",
    )


@pytest.mark.parametrize(
    ("commits", "samples", "read_again", "why"),
    [
        ([(83_000, "1 foo:1 550")], [], (50, None), "went_back"),
        ([(83_000, "1 foo:1 600")], [], (0, None), "uncommitted"),
        ([(70_000, "1 foo:1 620"), (83_000, "1 foo:1 830")], EVERY_5_S, (0, 205), "uncommitted"),
        ([], [EndOffset(59_000, 0, 600), EndOffset(90_000, 0, 600)], (0, 0), None),
    ],
    ids=["went back", "goes on", "committed by A after it gave up", "nothing arrived"],
)
def test_what_is_read_again(
    commits: list[tuple[int, str]],
    samples: list[EndOffset],
    read_again: tuple[int, int | None],
    why: str | None,
) -> None:
    """A lower commit after the handover proves it; without one only the end of the partition bounds it."""
    row = _rebalance(_story(*commits), samples)
    assert (_records(row, "read_again"), row["records_read_again_why"]) == (read_again, why)


@pytest.mark.parametrize(
    ("writes", "samples", "skipped", "why"),
    [
        ([(83_000, "1 foo:1 830")], [], (0, 230), "not_excluded"),
        ([], [], (0, None), "not_excluded"),
        ([], [EndOffset(59_000, 0, 600), EndOffset(90_000, 0, 600)], (0, 0), None),
        (
            [(83_000, "1 foo:1 830")],
            [EndOffset(59_000, 0, 590), EndOffset(79_000, 700, 790), EndOffset(90_000, 700, 900)],
            (100, 230),
            "retention",
        ),
    ],
    ids=["up to its first commit", "no commit", "nothing arrived", "deleted first"],
)
def test_what_is_skipped(
    writes: list[tuple[int, str]],
    samples: list[EndOffset],
    skipped: tuple[int, int | None],
    why: str | None,
) -> None:
    """The log does not say where a member begins to read, but records that are deleted are lost."""
    row = _rebalance(_story(*writes), samples)
    assert (_records(row, "skipped"), row["records_skipped_why"]) == (skipped, why)


def test_offsets_committed_forward_while_the_group_is_empty_are_named() -> None:
    """`kafka-consumer-groups --reset-offsets --to-latest` on an empty group."""
    writes = [
        *((500, "2 0"), (1_000, "2 1 range A=1"), *STEADY, (62_000, "2 2")),
        *((70_000, "1 foo:1 700"), (80_000, "2 3 range B=1"), (83_000, "1 foo:1 830")),
        (90_000, "2 4 range B=1 C=-"),
    ]
    row = _rebalance(writes, EVERY_5_S, number=2)
    assert (row["partitions_stopped"], row["records_skipped_why"]) == (1, "offsets_reset")
    assert _records(row, "skipped") == (0, 230)


def test_eager_members_stop_what_they_keep() -> None:
    """All three partitions stand still for the generation; a cooperative member goes on with what it keeps."""
    commits = [
        (at_ms, f"1 foo:{number} {at_ms // 100}")
        for at_ms in range(5_000, 60_001, 5_000)
        for number in range(3)
    ]
    eager = [(500, "2 0"), (1_000, "2 1 range A=0-2"), (80_000, "2 2 range A=0-1 B=2")]
    row = _rebalance([*commits, *eager])
    assert (row["partitions_stopped"], row["records_delayed_estimate"]) == (3, 600)
    cooperative = [
        (500, "2 0"),
        (1_000, "2 1 cooperative-sticky A=0-2"),
        (80_000, "2 2 cooperative-sticky A=0-1 B=- owned:A=0-2"),
        (81_000, "2 3 cooperative-sticky A=0-1 B=2 owned:A=0-1"),
    ]
    row = _rebalance([*commits, *cooperative])
    assert (row["partitions_stopped"], row["records_delayed_estimate"]) == (1, 210)


def test_a_partition_that_was_idle_for_long_counts_from_five_minutes_before() -> None:
    """Its last commit is an hour old: what happened since then is not the rebalance's."""
    late = [(at_ms + 3_600_000, lines) for at_ms, lines in (B_JOINS, A_GIVES, B_TAKES)]
    row = _rebalance([A_OWNS, *STEADY, *late])
    assert row["longest_stop_ms"] == 300_000 + 20_000


def test_a_partition_without_a_commit_costs_nothing_that_is_known() -> None:
    """All columns are null: the group may not commit to Kafka at all."""
    row = _rebalance([A_OWNS, B_JOINS, A_GIVES, B_TAKES], EVERY_5_S)
    assert {value for name, value in row.items() if name.startswith("records_")} == {None}
    assert row["partitions_stopped"] is None


def test_commits_of_a_transaction_prove_nothing() -> None:
    """It may have been aborted, so a lower offset after it is no proof."""
    writes = _story((83_000, "1 foo:1 550"))
    records = log(*sorted(writes, key=lambda write: write[0]))
    records = [
        (record, position._replace(is_transactional=record.record_type == 1))
        for record, position in records
    ]
    row = audit_log(records, AuditOptions(topic_name=TOPIC_NAMES.get))["rebalances"][1]
    assert _records(row, "read_again") == (0, None)
