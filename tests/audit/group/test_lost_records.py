"""Records of a group that cannot be decoded, or that compaction removed: its state is unknown until the next one."""

from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.replay.changes import Position
from tests.dsl import log

GENERATION, COMMIT, FUTURE = 2, 1, 99
DAYS_MS = 10 * 86_400_000


def audited(*steps: tuple[int, str] | tuple[int, int]) -> dict[str, list[Row]]:
    """The audit of (time, records) pairs; a number in place of records is the type of one that cannot be decoded."""
    audit, log_offset = LogAudit(AuditOptions(log_end_ms=DAYS_MS)), 0
    for at_ms, what in steps:
        if isinstance(what, int):
            audit.lost("g", Position(0, log_offset, at_ms, 0), what)
            log_offset += 1
        else:
            for record, position in log((at_ms, what)):
                audit.feed(record, position._replace(log_offset=log_offset))
                log_offset += 1
    return audit.tables()


def states(rows: dict[str, list[Row]]) -> list[tuple[object, ...]]:
    """Offset, state, protocol, members and completeness of each stretch."""
    columns = ("from_offset", "group_state", "protocol", "members_at_end", "completeness")
    return [tuple(row[column] for column in columns) for row in rows["group_states"]]


def test_the_state_is_unknown_until_the_next_record() -> None:
    """What was known ends there, with less than complete evidence."""
    rows = audited((1_000, "2 1 range A=0-2"), (5_000, GENERATION), (9_000, "2 3 range A=0-2"))
    assert states(rows) == [
        (0, "Stable", "classic", 1, "gap"),
        (1, "Unknown", "classic", None, "gap"),
        (2, "Stable", "classic", 1, "gap"),
    ]
    assert [row["is_current"] for row in rows["group_states"]] == [False, False, True]


def test_a_group_without_any_readable_record_is_unknown() -> None:
    """The record's type gives the protocol; where it does not, the log names a group and no more."""
    assert states(audited((1_000, 8))) == [(0, "Unknown", "consumer", None, "gap")]
    assert states(audited((1_000, FUTURE))) == []


def test_an_offset_commit_changes_no_state() -> None:
    """Only a record of the group itself may have changed it."""
    rows = audited((1_000, "2 1 range A=0-2"), (5_000, COMMIT))
    assert states(rows) == [(0, "Stable", "classic", 1, "complete")]


def test_what_lasts_is_known_only_so_far() -> None:
    """A group that was empty before is not called dead for the days since."""
    begins = ((1_000, "2 1 range A=0-2"), (5_000, "2 2 -"))
    assert [row["kind"] for row in audited(*begins)["findings"]] == ["dead_group"]
    assert audited(*begins, (9_000, GENERATION))["findings"] == []


def test_members_without_a_record_of_the_epoch() -> None:
    """Compaction removed the epochs in between: 0 would be a guess, and Stable as well."""
    rows = audited((1_000, "5 A; 5 B"), (9_000, "3 7; 6 7; 8 A 7/6; 8 B 7/6"))
    assert states(rows) == [
        (0, "Unknown", "consumer", 2, "gap"),
        (5, "Stable", "consumer", 2, "gap"),
    ]
    assert [row["epoch"] for row in rows["group_states"]] == [None, 7]


def test_a_group_that_begins_at_epoch_1_without_a_record() -> None:
    """Since Kafka 4.3, where its first member subscribes to nothing yet: the member's own epoch shows it."""
    rows = audited((1_000, "5 A; 8 A 1/0 STABLE -"))
    assert [(row["group_state"], row["epoch"]) for row in rows["group_states"]] == [("Stable", 1)]
    assert states(rows)[-1][-1] == "complete"
