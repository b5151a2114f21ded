"""Members that stopped working while they hold partitions, and groups that stopped as a whole."""

import pytest

from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from tests.audit.findings.stories import Write, facts, findings, only, pick
from tests.dsl import TOPIC_NAMES

TIMED = "abcdefghijklmnopqrst-_"
"""A client that commits on a timer, whether there is anything or not."""
MINUTE = 60_000
HOUR = 3_600_000


def group(first: str) -> list[Write]:
    """Two members of a consumer group with three partitions each."""
    return [
        (1_000, f"5 {first}; 3 2; 7 {first} 0-5; 6 2; 8 {first} 2/0 0-5"),
        (2_000, f"5 B host=/b; 3 3; 7 {first} 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -"),
        (2_500, f"8 {first} 3/2 0-2"),
        (3_000, "8 B 3/3 3-5"),
    ]


def commits(
    partition: int, until_ms: int, step_ms: int = 5_000, since_ms: int = 5_000
) -> list[Write]:
    """A commit for a partition of `foo` every so often."""
    return [
        (at_ms, f"1 foo:{partition} {at_ms}") for at_ms in range(since_ms, until_ms + 1, step_ms)
    ]


def idle(partition: int, until_ms: int, step_ms: int = 5_000, since_ms: int = 5_000) -> list[Write]:
    """The same where nothing was consumed: each commit repeats the offset."""
    return [(at_ms, f"1 foo:{partition} 7") for at_ms in range(since_ms, until_ms + 1, step_ms)]


def findings_of(*writes: Write, end_ms: int | None = None) -> dict[str, list[Row]]:
    """The findings; the log ends at `end_ms`, or with the last record."""
    end_ms = end_ms or max(at_ms for at_ms, _ in writes)
    options = AuditOptions(topic_name=TOPIC_NAMES.get, log_end_ms=end_ms)
    return findings(*sorted(writes, key=lambda write: write[0]), options=options)


def test_a_member_that_stops_while_another_goes_on_is_silent() -> None:
    """It is still in the group when the log ends; it commits whether there is anything or not."""
    row = only(
        findings_of(*group(TIMED), *idle(0, MINUTE), *commits(3, 10 * MINUTE)), "silent_member"
    )
    assert pick(row, "severity", "from_at", "to_at", "member_ids", "topics") == (
        "warning",
        MINUTE,
        None,
        [TIMED],
        ["foo"],
    )
    assert row["detail"] == (
        f"{TIMED} committed nothing for at least 5 min, while others did: 1 partition, committed about every 5.0 s "
        "until then."
    )
    assert facts(row) == [f"last commit of {TIMED}, for foo-0"]


def test_a_silence_ends_when_the_member_is_removed() -> None:
    """An hour later somebody notices."""
    gone = (HOUR, f"8t {TIMED}; 7t {TIMED}; 5t {TIMED}; 3 4")
    row = only(
        findings_of(*group(TIMED), *idle(0, MINUTE), *commits(3, HOUR - 1), gone), "silent_member"
    )
    assert pick(row, "from_at", "to_at") == (MINUTE, HOUR)
    assert "for 59 min, until it was gone" in row["detail"]


def test_a_silence_that_a_record_lies_in_is_found_though_the_member_went_on() -> None:
    """The subscription of the other one changed meanwhile."""
    changed = (8 * MINUTE, "5 B host=/b topics=foo,bar; 3 4; 7 B 3-5; 6 4; 8 B 4/3 3-5")
    again = commits(0, 20 * MINUTE, since_ms=10 * MINUTE)
    later = (21 * MINUTE, f"8 {TIMED} 4/3 0-2")
    writes = [*group(TIMED), *idle(0, MINUTE), *commits(3, 21 * MINUTE), changed, *again, later]
    row = only(findings_of(*writes), "silent_member")
    assert pick(row, "from_at", "to_at") == (MINUTE, 8 * MINUTE)
    assert "for at least 7 min, then it resumed" in row["detail"]


@pytest.mark.parametrize(
    ("until_ms", "step_ms", "kinds"),
    [
        (10 * MINUTE, 5_000, {"silent_member"}),
        (4 * MINUTE, 5_000, set()),
        (10 * MINUTE, 3 * MINUTE, set()),
    ],
)
def test_how_long_silence_has_to_last(until_ms: int, step_ms: int, kinds: set[str]) -> None:
    """Not as long as a batch takes, and not while the other one commits too seldom to rule out a gap."""
    others = commits(3, MINUTE + until_ms, step_ms)
    assert set(findings_of(*group(TIMED), *idle(0, MINUTE), *others)) == kinds


@pytest.mark.parametrize(
    ("committed", "kinds"),
    [
        ("foo:3 {}", {"silent_member"}),
        ("bar:3 {}", set()),
    ],
)
def test_a_member_that_may_have_nothing_to_consume_is_compared_with_one_that_has(
    committed: str, kinds: set[str]
) -> None:
    """It has not been seen to commit unchanged positions; the other one has to have consumed the same topic."""
    writes = [
        *group("A"),
        *commits(0, MINUTE),
        *[(at_ms, f"1 {committed.format(at_ms)}") for at_ms in range(5_000, HOUR, 5_000)],
    ]
    found = findings_of(*writes)
    assert set(found) == kinds
    for row in found.get("silent_member", []):
        assert row["severity"] == "info"
        assert "perhaps its partitions had nothing to consume" in row["detail"]


def test_a_pause_like_those_before_is_none() -> None:
    """A member that commits in bursts, every six minutes."""
    bursts = [
        write
        for begin_ms in range(5_000, 30 * MINUTE, 6 * MINUTE)
        for write in commits(0, begin_ms + 20_000, since_ms=begin_ms)
    ]
    assert not findings_of(*group("A"), *bursts, *commits(3, HOUR))


def test_a_member_that_gave_its_partitions_up_is_not_silent() -> None:
    """The other one took them."""
    moved = [
        (MINUTE, f"3 4; 7 {TIMED} -; 7 B 0-5; 6 4; 8 {TIMED} 4/3 -"),
        (MINUTE + 100, "8 B 4/3 0-5"),
    ]
    found = findings_of(*group(TIMED), *commits(0, MINUTE - 1), *moved, *commits(3, HOUR))
    assert "silent_member" not in found


def test_a_group_in_which_no_member_commits_any_more_has_stopped() -> None:
    """As soon as the log has gone on for long enough."""
    writes = [*group(TIMED), *idle(0, MINUTE), *commits(3, MINUTE - 1)]
    assert not findings_of(*writes, end_ms=16 * MINUTE - 1)
    row = only(findings_of(*writes, end_ms=16 * MINUTE), "commits_stopped")
    assert pick(row, "severity", "from_at", "to_at", "member_ids") == (
        "warning",
        MINUTE,
        None,
        ["B", TIMED],
    )
    assert row["detail"] == (
        "No member of the group committed for at least 15 min; before, members committed about every 5.0 s, whether "
        "there was anything to consume or not."
    )


def test_a_group_that_may_have_nothing_to_consume_has_not_stopped() -> None:
    """Commits of an unknown library, at night."""
    assert not findings_of(*group("A"), *commits(0, MINUTE), *commits(3, MINUTE), end_ms=10 * HOUR)


def test_a_group_that_stopped_and_went_on_is_found_by_a_record_in_between() -> None:
    """A heartbeat with another subscription shows that the members live, and do not work."""
    changed = (30 * MINUTE, "5 B host=/b topics=foo,bar; 3 4; 7 B 3-5; 6 4; 8 B 4/3 3-5")
    again = commits(0, HOUR, since_ms=40 * MINUTE)
    row = only(findings_of(*group(TIMED), *idle(0, MINUTE), changed, *again), "commits_stopped")
    assert pick(row, "from_at", "to_at") == (MINUTE, 30 * MINUTE)


def test_a_gap_in_the_log_makes_no_member_silent() -> None:
    """An hour is missing; after it B commits first."""
    after = commits(3, HOUR + 2_000, since_ms=HOUR)
    assert not findings_of(*group(TIMED), *idle(0, MINUTE), *commits(3, MINUTE), *after)


def test_an_administrator_that_sets_offsets_makes_no_member_silent() -> None:
    """`--reset-offsets` needs a group without members; the member that comes back commits as it did."""
    gone = (MINUTE + 1, f"8t {TIMED}; 7t {TIMED}; 5t {TIMED}; 8t B; 7t B; 5t B; 3 4")
    reset = [(2 * MINUTE, f"1 foo:{number} 7") for number in range(6)]
    back = [(HOUR, f"5 {TIMED}; 3 5; 7 {TIMED} 0-5; 6 5; 8 {TIMED} 5/0 0-5")]
    later = commits(0, HOUR + 10 * MINUTE, since_ms=HOUR + 5_000)
    assert not findings_of(
        *group(TIMED), *idle(0, MINUTE), *commits(3, MINUTE), gone, *reset, *back, *later
    )
