"""Hours of groups as numbers: since 1970, and together with the number of the group."""

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.moments import MICROS_PER_MILLI
from rebalance_audit.tables.arrow_types import MOMENT

KEY: Final = ("group_id", "hour")
HOUR_MS: Final = 3_600_000
_HOUR_MICROS: Final = HOUR_MS * MICROS_PER_MILLI
_GROUP_STEP: Final = 1 << 33
"""More hours than Arrow's timestamps have."""

Integers: TypeAlias = npt.NDArray[np.int64]
ArrowRows: TypeAlias = pa.RecordBatch | pa.Table


class HourCodes:
    """KEY of hours of some groups as one number each, in order of group and hour."""

    def __init__(self, groups: pa.Array) -> None:
        """Of these groups, each of them once."""
        self._groups = groups

    @classmethod
    def of_rows(cls, *tables: pa.Table) -> "HourCodes":
        """For the groups of these rows."""
        together = pa.concat_tables(each.select(["group_id"]) for each in tables)
        return cls(pc.unique(together["group_id"]))

    def has_groups_of(self, rows: ArrowRows) -> pa.Array | pa.ChunkedArray:
        """Which rows are of these groups."""
        return pc.is_in(rows["group_id"], self._groups)

    def codes(self, rows: ArrowRows, name: str = "hour") -> Integers:
        """Of rows of these groups, by a column that is not null."""
        numbers = pc.index_in(rows["group_id"], self._groups).cast(pa.int64()).to_numpy()
        return np.asarray(numbers * _GROUP_STEP + numbers_of_hours(rows[name]) + _GROUP_STEP // 2)

    def keys(self, codes: Integers) -> pa.Table:
        """The reverse."""
        return key_of_hours(self._groups, codes // _GROUP_STEP, self.hours(codes))

    @staticmethod
    def hours(codes: Integers) -> Integers:
        """In hours since 1970."""
        return codes % _GROUP_STEP - _GROUP_STEP // 2


def moments_of_hours(hours: Integers) -> pa.Array:
    """When they begin."""
    return pa.array(hours * _HOUR_MICROS).cast(MOMENT)


def numbers_of_hours(hours: pa.Array | pa.ChunkedArray) -> Integers:
    """The reverse: hours since 1970; none of them is null."""
    return np.asarray(hours.cast(pa.int64()).to_numpy()) // _HOUR_MICROS


def spread(
    first: Integers, last: Integers, there: npt.NDArray[np.bool_] | None = None
) -> tuple[Integers, Integers]:
    """The place of each stretch of hours once for each hour that it has, and that hour; `last` belongs to it.

    Of the stretches that are `there`, by default all.
    """
    if there is not None:
        first, last = np.where(there, first, 0), np.where(there, last, -1)
    counts = np.maximum(last - first + 1, 0)
    places = np.repeat(np.arange(len(counts)), counts)
    steps = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    return places, first[places] + steps


def key_of_hours(groups: pa.Array | pa.ChunkedArray, number: Integers, hours: Integers) -> pa.Table:
    """KEY of hours since 1970, each of the group at a place of `groups`."""
    return pa.table({"group_id": groups.take(pa.array(number)), "hour": moments_of_hours(hours)})
