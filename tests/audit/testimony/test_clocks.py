"""Clocks of brokers' logs: right clocks, wrong time zones, wrong clocks, and logs of other clusters."""

import pytest

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.testimony.clocks import Aligned, Moments, aligned
from tests.audit.broker_log.stories import Line, facts, stabilized
from tests.dsl import log

HOUR_MS = 3_600_000
RECORDS = log(
    (1_010, "2 1 range A=0-5 state_at=1000"),
    (61_010, "2 2 range A=0-2 B=3-5 state_at=61000"),
    (95_010, "2 3 range A=0-5 state_at=95000"),
    (251_010, "2 4 range A=0-5 state_at=251000"),
)
ENDS = [(1_001, 1, 1), (61_003, 2, 2), (95_000, 3, 1), (251_002, 4, 1)]


def shifted(by_ms: int, broker: str = "1") -> list[Line]:
    """The lines of all four generations by a clock that is `by_ms` ahead."""
    return [
        (at_ms + by_ms, stabilized(0, generation, members)[1], broker)
        for at_ms, generation, members in ENDS
    ]


def align(*lines: Line) -> Aligned:
    """The lines by the records' clock."""
    broker_log = BrokerLog.of(facts(*lines))
    moments = Moments(broker_log.by_group.keys())
    for record, position in RECORDS:
        moments.note(record, position)
    return aligned(broker_log, moments)


def times(found: Aligned) -> list[int]:
    """When the lines were logged, by the records' clock."""
    return [fact.at_ms for fact in found.log.all()]


STRAIGHT = [at_ms for at_ms, *_ in ENDS]


@pytest.mark.parametrize(
    ("by_ms", "note", "off_ms"),
    [
        pytest.param(0, None, 0, id="straight"),
        pytest.param(700, None, 700, id="less than a line may be late anyway"),
        pytest.param(2 * HOUR_MS, "2 h ahead of the records", 0, id="another time zone"),
        pytest.param(-5 * HOUR_MS - 1_800_000 + 300, "5.5 h behind the records", 300, id="India"),
        pytest.param(433_000, "7.2 min ahead of the records", 0, id="a wrong clock"),
    ],
)
def test_a_constant_shift_is_found(by_ms: int, note: str | None, off_ms: int) -> None:
    """Zones are set to the quarter of an hour, clocks to the median; the user gets a note."""
    found = align(*shifted(by_ms))
    assert times(found) == pytest.approx([at_ms + off_ms for at_ms in STRAIGHT], abs=3)
    assert (found.notes == []) if note is None else (note in found.notes[0])


def test_each_broker_has_its_own_clock() -> None:
    """One broker's zone is wrong, the other's is right."""
    found = align(*shifted(2 * HOUR_MS, "1"), *shifted(0, "2"))
    assert sorted(times(found)) == sorted(STRAIGHT * 2)
    assert len(found.notes) == 1


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(
            [
                (at_ms + by_ms, *line)
                for by_ms, (at_ms, *line) in zip(
                    (70_000, 900_000, 20_000, 3_000_000), shifted(0), strict=True
                )
            ],
            id="no constant fits",
        ),
        pytest.param(shifted(30 * 24 * HOUR_MS), id="a month off"),
    ],
)
def test_nonsense_is_left_out(lines: list[Line]) -> None:
    """The log of another cluster or time is not used, and the user gets a note."""
    found = align(*lines)
    assert times(found) == []
    assert "was not used: no constant shift of its clock fits" in found.notes[0]


def test_a_few_lines_are_left_as_they_are() -> None:
    """Two lines that fit nowhere prove nothing against a log; by their times they meet no epoch anyway."""
    lines = shifted(2 * HOUR_MS)[:2]
    assert times(align(*lines)) == [lines[0][0], lines[1][0]]


def test_lines_without_records() -> None:
    """If no epoch is in both, there is nothing to compare and nothing to report."""
    found = align((5, "Stabilized group other generation 1 with 1 members."))
    assert found.notes == []
    (note,) = found.log.unmatched_notes({"g"})
    assert "1 line(s) about groups that the records do not have: other." in note
