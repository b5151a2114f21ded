"""Rows of gold.group_hours out of facts of hours, see `hour_facts`."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.lake.gold.hour_codes import (
    HOUR_MS,
    KEY,
    HourCodes,
    moments_of_hours,
    spread,
)
from rebalance_audit.lake.gold.hour_facts import (
    ADDED,
    FACTS,
    OF_COMMITS,
    SCHEMA,
    added_up,
)
from rebalance_audit.lake.gold.whole_groups import whole_groups
from rebalance_audit.tables.arrow_types import arrow_schema
from rebalance_audit.tables.schemas import TableName, table_schemas

HELD_FACTS: Final = 100_000
"""So many of one group are added up before more are held."""
COLUMNS: Final = {
    column.name: column.type
    for column in table_schemas()[TableName.GROUP_HOURS].columns
    if column.name != "cluster"
}
"""The columns of the rows, and their types."""
_ROWS: Final = pa.schema(
    [
        field
        for field in arrow_schema(table_schemas()[TableName.GROUP_HOURS])
        if field.name in COLUMNS
    ]
)


def hours_of_facts(
    batches: Iterable[pa.RecordBatch], *, has_commits: bool, of_wanted: bool
) -> Iterator[pa.RecordBatch]:
    """Rows from batches of facts in which each group's facts follow each other; see `hours_made_of`."""
    for facts in whole_groups(batches, added_up, HELD_FACTS):
        rows = hours_made_of(facts, has_commits=has_commits, of_wanted=of_wanted)
        yield from rows.to_batches()


def hours_made_of(facts: pa.Table, *, has_commits: bool, of_wanted: bool) -> pa.Table:
    """A row with COLUMNS for each hour, or each wanted one, of which a fact makes one; of all facts of its group.

    Without `has_commits` the columns of commits are null, else zero in an hour without any.
    """
    facts = added_up(facts)
    lasts = facts["until"].is_valid()
    of_hours, of_stretches = facts.filter(pc.invert(lasts)), facts.filter(lasts)
    groups = HourCodes.of_rows(facts)
    codes = groups.codes(of_hours)
    made = np.unique(codes[_says(of_hours, "makes_row")])
    if of_wanted:
        made = np.intersect1d(made, codes[_says(of_hours, "is_wanted")])
    of_hours = of_hours.filter(pa.array(np.isin(codes, made)))
    # What lasts is said of the hours that have a row.
    first = np.searchsorted(made, groups.codes(of_stretches))
    end = np.searchsorted(made, groups.codes(of_stretches, "until"), "right")
    place, index = spread(first, end - 1)
    hours = groups.hours(made[index])
    said = of_stretches.take(pa.array(place))
    said = said.set_column(said.schema.get_field_index("hour"), "hour", moments_of_hours(hours))
    said = said.set_column(
        said.schema.get_field_index("until"),
        "until",
        pa.nulls(len(said), SCHEMA.field("until").type),
    )
    by_cause = added_up(pa.concat_tables([of_hours, said]))
    # The most frequent cause; among equally frequent ones the first in the alphabet. States have none.
    order = [("epochs", "descending"), ("primary_cause", "ascending")]
    ranked = by_cause.take(pc.sort_indices(by_cause, sort_keys=order))
    return _rows(added_up(ranked, KEY), has_commits=has_commits)


def _rows(hours: pa.Table, *, has_commits: bool) -> pa.Table:
    """Of the facts of whole hours."""
    columns = {name: hours[name] for name in FACTS if name in COLUMNS}
    columns |= {name: pc.fill_null(hours[name], 0) for name in ADDED}
    # Rebalances do not overlap, but their bounds may.
    for name in ("not_stable_min_ms", "not_stable_estimate_ms", "not_stable_max_ms"):
        columns[name] = pc.min_element_wise(columns[name], HOUR_MS)
    nothing = pa.scalar(None, pa.int64())
    for name, unbounded in (
        ("not_stable_max_ms", "not_stable_unbounded"),
        ("unowned_partition_max_ms", "unowned_unbounded"),
    ):
        is_unbounded = pc.fill_null(hours[unbounded], False)
        columns[name] = pc.if_else(is_unbounded, nothing, columns[name])
    least, most = columns["unowned_partition_min_ms"], columns["unowned_partition_max_ms"]
    is_exact = pc.fill_null(pc.equal(least, most), False)
    columns |= {
        # A group that only commits has no record of its protocol; simple consumers use the classic one.
        "protocol": pc.fill_null(hours["protocol"], "classic"),
        "not_stable_ms": columns["not_stable_min_ms"],
        "unowned_partition_ms": pc.if_else(is_exact, least, nothing),
        "completeness": pc.if_else(pc.fill_null(hours["has_gap"], False), "gap", "complete"),
    }
    for name in OF_COMMITS:
        if not has_commits:
            columns[name] = pa.nulls(len(hours), SCHEMA.field(name).type)
        elif name in ("commits", "commit_gaps"):
            columns[name] = pc.fill_null(hours[name], 0)
    return pa.table([columns[name] for name in COLUMNS], names=[*COLUMNS]).cast(_ROWS)


def _says(facts: pa.Table, name: str) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    return np.asarray(pc.fill_null(facts[name], False))
