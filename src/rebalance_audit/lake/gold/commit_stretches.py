"""Hours of commits out of seconds of commits: how many, and how long a group was silent in between.

A *stretch* is the time from the last commit of a second to the first commit of the next second that has any, over the
whole group; it counts in the hour in which it ends. It is a gap if it lasts more than LONG_STRETCH_MS and more than
LONG_STRETCHES times the median of the stretches that end in the same hour. A silence of more than SILENCE_DAYS, Kafka's
default retention of offsets, is not a stretch: the group begins anew.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.lake.gold.hour_codes import KEY, Integers
from rebalance_audit.lake.gold.hour_facts import OF_COMMITS
from rebalance_audit.lake.gold.whole_groups import whole_groups
from rebalance_audit.tables.arrow_types import schema_of_columns

LONG_STRETCH_MS: Final = 60_000
LONG_STRETCHES: Final = 10
SILENCE_DAYS: Final = 7
SILENCE_MS: Final = SILENCE_DAYS * 86_400_000
SECONDS: Final = {
    "group_id": "string",
    "hour": "timestamp",
    "second": "timestamp",
    "commits": "bigint",
    "first_at": "timestamp",
    "last_at": "timestamp",
    "commits_before": "bigint",
    "longest_before": "bigint",
}
"""What is given, and the types.

A second of a group has a row or several, `first_at` and `last_at` are its first and last commit. A row of
gold.group_hours that is known is the second of its last commit, without new `commits` and `first_at`, but with the
commits of that hour, and its longest stretch, before.
"""
HOURS: Final = {
    "group_id": "string",
    "hour": "timestamp",
    **OF_COMMITS,
    "again": "boolean",
    "commits_before": "bigint",
    "longest_before": "bigint",
}
"""What comes out for each hour with new commits.

`again`: the hour has to be made from all of its commits, since new ones of the group are earlier than known ones, or an
hour of it that had begun has a stretch that may be a gap. The last two are null for an hour that had not begun.
"""
CONTINUED: Final = {name: HOURS[name] for name in (*KEY, *OF_COMMITS, "again")}
"""What comes out for each of these hours with what was known of it. If it is made `again`, the values say nothing."""
NEVER: Final = np.iinfo(np.int64).min


def hours_of_seconds(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Hours with the columns HOURS from seconds with the columns SECONDS.

    Each group's rows follow each other, in order of their seconds, known ones first. One group is in memory, and one
    batch.
    """
    for rows in whole_groups(batches):
        yield _hours(rows)


def continued(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same, each hour as it is with what was known of it: with the columns CONTINUED."""
    for hours in hours_of_seconds(batches):
        had_begun = hours["commits_before"].is_valid()
        columns = {
            **{name: hours[name] for name in CONTINUED},
            "commits": pc.add(hours["commits"], pc.fill_null(hours["commits_before"], 0)),
            # An hour that goes on and may have a gap is made again.
            "commit_gaps": pc.if_else(had_begun, 0, hours["commit_gaps"]),
            "commit_gap_ms_max": pc.max_element_wise(
                hours["commit_gap_ms_max"], hours["longest_before"]
            ),
        }
        schema = schema_of_columns(CONTINUED)
        arrays = [columns[field.name].cast(field.type) for field in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _hours(rows: pa.Table) -> pa.RecordBatch:
    """Of some groups with all their rows."""
    names = rows["group_id"].combine_chunks()
    groups = names.dictionary_encode().indices.to_numpy()
    second, hour = _numbers(rows, "second"), _numbers(rows, "hour")
    is_new = _is_there(rows, "commits")
    # Each second once.
    begins = _begins(groups, second, is_new)
    commits = np.add.reduceat(_numbers(rows, "commits"), begins)
    first = np.minimum.reduceat(_numbers(rows, "first_at"), begins) // 1000
    last_us = np.maximum.reduceat(_numbers(rows, "last_at"), begins)
    last = last_us // 1000
    of_row = np.arange(len(names))[begins]
    groups, second, hour, is_new = groups[begins], second[begins], hour[begins], is_new[begins]

    goes_on = np.append(False, (groups[1:] == groups[:-1]) & (second[1:] > second[:-1]))
    stretch = first - np.append(0, last[:-1])
    is_stretch = goes_on & is_new & (stretch <= SILENCE_MS)
    lengths = np.where(is_stretch, stretch, NEVER)

    of_groups = _begins(groups)
    known = np.maximum.reduceat(np.where(is_new, NEVER, last), of_groups)
    sizes = np.diff(np.append(of_groups, len(groups)))
    is_late = is_new & (first < np.repeat(known, sizes))

    of_hours = _begins(groups, hour)
    ends = np.append(of_hours[1:], len(groups))
    longest = np.maximum.reduceat(lengths, of_hours)
    gaps = np.zeros(len(of_hours), np.int32)
    for place in np.flatnonzero(longest > LONG_STRETCH_MS):
        of_hour = slice(of_hours[place], ends[place])
        stretches = stretch[of_hour][is_stretch[of_hour]]
        least = max(LONG_STRETCH_MS, LONG_STRETCHES * float(np.median(stretches)))
        gaps[place] = np.count_nonzero(stretches > least)

    before = {
        name: np.maximum.reduceat(
            np.where(_is_there(rows, name), _numbers(rows, name), NEVER)[of_row], of_hours
        )
        for name in ("commits_before", "longest_before")
    }
    has_new = np.logical_or.reduceat(is_new, of_hours)
    has_begun = before["commits_before"] != NEVER
    may_be_gap = np.maximum(longest, before["longest_before"]) > LONG_STRETCH_MS
    again = has_new & (np.logical_or.reduceat(is_late, of_hours) | (has_begun & may_be_gap))
    of_groups = _begins(groups[of_hours])
    sizes = np.diff(np.append(of_groups, len(of_hours)))
    at = pa.array(of_row[of_hours])
    columns: dict[str, Any] = {
        "group_id": names.take(at),
        "hour": rows["hour"].combine_chunks().take(at),
        "commits": np.add.reduceat(np.where(is_new, commits, 0), of_hours),
        "commit_gaps": gaps,
        "commit_gap_ms_max": _or_null(longest),
        "last_commit_at": pa.array(
            np.maximum.reduceat(last_us, of_hours), pa.timestamp("us", "UTC")
        ),
        "again": np.repeat(np.logical_or.reduceat(again, of_groups), sizes),
        **{name: _or_null(numbers) for name, numbers in before.items()},
    }
    schema = schema_of_columns(HOURS)
    arrays = [pa.array(columns[name]).cast(schema.field(name).type) for name in HOURS]
    return pa.RecordBatch.from_arrays(arrays, schema=schema).filter(pa.array(has_new))


def _numbers(rows: pa.Table, name: str) -> Integers:
    """A column as numbers, 0 for null; moments in microseconds."""
    numbers = rows[name].combine_chunks().cast(pa.int64())
    return np.asarray(pc.fill_null(numbers, 0).to_numpy())


def _is_there(rows: pa.Table, name: str) -> npt.NDArray[np.bool_]:
    return np.asarray(rows[name].is_valid().to_numpy())


def _or_null(numbers: Integers) -> pa.Array:
    return pa.array(numbers, mask=numbers == NEVER)


def _begins(*columns: npt.NDArray[Any]) -> Integers:
    """The rows that differ from the one before in any of the columns, and the first."""
    differs = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(np.append(True, differs))
