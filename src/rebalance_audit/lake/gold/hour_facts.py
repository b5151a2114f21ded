"""Facts of hours: what rows of gold tables say of each hour that they touch, from Arrow's columns.

A row touches the hours from its beginning to its end. Facts of one hour of a group, however many, add up to one row of
gold.group_hours: see `hour_rows`. That needs no order, so whoever has some of them adds these up first.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.audit.rows import EPOCHS, GROUP_STATES, OWNERSHIP, REBALANCES
from rebalance_audit.lake.gold.hour_codes import (
    HOUR_MS,
    KEY,
    ArrowRows,
    Integers,
    key_of_hours,
    moments_of_hours,
    spread,
)
from rebalance_audit.moments import MICROS_PER_MILLI
from rebalance_audit.tables.arrow_types import schema_of_columns, table_with

HOURS_MAX: Final = 9_000
"""A year and some days: a clock that is wrong by a thousand years must not make a million rows."""
ADDED: Final = (
    "rebalances",
    "epochs",
    "partitions_moved",
    "members_joined",
    "members_left",
    "not_stable_min_ms",
    "not_stable_estimate_ms",
    "not_stable_max_ms",
    "unowned_partition_min_ms",
    "unowned_partition_estimate_ms",
    "unowned_partition_max_ms",
)
"""The columns of facts whose sum an hour has."""
SAID: Final = ("not_stable_unbounded", "unowned_unbounded", "has_gap", "makes_row", "is_wanted")
"""Those that are true of an hour if any of its facts says so: that nothing bounds a time, that records may be missing.

An hour has a row if a fact makes one: a state of the group alone does not.
"""
OF_STATES: Final = {"protocol": "string", "incarnation": "int", "from_offset": "bigint"}
"""Of the latest state: the protocol, and by which it is the latest."""
OF_COMMITS: Final = {
    "commits": "bigint",
    "commit_gaps": "int",
    "commit_gap_ms_max": "bigint",
    "last_commit_at": "timestamp",
}
"""The columns that offset commits fill, and their types."""
FACTS: Final[Mapping[str, str]] = {
    "group_id": "string",
    "hour": "timestamp",
    # The last one: of a state that lasts, which is so in all hours between these two, and says nothing of others.
    "until": "timestamp",
    # The epochs that are counted have it.
    "primary_cause": "string",
    **dict.fromkeys(ADDED, "bigint"),
    **dict.fromkeys(SAID, "boolean"),
    "convergence_ms_max": "bigint",
    "members_max": "int",
    **OF_STATES,
    **OF_COMMITS,
}
"""The columns of facts, and their types; each fact has some of them."""
LOOKED_AT: Final[Mapping[str, tuple[str, ...]]] = {
    EPOCHS: (
        "group_id",
        "protocol",
        "started_at",
        "converged_at",
        "partitions_moved",
        "members_joined",
        "members_left",
        "convergence_ms",
        "primary_cause",
        "unowned_partition_ms",
        "unowned_partition_min_ms",
        "unowned_partition_max_ms",
        "unowned_partition_estimate_ms",
        "completeness",
    ),
    REBALANCES: (
        "group_id",
        "protocol",
        "started_at",
        "started_at_earliest",
        "ended_at",
        "duration_min_ms",
        "duration_max_ms",
        "duration_estimate_ms",
        "unowned_partition_max_ms",
        "completeness",
    ),
    OWNERSHIP: ("group_id", "topic_id", "from_at", "unowned_before_ms"),
    GROUP_STATES: (
        "group_id",
        "incarnation",
        "from_offset",
        "protocol",
        "from_at",
        "to_at",
        "members",
    ),
}
"""The outputs whose rows are looked at, and their columns."""
NOTHING: Final = np.iinfo(np.int64).min
"""Stands for null."""


@dataclass(frozen=True, slots=True)
class FactsOf:
    """Makes the facts of rows; it is sent to tasks."""

    log_end_ms: int | None
    """Until then lasts what has not ended; epoch milliseconds."""
    first_hour: int | None = None
    last_hour: int | None = None
    """Hours since 1970 between which facts are wanted; None for all."""

    def facts(self, output: str, rows: ArrowRows) -> pa.Table:
        """Of rows of an output, with the columns LOOKED_AT at least: all that they say of an hour, added up."""
        return added_up(_MAKERS[output](self, rows))

    def within(self, first: Integers, last: Integers) -> tuple[Integers, Integers]:
        """The part of stretches of hours in which facts are wanted; of one without any the last comes first."""
        if self.first_hour is not None:
            first = np.maximum(first, self.first_hour)
        if self.last_hour is not None:
            last = np.minimum(last, self.last_hour)
        return first, last


def hours_touched(output: str, rows: ArrowRows) -> pa.Table:
    """KEY of each hour to which a row of an output belongs: if the row changes, these are made again."""
    first, last = _FOOTPRINTS[output](rows)
    there = (first != NOTHING) & (last != NOTHING)
    number, hours = spread(first, last, there)
    return key_of_hours(rows["group_id"], number, hours)


def hours_of_open(rebalances: ArrowRows, since_ms: int | None, log_end_ms: int | None) -> pa.Table:
    """KEY for rebalances that have not ended: all hours from the log's earlier end to its present end."""
    began = _millis(rebalances, "started_at")
    going_on = ~_is_there(rebalances, "ended_at") & (began != NOTHING)
    since = np.maximum(began, NOTHING if since_ms is None else since_ms)
    end = np.maximum(since, NOTHING if log_end_ms is None else log_end_ms)
    first, last = _capped(hour_number(since), hour_number(end))
    number, hours = spread(first, last, going_on)
    return key_of_hours(rebalances["group_id"], number, hours)


def added_up(facts: pa.Table, keys: Iterable[str] = (*KEY, "until", "primary_cause")) -> pa.Table:
    """One fact for each key, that says what they say together."""
    # So that the last state is the latest one. Of causes the first counts, in whatever order they came.
    order = [(name, "ascending") for name in ("incarnation", "from_offset")]
    ordered = facts.take(pc.sort_indices(facts, sort_keys=order)) if len(facts) > 1 else facts
    keys = [*keys]
    how = {
        **dict.fromkeys(FACTS, "max"),
        "primary_cause": "first",
        **dict.fromkeys(ADDED, "sum"),
        **dict.fromkeys(SAID, "any"),
        **dict.fromkeys(OF_STATES, "last"),
    }
    values = [(name, how[name]) for name in FACTS if name not in keys]
    groups = ordered.group_by(keys, use_threads=False).aggregate(values)
    names = [f"{name}_{how[name]}" for name, _ in values]
    made = pa.table([groups[name] for name in [*keys, *names]], [*keys, *(n for n, _ in values)])
    return made.select([*FACTS]).cast(SCHEMA)


def facts_with(count: int, **columns: Any) -> pa.Table:
    """So many facts with these columns, as `table_with`; numbers of numpy that are NOTHING are null."""
    return table_with(SCHEMA, count, {name: _column(value) for name, value in columns.items()})


def hour_number(ms: Integers) -> Integers:
    """The hour in which a moment lies, in hours since 1970."""
    return np.where(ms == NOTHING, NOTHING, ms // HOUR_MS)


SCHEMA: Final = schema_of_columns(FACTS)


def _of_epochs(to: FactsOf, rows: ArrowRows) -> pa.Table:
    began = _began(rows)
    first, last = to.within(hour_number(began), hour_number(began))
    rows = rows.filter(pa.array((began != NOTHING) & (first <= last)))
    hours = hour_number(_began(rows))
    # Records of classic generations tell nothing about single partitions; their bounds count where the epoch does.
    is_classic = pc.equal(rows["protocol"], "classic")
    least = pc.coalesce(rows["unowned_partition_min_ms"], rows["unowned_partition_ms"], 0)
    most = rows["unowned_partition_max_ms"]
    bounds = {
        "unowned_partition_min_ms": least,
        "unowned_partition_estimate_ms": pc.coalesce(rows["unowned_partition_estimate_ms"], least),
        "unowned_partition_max_ms": most,
    }
    nothing = pa.scalar(None, pa.int64())
    return facts_with(
        rows.num_rows,
        group_id=rows["group_id"],
        hour=moments_of_hours(hours),
        primary_cause=rows["primary_cause"],
        epochs=1,
        partitions_moved=rows["partitions_moved"],
        members_joined=rows["members_joined"],
        members_left=rows["members_left"],
        convergence_ms_max=rows["convergence_ms"],
        **{name: pc.if_else(is_classic, value, nothing) for name, value in bounds.items()},
        unowned_unbounded=most.is_null(),
        has_gap=pc.equal(rows["completeness"], "gap"),
        makes_row=True,
    )


def _of_rebalances(to: FactsOf, rows: ArrowRows) -> pa.Table:
    began = _millis(rows, "started_at")
    ended = np.maximum(began, _or(_millis(rows, "ended_at"), to.log_end_ms))
    earliest = _began_at_the_earliest(rows)
    first, last = to.within(*_capped(hour_number(earliest), hour_number(ended)))
    there = (began != NOTHING) & (first <= last)
    at, hours = spread(first, last, there)
    estimated = _or(_back(_millis(rows, "ended_at"), _numbers(rows, "duration_estimate_ms")), began)
    known = ended - began
    # A cooperative rebalance may have been stable between its two halves.
    spare = known - np.minimum(known, _or(_numbers(rows, "duration_min_ms"), known))
    is_classic = _is(rows, "protocol", "classic")
    bounded = (
        ~is_classic | _is_there(rows, "duration_max_ms") | _is_there(rows, "started_at_earliest")
    )
    least = np.maximum(0, _share(began[at], ended[at], hours) - spare[at])
    return facts_with(
        len(at),
        group_id=rows["group_id"].take(pa.array(at)),
        hour=moments_of_hours(hours),
        rebalances=(hour_number(began[at]) == hours).astype(np.int64),
        not_stable_min_ms=least,
        not_stable_estimate_ms=np.maximum(least, _share(estimated[at], ended[at], hours)),
        not_stable_max_ms=_share(earliest[at], ended[at], hours),
        not_stable_unbounded=~bounded[at],
        unowned_unbounded=~_is_there(rows, "unowned_partition_max_ms")[at],
        has_gap=_is(rows, "completeness", "gap")[at],
        makes_row=True,
    )


def _of_ownership(to: FactsOf, rows: ArrowRows) -> pa.Table:
    """Where every step is a record; stretches of classic groups have no topic id."""
    began, ended = _unowned(rows)
    first, last = to.within(*_capped(hour_number(began), hour_number(ended)))
    there = (began != NOTHING) & _is_there(rows, "topic_id") & (first <= last)
    at, hours = spread(first, last, there)
    exactly = _share(began[at], ended[at], hours)
    return facts_with(
        len(at),
        group_id=rows["group_id"].take(pa.array(at)),
        hour=moments_of_hours(hours),
        unowned_partition_min_ms=exactly,
        unowned_partition_estimate_ms=exactly,
        unowned_partition_max_ms=exactly,
        makes_row=True,
    )


def _of_states(to: FactsOf, rows: ArrowRows) -> pa.Table:
    """Of the hours in which each begins and ends, and of those between them together."""
    began = _millis(rows, "from_at")
    ended = np.maximum(began, _or(_millis(rows, "to_at"), to.log_end_ms))
    first, last = to.within(hour_number(began), hour_number(ended))
    there = np.flatnonzero((began != NOTHING) & (first <= last))
    first, last = first[there], last[there]
    lasts, goes_on = np.flatnonzero(last > first), np.flatnonzero(last > first + 1)
    at = np.concatenate([np.arange(len(there)), lasts, goes_on])
    hours = np.concatenate([first, last[lasts], first[goes_on] + 1])
    until = np.concatenate([np.full(len(there) + len(lasts), NOTHING), last[goes_on] - 1])
    until_micros = np.where(until == NOTHING, NOTHING, until * HOUR_MS * MICROS_PER_MILLI)
    found = rows.take(pa.array(there[at]))
    return facts_with(
        len(at),
        group_id=found["group_id"],
        hour=moments_of_hours(hours),
        until=until_micros,
        protocol=found["protocol"],
        members_max=found["members"],
        incarnation=found["incarnation"],
        from_offset=found["from_offset"],
    )


def _footprint_of_epochs(rows: ArrowRows) -> tuple[Integers, Integers]:
    hours = hour_number(_began(rows))
    return hours, hours


def _footprint_of_rebalances(rows: ArrowRows) -> tuple[Integers, Integers]:
    began = _millis(rows, "started_at")
    ended = _or(_millis(rows, "ended_at"), began)
    earliest = np.where(began == NOTHING, NOTHING, _began_at_the_earliest(rows))
    return _capped(hour_number(earliest), hour_number(ended))


def _footprint_of_ownership(rows: ArrowRows) -> tuple[Integers, Integers]:
    began, ended = _unowned(rows)
    return _capped(hour_number(began), hour_number(ended))


def _footprint_of_states(rows: ArrowRows) -> tuple[Integers, Integers]:
    hours = hour_number(_millis(rows, "from_at"))
    return hours, hours


_MAKERS: Final[Mapping[str, Callable[[FactsOf, ArrowRows], pa.Table]]] = {
    EPOCHS: _of_epochs,
    REBALANCES: _of_rebalances,
    OWNERSHIP: _of_ownership,
    GROUP_STATES: _of_states,
}
_FOOTPRINTS: Final[Mapping[str, Callable[[ArrowRows], tuple[Integers, Integers]]]] = {
    EPOCHS: _footprint_of_epochs,
    REBALANCES: _footprint_of_rebalances,
    OWNERSHIP: _footprint_of_ownership,
    GROUP_STATES: _footprint_of_states,
}


def _began(rows: ArrowRows) -> Integers:
    return _or(_millis(rows, "started_at"), _millis(rows, "converged_at"))


def _began_at_the_earliest(rows: ArrowRows) -> Integers:
    """When a rebalance can have begun; where nothing tells, when it is known to have been going on."""
    began = _millis(rows, "started_at")
    by_bound = _back(_millis(rows, "ended_at"), _numbers(rows, "duration_max_ms"))
    return np.minimum(began, _or(_or(by_bound, _millis(rows, "started_at_earliest")), began))


def _unowned(rows: ArrowRows) -> tuple[Integers, Integers]:
    """From when to when nobody owned the partition; NOTHING where somebody did."""
    gap, ended = _numbers(rows, "unowned_before_ms"), _millis(rows, "from_at")
    is_gap = (gap > 0) & (ended != NOTHING)
    return np.where(is_gap, ended - gap, NOTHING), np.where(is_gap, ended, NOTHING)


def _capped(first: Integers, last: Integers) -> tuple[Integers, Integers]:
    """All hours that a stretch of time touches; of an absurdly long one the first HOURS_MAX."""
    return first, np.where(first == NOTHING, last, np.minimum(last, first + HOURS_MAX))


def _share(began: Integers, ended: Integers, hours: Integers) -> Integers:
    """Milliseconds of the hours that lie within [began, ended)."""
    start = hours * HOUR_MS
    within: Integers = np.minimum(ended, start + HOUR_MS) - np.maximum(began, start)
    return np.maximum(0, within)


def _back(ms: Integers, by_ms: Integers) -> Integers:
    return np.where((ms == NOTHING) | (by_ms == NOTHING), NOTHING, ms - by_ms)


def _or(numbers: Integers, others: Integers | int | None) -> Integers:
    """The others where there is nothing."""
    return numbers if others is None else np.where(numbers == NOTHING, others, numbers)


def _millis(rows: ArrowRows, name: str) -> Integers:
    """Moments in epoch milliseconds."""
    micros = _numbers(rows, name)
    return np.where(micros == NOTHING, NOTHING, micros // MICROS_PER_MILLI)


def _numbers(rows: ArrowRows, name: str) -> Integers:
    """A column as numbers, NOTHING for null; moments in microseconds."""
    return np.asarray(pc.fill_null(rows[name].cast(pa.int64()), NOTHING).to_numpy())


def _is_there(rows: ArrowRows, name: str) -> npt.NDArray[np.bool_]:
    return np.asarray(rows[name].is_valid())


def _is(rows: ArrowRows, name: str, value: str) -> npt.NDArray[np.bool_]:
    return np.asarray(pc.fill_null(pc.equal(rows[name], value), False))


def _column(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return pa.array(value, mask=value == NOTHING if value.dtype == np.int64 else None)
