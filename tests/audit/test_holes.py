"""Offsets of a partition without a record: what is known of them, and what the audit does about them."""

import random
from itertools import pairwise

import pytest

from rebalance_audit.audit.holes import RANGES_MAX, Holes, hole, holes_among, holes_of
from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.local.survey import PartitionEnd, partition_end
from tests.dsl import TOPIC_NAMES, log


def test_holes_are_where_no_record_is() -> None:
    """Whatever the pieces in which a log is read; of two offsets only those in between count."""
    chance = random.Random(5)
    for _ in range(200):
        offsets = sorted(chance.sample(range(40), chance.randint(1, 30)))
        whole = partition_end(offsets)
        cut = chance.randint(0, len(offsets))
        pieces: PartitionEnd | None = None
        for part in (offsets[:cut], offsets[cut:]):
            pieces = (partition_end(part) if part else PartitionEnd(0, 0)).after(pieces)
        assert pieces == whole
        missing = set(range(offsets[0], offsets[-1])) - set(offsets)
        for one in range(-1, 41):
            for other in range(one, 42):
                found = whole.holes.between(one, other)
                assert found == any(one < each < other for each in missing)


def test_too_many_holes_become_fewer_that_hide_no_hole() -> None:
    """What lies between two of them counts as one, too: few records, however the log was cut."""
    chance = random.Random(6)
    offsets = [0]
    for _ in range(5 * RANGES_MAX):
        run = int(chance.expovariate(0.05))
        start = offsets[-1] + chance.randint(1, 3)
        offsets += range(start, start + run + 1)
    found = holes_among(offsets)
    assert RANGES_MAX / 4 < len(found.firsts) <= RANGES_MAX
    steps = [(one + 1, other) for one, other in pairwise(offsets) if other > one + 1]
    assert (found.firsts[0], found.ends[-1]) == (steps[0][0], steps[-1][1])
    assert all(found.between(first - 1, end) for first, end in steps)
    for _ in range(20):
        cuts = sorted(chance.sample(range(1, len(offsets)), chance.randint(1, 4)))
        pieces: PartitionEnd | None = None
        for start, end in pairwise([0, *cuts, len(offsets)]):
            pieces = partition_end(offsets[start:end]).after(pieces)
        assert pieces is not None
        assert pieces.holes == found


def test_offsets_that_go_back_fill_no_hole() -> None:
    """As in a damaged log, wherever it is cut: what was passed over counts as missing."""
    chance = random.Random(7)
    for _ in range(300):
        offsets = [chance.randint(0, 30) for _ in range(chance.randint(2, 12))]
        highest, passed_over = offsets[0], []
        for offset in offsets[1:]:
            if offset > highest + 1:
                passed_over.append((highest + 1, offset))
            highest = max(highest, offset)
        cut = chance.randint(1, len(offsets) - 1)
        whole = partition_end(offsets)
        assert whole.holes == holes_of(passed_over)
        assert partition_end(offsets[cut:]).after(partition_end(offsets[:cut])) == whole


def test_what_lies_before_an_offset_and_after_it() -> None:
    """A range that the offset divides is in both."""
    holes = holes_of([(3, 5), (8, 12)])
    assert holes.since(10) == holes_of([(10, 12)])
    assert holes.until(10) == holes_of([(3, 5), (8, 10)])
    assert holes.until(8) == holes.until(5) == holes_of([(3, 5)])
    assert holes.since(5) == holes.since(8) == holes_of([(8, 12)])
    assert (holes.since(12), holes.until(3)) == (Holes(), Holes())


def test_neighbours_have_no_hole() -> None:
    """Nor has a record that comes again."""
    assert hole(5, 5) == hole(5, 3) == holes_among([7]) == holes_among([7, 8, 9]) == Holes()


TWO_MEMBERS = (
    (1000, "5 A; 3 1; 7 A 0-5; 6 1; 8 A 1/0 0-5"),
    (2000, "5 B; 3 2; 7 A 0-2; 7 B 3-5; 6 2; 8 B 2/0 UNRELEASED -"),
    (2500, "8 A 1/1 UNREVOKED 0-2|3-5"),
    (3000, "8 A 2/1 0-2"),
    (3500, "8 B 2/2 3-5"),
    (9000, "5 C; 3 3; 7 A 0-1; 7 C 2; 6 3; 8 C 3/0 UNRELEASED -"),
)
"""Records have offsets 0 to 4, 6 to 11, 13, 15, 17, 19 to 24."""


def audited(*missing: tuple[int, int]) -> dict[str, list[Row]]:
    """Tables of that log, whose partition lacks these offsets."""
    options = AuditOptions(is_whole=lambda _: not missing, holes=lambda _: holes_of(missing))
    return audit_log(log(*TWO_MEMBERS), options)


def held(tables: dict[str, list[Row]], member_id: str, number: int) -> tuple[str, int | None]:
    """Completeness of the member's time with the partition, and time without owner before it."""
    (row,) = (
        row
        for row in tables["ownership"]
        if (row["member_id"], row["topic_partition"]) == (member_id, number)
    )
    return row["completeness"], row["unowned_before_ms"]


def test_a_hole_between_two_writes_of_the_group() -> None:
    """B may have taken the partitions in a record that is missing, however soon it all was."""
    tables = audited((16, 17))
    assert held(tables, "B", 3) == ("gap", None)
    assert held(tables, "A", 0)[0] == "gap"
    assert held(tables, "A", 3)[0] == "complete"
    second = next(row for row in tables["epochs"] if row["epoch"] == 2)
    durations = ("reconcile_ms", "convergence_ms", "unowned_partition_ms", "slowest_member_ms")
    assert [second[each] for each in durations] == [None] * 4
    assert second["assign_ms"] == 0


@pytest.mark.parametrize("missing", [(), ((30, 40),)], ids=["none", "after all of it"])
def test_a_hole_elsewhere_marks_nothing(missing: tuple[tuple[int, int], ...]) -> None:
    """The partition lacks records, but none that this group could have written meanwhile."""
    tables = audited(*missing)
    assert held(tables, "B", 3) == ("complete", 500)
    second = next(row for row in tables["epochs"] if row["epoch"] == 2)
    assert second["convergence_ms"] == 1500


def test_a_hole_behind_the_moment_at_which_all_had_arrived() -> None:
    """How long that took is known; who owns what since then is not."""
    tables = audited((18, 19))
    second = next(row for row in tables["epochs"] if row["epoch"] == 2)
    assert (second["convergence_ms"], second["slowest_member_ms"]) == (1500, 1500)
    assert held(tables, "B", 3) == ("gap", 500)


def taken_by_b(writes: tuple[tuple[int, str], ...], hole_at: int) -> set[tuple[str, int | None]]:
    """Completeness and time without owner of what B took, if this offset is the one without a record."""
    rows = without(writes, hole_at)["ownership"]
    return {
        (row["completeness"], row["unowned_before_ms"]) for row in rows if row["member_id"] == "B"
    }


def test_a_share_member_that_takes_what_another_still_seems_to_have() -> None:
    """Where the other gave it up is in the hole, and so may be a record that gave it to B."""
    writes = (
        (1000, "10 A; 11 1; 13 A 0-1; 12 1; 14 A 1/0 0-1"),
        (2000, "10 B; 11 2; 13 A 0; 13 B 1; 12 2; 14 B 2/0 -"),
        (4000, "14 B 2/2 1"),
    )
    assert taken_by_b(writes, 12) == {("gap", None)}


def test_a_downgrade_behind_a_hole() -> None:
    """Each classic member has its target from then on at the latest; B may have had it before."""
    member = "session=6000 timeout=6000"
    writes = (
        (1000, "5 A; 3 1; 7 A 0-1; 6 1; 8 A 1/0 0-1"),
        (2000, f"5 B {member}; 3 2; 7 A 0; 7 B 1; 6 2; 8 B 2/0 UNRELEASED -"),
        (9000, "8t A; 8t B; 7t A; 7t B; 6t; 5t A; 5t B; 3t; 2 2 range B=1"),
    )
    assert taken_by_b(writes, 12) == {("gap", None)}


def without(writes: tuple[tuple[int, str], ...], *lost: int) -> dict[str, list[Row]]:
    """Tables of a log that lost the records at these offsets."""
    options = AuditOptions(
        topic_name=TOPIC_NAMES.get,
        is_whole=lambda _: not lost,
        holes=lambda _: holes_of((log_offset, log_offset + 1) for log_offset in lost),
    )
    return audit_log([each for each in log(*writes) if each[1].log_offset not in lost], options)


def completeness_and_causes(
    tables: dict[str, list[Row]], epoch: int
) -> tuple[str, set[tuple[str, str]]]:
    """Completeness of an epoch, and its causes with their certainty."""
    (row,) = (row for row in tables["epochs"] if row["epoch"] == epoch)
    causes = (cause for cause in tables["rebalance_causes"] if cause["epoch"] == epoch)
    return row["completeness"], {(cause["cause"], cause["certainty"]) for cause in causes}


GROWN = (
    (1000, "5 A; 3 1; 7 A 0-5; 6 1; 8 A 1/0 0-5"),
    (9000, "5 B; 3 2; 7 A 0-2; 7 B 3-5; 6 2; 8 B 2/0 UNRELEASED -"),
)
"""Records have offsets 0 to 4, 6 to 11: that of B is at 6."""


def test_a_write_whose_first_records_are_missing() -> None:
    """What is left of it looks as if no member had done anything."""
    assert completeness_and_causes(without(GROWN), 2) == ("complete", {("member_joined", "proven")})
    completeness, causes = completeness_and_causes(without(GROWN, 6), 2)
    assert completeness == "gap"
    assert "proven" not in {certainty for _, certainty in causes}


LONELY = (
    (1000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"),
    (2000, "5 B topics=; 8 B 2/0 -"),
    (9000, "8t A; 7t A; 5t A; 3 3 h0"),
)
"""B has no topics, and so no epoch of its own: its records are at 6 and 7."""


def test_a_member_without_topics_may_have_joined_in_a_hole() -> None:
    """So it is unknown whether the last member is gone."""
    assert "group_emptied" not in dict(completeness_and_causes(without(LONELY), 3)[1])
    assert dict(completeness_and_causes(without(LONELY, 6, 7), 3)[1])["group_emptied"] == "probable"


def test_a_member_without_records_for_long_is_not_there() -> None:
    """It would have gone on to the next target."""
    grown = (3000, "3 3; 7 A 0-4; 6 3; 8 A 3/2 0-4")
    gone = (3000 + 1_800_000, "8t A; 7t A; 5t A; 3 4 h0")
    assert (
        dict(completeness_and_causes(without((*LONELY[:2], grown, gone), 6, 7), 4)[1])[
            "group_emptied"
        ]
        == "proven"
    )
