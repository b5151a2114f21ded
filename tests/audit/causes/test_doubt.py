"""Logs with gaps, made by Kafka's rules: nothing is proven until the group is known again."""

import pytest

from rebalance_audit.audit.log_audit import LogAudit, audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from tests.dsl import TOPIC_NAMES, log

A_JOINS = (1_000, "5 A; 3 2 h7; 7 A 0-5; 6 2; 8 A 2/0 0-5")
B_JOINS = (2_000, "5 B; 3 3 h7; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -")
A_GIVES = [(2_500, "8 A 2/2 UNREVOKED 0-2|3-5"), (3_000, "8 A 3/2 0-2"), (3_400, "8 B 3/3 3-5")]
GROWN = "3 {0} h{1}; 7 A 0-2,6; 6 {0}; 8 A {0}/{2} 0-2,6"
HOLE = (0, "")
"""A record of the group that cannot be decoded."""


def audited(*writes: tuple[int, str]) -> dict[str, list[Row]]:
    """Tables of a log of (time, write) pairs and holes."""
    audit = LogAudit(AuditOptions(topic_name=TOPIC_NAMES.get))
    before = 0
    for number, write in enumerate(writes):
        if write is HOLE:
            audit.gap("g", 0)
            continue
        for record, position in log(write):
            offset = before + position.log_offset
            audit.feed(record, position._replace(log_offset=offset))
        before += 100 * (number + 1)
    return audit.tables()


def verdicts(got: dict[str, list[Row]]) -> list[tuple[int, str, str, str]]:
    """(epoch, completeness, primary cause, certainty) of every epoch."""
    return [
        (row["epoch"], row["completeness"], row["primary_cause"], row["primary_certainty"])
        for row in sorted(got["epochs"], key=lambda row: row["epoch"])
    ]


def proven(got: dict[str, list[Row]], epoch: int) -> list[str]:
    """What is called proven of an epoch."""
    return [
        row["cause"]
        for row in got["rebalance_causes"]
        if row["epoch"] == epoch and row["certainty"] == "proven"
    ]


def test_a_lost_member_record_takes_later_proof_away() -> None:
    """B came in an unreadable record: what it changes next is no proof that members did nothing."""
    unread = (2_000, "3 3 h7; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -")
    changes = (9_000, "5 B topics=foo,bar; 3 4 h9; 7 B 3-5+bar:0; 6 4; 8 B 4/3 3-5+bar:0")
    grows = (12_000, GROWN.format(5, 11, 3))
    got = audited(A_JOINS, HOLE, unread, *A_GIVES, changes, grows)
    assert [row[:2] for row in verdicts(got)] == [
        (2, "complete"),
        (3, "gap"),
        (4, "gap"),
        (5, "gap"),
    ]
    assert not [cause for epoch in (3, 4, 5) for cause in proven(got, epoch)]


def test_doubt_ends_when_the_group_is_known_again() -> None:
    """Every member has written its subscription and has reached an epoch after the gap."""
    again = [
        (9_000, GROWN.format(5, 9, 3)),
        (9_200, "5 A host=/new"),
        (9_300, "5 B host=/new"),
        (9_500, "3 6 h10; 7 A 0-2,6; 6 6; 8 A 6/5 0-2,6"),
        (9_600, "8 B 6/3 3-5"),
    ]
    got = audited(
        A_JOINS, B_JOINS, *A_GIVES, *again, (12_000, "3 7 h11; 7 A 0-2,6-7; 6 7; 8 A 7/6 0-2,6-7")
    )
    assert verdicts(got)[-2:] == [
        (6, "gap", "topic_metadata_changed", "possible"),
        (7, "complete", "topic_metadata_changed", "proven"),
    ]


def test_an_epoch_that_is_skipped_is_not_the_only_one_in_doubt() -> None:
    """A member that joined in the gap may have caused the next epoch."""
    got = audited(
        A_JOINS, B_JOINS, *A_GIVES, (9_000, GROWN.format(5, 9, 3)), (12_000, "3 6 h10; 8 A 6/5 0-2")
    )
    assert verdicts(got)[-2:] == [
        (5, "gap", "topic_metadata_changed", "possible"),
        (6, "gap", "topic_metadata_changed", "possible"),
    ]


@pytest.mark.parametrize("host", ["/host", "/new"], ids=["the same record", "from another host"])
def test_a_member_that_joins_again_after_its_tombstones_were_cleaned(host: str) -> None:
    """It is believed in all the time; its first assignment comes from epoch 0 though."""
    emptied, joins = (9_000, "3 3 h0"), f"5 A host={host}; 3 4 h7; 7 A 0-5; 6 4; 8 A 4/0 0-5"
    got = audited(A_JOINS, emptied, (90_000, joins))
    assert not proven(got, 3)
    assert not proven(got, 4)
    assert verdicts(got)[-1][1] == "gap"


def test_a_group_made_again_inside_a_hole() -> None:
    """The numbers go on by chance; the newcomer gets at once what the old members never gave up."""
    got = audited(A_JOINS, (90_000, "5 C; 3 3 h7; 7 C 0-5; 6 3; 8 C 3/0 0-5"))
    assert (verdicts(got)[-1][1], proven(got, 3)) == ("gap", [])


def test_a_group_does_not_begin_where_an_earlier_member_is() -> None:
    """The first epoch record that is left has the number of a first one, but A was there before."""
    got = audited((500, "8 A 1/1 0-5"), (1_000, "5 B; 3 2 h7; 7 A 0-2; 7 B 3-5; 6 2; 8 B 2/0 3-5"))
    assert "group_created" not in {row["cause"] for row in got["rebalance_causes"]}
    assert proven(got, 2) == []


def test_a_member_that_was_there_already_does_not_join() -> None:
    """Its record without topics is lost: the next one looks like its first, its assignment shows otherwise."""
    got = audited(A_JOINS, (9_000, "5 B; 3 3 h7; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/2 UNRELEASED -"))
    assert (verdicts(got)[-1][1], proven(got, 3)) == ("gap", [])


@pytest.mark.parametrize("state", ["", "; 8 B 6/0 UNREVOKED -|3"], ids=["none", "gives up"])
def test_a_member_of_a_lost_beginning_does_not_join(state: str) -> None:
    """Two epochs in a row end the doubt about the start; but who comes gets an assignment, and gives up nothing yet."""
    begins = (1_000, "5 A; 3 5 h7; 7 A 0-2; 7 B 3-5; 6 5; 8 A 5/4 0-2")
    got = audited(begins, (2_000, f"5 B; 3 6 h8; 7 A 0-3; 7 B 4-5; 6 6{state}"))
    assert (verdicts(got)[-1][1], proven(got, 6)) == ("gap", [])
    joins = "5 B; 3 6 h8; 7 A 0-3; 7 B 4-5; 6 6; 8 B 6/0 UNRELEASED -"
    assert proven(audited(begins, (2_000, joins)), 6) == ["member_joined"]


def test_an_expression_that_no_member_is_known_to_have() -> None:
    """The record of its member is lost, and with it what that gave up."""
    resolved = [(2_000, "5 B regex=^b; 8 B 2/0 -"), (2_500, "16 ^b bar; 3 3 h8")]
    got = audited(A_JOINS, *resolved, (9_000, "16 ^typo; 3 4 h7"))
    assert (verdicts(got)[-1][1], proven(got, 4)) == ("gap", [])


def test_a_row_with_a_gap_is_not_proven_in_a_classic_group() -> None:
    """An empty group admits only a join, as long as none of its records is lost."""
    begins = [(1_000, "2 0 state_at=1000"), (4_000, "2 1 range A=0-5"), (9_000, "2 2")]
    joins = (20_000, "2 3 range B=0-5")
    assert verdicts(audited(*begins, joins))[-1][1:] == ("complete", "member_joined", "proven")
    assert verdicts(audited(*begins, HOLE, joins))[-1][1:] == ("gap", "member_joined", "possible")


@pytest.mark.parametrize(
    ("is_whole", "found"),
    [
        (True, [(2, "complete"), (4, "complete")]),
        (False, [(2, "gap"), (4, "gap")]),
        (None, [(2, "gap"), (4, "complete")]),
    ],
)
def test_a_generation_without_a_record(is_whole: bool | None, found: list[tuple[int, str]]) -> None:
    """No assignor assigned it, or its record is lost: the partition's record count decides, if it is known."""
    options = AuditOptions(is_whole=lambda _partition: is_whole)
    story = log((4_000, "2 2 range A=0-5"), (9_000, "2 4 range A=0-2 B=3-5"))
    assert [row[:2] for row in verdicts(audit_log(story, options))] == found


def test_what_compaction_left_at_the_start_is_the_group_as_it_was() -> None:
    """Two epochs in a row show that the cleaner had not been there: no record has to be written again."""
    left = "5 A; 5 B; 8 B 4/4 3-5; 8 A 4/4 0-2; 3 5 h7; 7 A 0-2; 7 B 3-5; 6 5"
    got = audited((1_000, left), (2_000, GROWN.format(6, 9, 4)))
    assert verdicts(got) == [
        (5, "gap", "unknown", "possible"),
        (6, "complete", "topic_metadata_changed", "proven"),
    ]


def test_members_that_compaction_left_without_a_chain_belong_to_the_start() -> None:
    """The cleaner took the assignments before the first epoch: what then cannot follow is no second hole."""
    left = "5 A; 5 B; 3 5 h7; 7 A 0-2; 7 B 3-5; 6 5"
    reached = [(1_500, "8 A 5/4 0-2"), (1_600, "8 B 5/4 3-5")]
    got = audited((1_000, left), *reached, (2_000, GROWN.format(6, 9, 5)))
    assert verdicts(got) == [
        (5, "gap", "member_joined", "possible"),
        (6, "complete", "topic_metadata_changed", "proven"),
    ]


def test_durations_over_two_clocks_are_never_negative() -> None:
    """The next coordinator's clock is 5 s behind: the duration of what ends before it began is unknown."""
    moved = [(1_900, "8 A 2/2 UNREVOKED 0-2|3-5"), (1_950, "8 A 3/2 0-2"), (1_990, "8 B 3/3 3-5")]
    got = audited((5_000, A_JOINS[1]), (6_500, B_JOINS[1]), *moved)
    for table, rows in got.items():
        for row in rows:
            negative = {
                name: value
                for name, value in row.items()
                if name.endswith("_ms") and isinstance(value, int) and value < 0
            }
            assert not negative, (table, row)
    (joined,) = [row for row in got["epochs"] if row["epoch"] == 3]
    assert (joined["reconcile_ms"], joined["convergence_ms"]) == (None, None)


def test_who_owned_what_before_the_log_begins_is_not_complete() -> None:
    """Compaction keeps the last assignment; since when it held is unknown."""
    got = audited((1_000, "5 A; 8 A 4/4 0-2; 3 5 h7; 7 A 0-2; 6 5"), (1_500, "8 A 5/4 0-3"))
    assert {(row["topic_partition"], row["completeness"]) for row in got["ownership"]} >= {
        (0, "gap"),
        (1, "gap"),
        (2, "gap"),
    }
    classic = audit_log(log((9_000, "2 7 range A=0-1")))
    assert {row["completeness"] for row in classic["ownership"]} == {"gap"}


@pytest.mark.parametrize("previous", [2, 0], ids=["moves", "stays, as in 4.2"])
def test_where_a_members_epoch_stays_its_previous_one_may_stay_too(previous: int) -> None:
    """Asked to give up partitions, a member keeps its epoch, whichever previous epoch it writes; nothing is missing."""
    got = audited(A_JOINS, (5_000, f"5 A topics=bar; 3 3 h9; 8 A 2/{previous} UNREVOKED 0-2|3-5"))
    assert [row[:2] for row in verdicts(got)] == [(2, "complete"), (3, "complete")]
