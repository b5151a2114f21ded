"""Plain values as Arrow columns: moments become timestamps at any depth, and what is no moment becomes null."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from rebalance_audit.moments import MILLIS_MAX, MILLIS_MIN
from rebalance_audit.tables.arrow_types import column_of, in_millis

BEGAN = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS: list[tuple[list[int | None], list[int | None]]] = [
    ([], []),
    ([None], [None]),
    ([0, 1, None], [0, 1, None]),
    ([MILLIS_MAX, 7], [MILLIS_MAX, 7]),
    ([MILLIS_MAX + 1, 7], [None, 7]),
    ([-1, 7], [None, 7]),
    ([-2, MILLIS_MIN, MILLIS_MIN - 1], [-2, MILLIS_MIN, None]),
    ([1 << 80, -(1 << 80), 7], [None, None, 7]),
]
"""Epoch milliseconds, and those of them that a table holds."""


@pytest.mark.parametrize(("given_ms", "held_ms"), MOMENTS)
def test_moments_out_of_range_are_null(
    given_ms: list[int | None], held_ms: list[int | None]
) -> None:
    """The rest of the column stays what it is."""
    column = column_of("timestamp", given_ms)
    assert column.to_pylist() == [*map(_moment, held_ms)]


@pytest.mark.parametrize(("given_ms", "held_ms"), MOMENTS)
def test_moments_inside_of_lists_and_structs(
    given_ms: list[int | None], held_ms: list[int | None]
) -> None:
    """Empty lists, missing lists and missing structs stay distinct."""
    kind = "array<struct<offset: bigint, at: timestamp, fact: string>>"

    def rows(moments: list[Any]) -> list[Any]:
        facts = [{"offset": 3, "at": moment, "fact": "it was"} for moment in moments]
        return [facts, None, [], [None, *facts]]

    assert column_of(kind, rows(given_ms)).to_pylist() == rows([*map(_moment, held_ms)])


def test_moments_of_a_run_lose_their_microseconds() -> None:
    """`meta.runs` says when a run began and ended, to the microsecond; also inside of lists."""
    moment = BEGAN + timedelta(milliseconds=5, microseconds=173)
    kind = pa.timestamp("us", "UTC")
    rows = pa.table({"at": pa.array([moment], kind), "all": pa.array([[moment]], pa.list_(kind))})
    assert in_millis(rows).to_pylist() == [{"at": 5, "all": [5]}]


def _moment(moment_ms: int | None) -> datetime | None:
    return None if moment_ms is None else BEGAN + timedelta(milliseconds=moment_ms)
