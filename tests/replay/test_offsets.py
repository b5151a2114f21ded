"""Committed offsets and transactions."""

import pytest

from rebalance_audit.replay.changes import (
    GroupCreated,
    GroupStateChanged,
    GroupType,
    OffsetCommitted,
    OffsetPending,
    OffsetRemoved,
    Position,
    TransactionEnded,
)
from rebalance_audit.replay.groups import CommittedOffset, GroupSlot
from rebalance_audit.replay.playback import apply_transaction_marker
from tests.dsl import GROUP_ID, TOPIC_IDS, picture, replay

PRODUCER_ID = 7


def play(*events: str) -> GroupSlot:
    """A slot after events: records, `7> records` of the producer's transaction, `7 commit` and `7 abort`."""
    slot = GroupSlot(GROUP_ID)
    for event in events:
        producer, _, rest = event.partition("> ")
        if rest:
            replay(slot, rest, producer_id=int(producer), is_transactional=True)
        elif event.endswith(("commit", "abort")):
            producer_id, word = event.split()
            position = Position(0, slot.last_log_offset + 1, 2000)
            apply_transaction_marker(slot, int(producer_id), word == "commit", position)
        else:
            replay(slot, event)
    return slot


def committed(slot: GroupSlot) -> dict[str, int]:
    """Topic partition -> committed offset."""
    return {
        f"{topic}:{number}": at.committed_offset for (topic, number), at in slot.offsets.items()
    }


STORIES = [
    # what it shows, events, committed offsets, producers with pending commits
    ("a later commit replaces an earlier one", ["1 foo:0 5", "1 foo:0 3"], {"foo:0": 3}, []),
    (
        "the oldest form of a commit counts as well",
        ["0 foo:0 5", "1 foo:1 6"],
        {"foo:0": 5, "foo:1": 6},
        [],
    ),
    ("a tombstone drops the commit", ["1 foo:0 5; 1 foo:1 6", "1t foo:0"], {"foo:1": 6}, []),
    ("a tombstone of the oldest form too", ["0 foo:0 5", "0t foo:0"], {}, []),
    ("a tombstone of nothing is nothing", ["1t foo:0"], {}, []),
    ("a transaction's commit waits", ["7> 1 foo:0 5"], {}, [7]),
    ("it does not hide what was committed", ["1 foo:0 1", "7> 1 foo:0 5"], {"foo:0": 1}, [7]),
    ("it counts once the transaction commits", ["7> 1 foo:0 5", "7 commit"], {"foo:0": 5}, []),
    (
        "it is dropped when the transaction aborts",
        ["1 foo:0 1", "7> 1 foo:0 5", "7 abort"],
        {"foo:0": 1},
        [],
    ),
    ("the last of a transaction counts", ["7> 1 foo:0 5; 1 foo:0 6", "7 commit"], {"foo:0": 6}, []),
    ("a commit written after it wins", ["7> 1 foo:0 5", "1 foo:0 9", "7 commit"], {"foo:0": 9}, []),
    ("also one that goes back", ["7> 1 foo:0 5", "1 foo:0 2", "7 commit"], {"foo:0": 2}, []),
    (
        "a commit written before it loses",
        ["1 foo:0 9", "7> 1 foo:0 5", "7 commit"],
        {"foo:0": 5},
        [],
    ),
    (
        "only the producer's own is ended",
        ["7> 1 foo:0 5", "8> 1 foo:1 6", "8 commit"],
        {"foo:1": 6},
        [7],
    ),
    (
        "of two transactions on one partition the later record wins, not the later marker",
        ["7> 1 foo:0 5", "8> 1 foo:0 6", "8 commit", "7 commit"],
        {"foo:0": 6},
        [],
    ),
    (
        "a tombstone drops what waits",
        ["7> 1 foo:0 5; 1 foo:1 6", "1t foo:0", "7 commit"],
        {"foo:1": 6},
        [],
    ),
    (
        "of every transaction",
        ["7> 1 foo:0 5", "8> 1 foo:0 6", "1t foo:0", "7 commit", "8 commit"],
        {},
        [],
    ),
    (
        "a commit after the tombstone stands",
        ["7> 1 foo:0 5", "1t foo:0", "7> 1 foo:0 6", "7 commit"],
        {"foo:0": 6},
        [],
    ),
    (
        "a marker without a transaction is ignored",
        ["1 foo:0 5", "7 abort", "7 commit"],
        {"foo:0": 5},
        [],
    ),
    (
        "a second transaction of the producer starts afresh",
        ["7> 1 foo:0 5", "7 abort", "7> 1 foo:1 6", "7 commit"],
        {"foo:1": 6},
        [],
    ),
]


@pytest.mark.parametrize(
    ("events", "offsets", "pending"),
    [story[1:] for story in STORIES],
    ids=[story[0] for story in STORIES],
)
def test_a_story_of_commits_leads_to_the_committed_offsets(
    events: list[str], offsets: dict[str, int], pending: list[int]
) -> None:
    """What counts is what a broker would answer to OffsetFetch after the same records."""
    slot = play(*events)
    assert committed(slot) == offsets
    assert sorted(slot.pending_offsets) == pending


def test_a_commit_keeps_all_that_was_committed() -> None:
    """Metadata, leader epoch, both times, the topic's id where it is known, and the record it came from."""
    slot = play(
        "1 foo:0 5 m=text le=4 at=600 expires=700 id=foo; 1 bar:1 6; 0 zar:2 7 m=old at=601"
    )
    assert slot.offsets == {
        ("foo", 0): CommittedOffset(5, 4, "text", 600, 700, TOPIC_IDS["foo"], 0),
        ("bar", 1): CommittedOffset(6, -1, "", 500, -1, None, 1),
        ("zar", 2): CommittedOffset(7, -1, "old", 601, -1, None, 2),
    }


def test_a_transactional_commit_keeps_the_place_of_its_record() -> None:
    """Not that of the marker: a later transaction that ends earlier is compared by it."""
    assert play("7> 1 foo:0 5", "7 commit").offsets[("foo", 0)].log_offset == 0


@pytest.mark.parametrize("events", [["1 foo:0 5"], ["7> 1 foo:0 5"], ["0 foo:0 5"]])
def test_a_commit_of_an_unknown_group_makes_a_simple_group(events: list[str]) -> None:
    """A consumer without group management may commit: the group is classic and empty, without a record of its own."""
    assert picture(play(*events)) == "Classic Empty 0"


@pytest.mark.parametrize(
    ("group", "state"),
    [
        ("5 A", "Consumer Stable 0/0 | A 0/-1 STABLE -"),
        ("10 A", "Share Stable 0/0 | A 0/-1 STABLE -"),
        ("19 A", "Streams NotReady 0/0 | A 0/-1 STABLE -"),
        ("2 1 range A=0", "Classic Stable 1 | A 0"),
    ],
)
def test_groups_of_any_type_commit_offsets(group: str, state: str) -> None:
    """A commit leaves the group as it is."""
    slot = play(group, "1 foo:0 5")
    assert picture(slot) == state
    assert committed(slot) == {"foo:0": 5}


def test_offsets_outlive_a_change_of_the_group_type() -> None:
    """They belong to the group id; only their own tombstones remove them."""
    slot = play("2 1 range A=0", "1 foo:0 5", "2t", "5 A; 3 1")
    assert committed(slot) == {"foo:0": 5}


def test_the_changes_of_a_transaction() -> None:
    """Pending at the record, committed at the marker, with how many commits the marker ended."""
    slot = GroupSlot(GROUP_ID)
    where = Position(0, 4, 1234, None, PRODUCER_ID, True)
    assert replay(slot, "1 foo:0 5", **where._asdict()) == [
        GroupCreated(where, GroupType.CLASSIC, simple=True, replaced=None),
        OffsetPending(where, "foo", 0, PRODUCER_ID),
        GroupStateChanged(where, None, "Empty"),
    ]
    late = Position(0, 5, 1234)
    assert replay(slot, "1 bar:1 6", **late._asdict()) == [OffsetCommitted(late, "bar", 1, 6)]
    behind = where._replace(log_offset=6)
    replay(slot, "1 bar:1 2", **behind._asdict())
    newest = Position(0, 7, 1234)
    assert replay(slot, "1 bar:1 8", **newest._asdict()) == [OffsetCommitted(newest, "bar", 1, 8)]
    end = Position(0, 8, 1240, None, PRODUCER_ID, True)
    assert apply_transaction_marker(slot, PRODUCER_ID, True, end) == [
        OffsetCommitted(end, "foo", 0, 5),
        TransactionEnded(end, PRODUCER_ID, True, 2),
    ]
    gone = Position(0, 9, 1250)
    assert replay(slot, "1t foo:0", **gone._asdict()) == [OffsetRemoved(gone, "foo", 0)]
    assert apply_transaction_marker(slot, PRODUCER_ID, False, Position(0, 10, 1260)) == []
