"""What coordinators do with records out of place, by release: `loads`, or the rule and the offset at which it fails."""

import pytest

from rebalance_audit.verify.coordinators import DEFAULT
from rebalance_audit.verify.loading import Loading
from rebalance_audit.verify.partition_load import load_partition
from tests.verify.logs import Raw, chunk, loading, named, raw

NEW = ("3.8 new", "3.9 new", "4.0.1", "4.0", "4.1.1", "4.1", "4.2", "4.3", "4.4")
SINCE_4_0 = NEW[2:]
BEFORE_19862 = ("3.8 new", "3.9 new", "4.0.1", "4.1.1")
JOINED = "3 1; 5 A; 7 A 0-5; 6 1; 8 A 1/0 0-5"
TWO = "3 2; 5 A; 5 B; 7 A 0-2; 7 B 3-5; 6 2; 8 A 2/1 0-2; 8 B 2/0 3-5"


def said(found: Loading) -> str:
    """`loads`, or the rule and the offset at which it fails."""
    return found.outcome if found.failure is None else f"{found.rule} at {found.failed_at_offset}"


@pytest.mark.parametrize(
    ("lines", "releases", "expected"),
    [
        (JOINED, NEW, "loads"),
        (TWO, NEW, "loads"),
        (f"{JOINED}; 8t A; 7t A; 5t A; 6t; 3t", NEW, "loads"),
        (f"{JOINED}; 5t A", NEW, "member_not_released at 5"),
        (f"{JOINED}; 8t A; 5t A", NEW, "member_not_released at 6"),
        (f"{JOINED}; 8t A; 6t", NEW, "targets_remain at 6"),
        (f"{JOINED}; 3t", NEW, "group_not_empty at 5"),
        (f"{JOINED}; 8t A; 7t A; 5t A; 3t", NEW, "group_not_empty at 8"),
        (f"2 1 range A=0-2; {JOINED}", NEW, "wrong_group_type at 1"),
        ("2 1 range A=0-2; 8t B", NEW, "wrong_group_type at 1"),
        (f"{JOINED}; 2 1 range A=0-2", NEW, "loads"),
        (f"{JOINED}; 2t; 3t", SINCE_4_0, "loads"),
        (f"{JOINED}; 2t; 3t", ("3.9 new",), "tombstone_of_unknown at 6"),
        ("8t A; 7t A; 5t A", SINCE_4_0, "loads"),
        ("8t A; 7t A; 5t A", ("3.8 new", "3.9 new"), "tombstone_of_unknown at 0"),
        ("8 A 1/0 0-5", SINCE_4_0, "loads"),
        ("8 A 1/0 0-5", ("3.8 new", "3.9 new"), "record_of_unknown at 0"),
        ("3 1; 8 A 1/0 0-5", ("3.8 new", "3.9 new"), "record_of_unknown at 1"),
        ("1 foo:0 42; 3 1; 5 A", SINCE_4_0, "loads"),
        ("1 foo:0 42; 3 1; 5 A", ("3.8 new", "3.9 new"), "simple_group_in_the_way at 1"),
        ("1 foo:0 42; 3t", SINCE_4_0, "group_not_empty at 1"),
        ("2 0; 17t", ("4.2", "4.4"), "group_not_empty at 1"),
        (f"17 1; {JOINED}", NEW[6:], "wrong_group_type at 1"),
        ("1 foo:0 42; 17 1; 19 A", ("4.1", "4.1.1"), "simple_group_in_the_way at 1"),
        ("1 foo:0 42; 17 1; 19 A", ("4.2", "4.3", "4.4"), "loads"),
        ("10t A; 11t", ("4.0",), "tombstone_of_unknown at 0"),
        ("10t A; 11t", ("4.1", "4.4"), "loads"),
        ("15 foo", ("4.1", "4.4"), "loads"),
        ("15 foo", ("4.0",), "unhandled_record_type at 0"),
        ("15t", ("4.0",), "unhandled_record_type at 0"),
        ("23 -1", ("4.1", "4.4"), "bad_value at 0"),
        ("6 -2", ("4.3", "4.4"), "bad_value at 0"),
        ("6 -2", ("4.1", "4.2"), "loads"),
        ("2 1 range A@i=0 B@i=1", (*NEW, "3.3", "3.9"), "static_member_twice at 0"),
        ("2 1 range A=0 A=1 B=2", (*NEW, "3.3", "3.9"), "member_twice at 0"),
        ("2 1 range A=0 topics:A=x", (*NEW, "3.3", "3.9"), "loads"),
        ("2 1 range A=0 B=1 B=2", (*NEW, "3.3", "3.9"), "loads"),
        ("8 A 1/0 UNREVOKED 0-2|2-3", SINCE_4_0, "partition_held_and_given_up at 0"),
        (f"{TWO}; 8 B 2/2 2-5", NEW, "partition_owned_at_later_epoch at 8"),
        (f"{TWO}; 8 B 3/2 2-5", BEFORE_19862, "partition_owned_twice at 8"),
        (f"{TWO}; 8 B 3/2 2-5; 8 A 3/2 0-1; 5 A", ("4.0", "4.1", "4.2", "4.4"), "loads"),
        (f"{TWO}; 8 B 3/2 2-5; 5 A", ("4.0", "4.4"), "partition_owned_at_later_epoch at 9"),
    ],
)
def test_records_out_of_place(lines: str, releases: tuple[str, ...], expected: str) -> None:
    """Each release refuses what its own replay refuses, and nothing else."""
    assert {release: said(loading(lines, release)) for release in releases} == dict.fromkeys(
        releases, expected
    )


def test_an_epoch_below_all_epochs_goes_backwards_where_it_is_not_refused() -> None:
    """4.3 checks the value (`TargetAssignmentMetadata`); earlier releases take it, which loses the epoch before."""
    lines = "5 A; 3 3; 6 3; 6 -5"
    taken = loading(lines, "4.0")
    assert said(taken) == "loads"
    assert [(each.rule_id, each.log_offset) for each in taken.tolerated] == [("epoch_went_back", 3)]
    assert said(loading(lines, "4.3")) == "bad_value at 3"


@pytest.mark.parametrize(
    ("row", "answers"),
    [
        (
            (None, b"x"),
            {"3.9 classic": "no_key at 1", "3.9 new": "no_key at 1", "4.4": "no_key at 1"},
        ),
        ((b"\0", b"x"), {"3.9": "key_truncated at 1", "4.4": "key_truncated at 1"}),
        ((b"\0\x63\0\1g", b"x"), {"3.9": "loads", "3.9 new": "loads", "4.4": "loads"}),
        (
            (b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\5" + bytes(12) + b"\1" + bytes(9)),
            {
                "3.3": "unknown_value_version at 1",
                "3.9 new": "loads",
                "4.4": "unknown_value_version at 1",
            },
        ),
        (
            (b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\3" + bytes(3)),
            {"3.3": "value_truncated at 1", "3.9 new": "value_truncated at 1"},
        ),
        # Type 7 in a version ahead: 3.9 checks that of its structs alone.
        (
            (b"\0\7\0\1g\0\1A", b"\0\1\2" + bytes(16) + b"\1\0\0"),
            {"3.9 new": "value_corrupt at 1", "4.4": "unknown_value_version at 1"},
        ),
        # The tag of the metadata hash with a wrong size: before 4.1 it is skipped by its size.
        (
            (b"\0\3\0\1g", b"\0\0\0\0\0\2\1\0\1\7"),
            {"4.0": "loads", "4.1": "value_truncated at 1", "4.4": "value_truncated at 1"},
        ),
        # A name that is not UTF-8: Java replaces what is wrong.
        ((b"\0\1\0\1g\0\1\xff\0\0\0\0", b"\0\0" + bytes(18)), {"3.3": "loads", "4.4": "loads"}),
    ],
)
def test_bytes_that_are_no_record(row: Raw, answers: dict[str, str]) -> None:
    """What cannot be decoded fails the load, skips the record, or is read as Java reads it."""
    items = [chunk([*raw("1 foo:0 42"), row])]
    assert {name: said(load_partition(items, named(name), 0)) for name in answers} == answers


def test_what_a_release_does_not_know_is_skipped_and_named() -> None:
    """The record is skipped; its group keeps its offsets, and loses what the record says."""
    found = loading("1 foo:0 42; 10 A; 11 1", "3.9 classic")
    assert found.outcome == "loads"
    assert [(each.log_offset, each.rule_id, each.group_id) for each in found.skipped] == [
        (1, "unknown_record_type", "g"),
        (2, "unknown_record_type", "g"),
    ]
    assert [group.offsets for group in found.lost_groups] == [{"foo": {0: 42}}]


def test_a_failed_partition_takes_all_its_groups_with_their_last_offsets() -> None:
    """The offsets are those at the end of the log, not those at the failure."""
    found = loading("1 foo:0 42; 3 1; 5 A; 5t A; 1 foo:0 43", "4.4")
    assert found.failed_at_offset == 3
    (group,) = found.lost_groups
    assert (group.group_id, group.group_type, group.offsets) == ("g", "consumer", {"foo": {0: 43}})
    assert not found.serves_nothing


def test_a_classic_coordinator_that_fails_serves_nothing() -> None:
    """It logs the error and goes on without any group."""
    assert loading("2 1 range A@i=0 B@i=1", "3.9").serves_nothing


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("2 1 range A=0-2; 2t", "removed_group_in_transaction at 5"),
        ("2 1 range A=0-2; 2t; 1 foo:1 43", "loads"),
        ("2 1 range A=0-2; 2t; 2 1 range A=0-2", "loads"),
        ("2 1 range A=0-2", "loads"),
    ],
)
def test_an_open_transaction_of_a_removed_group(before: str, expected: str) -> None:
    """The classic coordinator makes a group for its offsets, and then finds a group that should be gone."""
    items = [chunk(raw(before)), chunk(raw("1 foo:0 42"), 5, producer_id=7)]
    found = {name: load_partition(items, named(name), 0) for name in ("3.3", "3.9", "3.9 new")}
    answers = {name: said(loading) for name, loading in found.items()}
    assert answers == {"3.3": expected, "3.9": expected, "3.9 new": "loads"}


def test_a_transaction_without_its_marker_is_open() -> None:
    """Nothing ends it in the log."""
    items = [chunk(raw("1 foo:0 42; 1 foo:1 43"), 5, producer_id=7)]
    (open_one,) = load_partition(items, DEFAULT, 0).open_transactions
    assert (open_one.producer_id, open_one.first_offset, open_one.commit_count) == (7, 5, 2)
