"""gold.group_hours in an increment, made by one task from the files of the tables that it is made of.

Spark does the same in `runs.hours_increment`, by queries whose planning takes longer than the work: this is for tables
of few bytes, on a disk that the task sees, and for new commits that follow all known ones.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from rebalance_audit.lake.gold.commit_seconds import seconds_in
from rebalance_audit.lake.gold.commit_stretches import (
    CONTINUED,
    HOURS,
    SILENCE_DAYS,
    continued,
    hours_of_seconds,
    seconds_in_order,
)
from rebalance_audit.lake.gold.hour_codes import (
    HOUR_MS,
    KEY,
    HourCodes,
    Integers,
    moments_of_hours,
)
from rebalance_audit.lake.gold.hour_facts import (
    FACTS,
    LOOKED_AT,
    OF_COMMITS,
    SCHEMA,
    FactsOf,
    facts_of_commits,
    facts_with,
)
from rebalance_audit.lake.gold.hour_rows import hours_made_of
from rebalance_audit.lake.storage.table_files import CLUSTER, TableFiles
from rebalance_audit.lake.storage.table_patch import PatchableTable, PatchedTable, TablePatch
from rebalance_audit.tables.arrow_types import schema_of_columns

SILENCE_HOURS: Final = 24 * SILENCE_DAYS
HOURS_OF_A_TASK: Final = 20_000
"""For more of them Spark shares the work out."""
_KEYS: Final = pa.schema([SCHEMA.field(name) for name in KEY])
_KNOWN: Final = (*KEY, *OF_COMMITS)


class HoursMade(NamedTuple):
    """What the task told."""

    patched: PatchedTable | None
    """What it did to the table; None for nothing, since there are too many hours or since it lacks commits."""
    lacks_commits: bool
    """Whether known commits must be read again."""

    @classmethod
    def from_told(cls, told: str) -> "HoursMade":
        """From JSON."""
        patched, lacks_commits = json.loads(told)
        return cls(None if patched is None else PatchedTable.from_told(patched), lacks_commits)


@dataclass(frozen=True, slots=True)
class HoursPatch:
    """Makes the hours; it is sent to the task."""

    table: PatchableTable
    sources: Mapping[str, PatchableTable]
    """The tables of the outputs LOOKED_AT, as they are with what is new."""
    cluster: str
    news: TableFiles | None
    """Files of silver.offset_commits with the new commits, which follow all known ones; None for none."""
    from_ms: int | None
    """A moment before which none of these lies, epoch milliseconds; None if none has a time."""
    log_end_ms: int | None
    commits: TableFiles | None = None
    """The files with all commits from the hour of `from_ms` on; None where nobody has asked for them."""

    def made_of(self, changed: DataFrame) -> HoursMade | None:
        """Let the task do it; None if there was none.

        `changed` has KEY of hours to which rows belong that changed in other gold tables, null in rows for none.
        """
        told = changed.select(*KEY).coalesce(1).mapInArrow(self.tell, "told string").collect()
        return HoursMade.from_told(told[0][0]) if told else None

    def tell(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The task: one row with the column `told`, HoursMade as JSON. Raises OSError and DataFileNotReadable."""
        changed = pa.Table.from_batches(
            [batch.filter(batch["hour"].is_valid()).cast(_KEYS) for batch in batches], _KEYS
        )
        told = json.dumps(_Hours(self, changed).made())
        yield pa.RecordBatch.from_arrays([pa.array([told])], names=["told"])

    @property
    def from_hour(self) -> int | None:
        """That of `from_ms`, in hours since 1970."""
        return None if self.from_ms is None else self.from_ms // HOUR_MS


class _Hours:
    """Those of one increment."""

    def __init__(self, given: HoursPatch, changed: pa.Table) -> None:
        self._given = given
        self._seconds = seconds_in(given.news)
        self._codes = HourCodes.of_rows(changed, self._seconds)
        self._changed = np.unique(self._codes.codes(changed))
        self._known = self._read_known()

    def made(self) -> HoursMade:
        """Write what differs."""
        news = self._continued()
        again = np.asarray(news["again"], bool)
        codes = self._codes.codes(news)
        of_again = np.unique(codes[again])
        if len(of_again):
            if self._given.commits is None:
                return HoursMade(None, lacks_commits=True)
            of_again = np.union1d(of_again, self._following(of_again))
        wanted = np.union1d(np.union1d(self._changed, codes), of_again)
        if len(wanted) > HOURS_OF_A_TASK:
            return HoursMade(None, lacks_commits=False)
        if not len(wanted):
            return HoursMade(PatchedTable(), lacks_commits=False)
        # Hours without new commits have what is known of them.
        as_known = np.setdiff1d(wanted, np.union1d(codes, of_again))
        there = np.isin(self._codes.codes(self._known), as_known)
        of_commits = [
            news.filter(pa.array(~again)).select(_KNOWN),
            self._known.filter(pa.array(there)),
            *([self._made_again(of_again)] if len(of_again) else []),
        ]
        rows = hours_made_of(
            pa.concat_tables([*self._facts(wanted), *map(facts_of_commits, of_commits)]),
            has_commits=True,
            of_wanted=True,
        )
        patch = TablePatch(self._given.table, {CLUSTER: self._given.cluster})
        for part in rows.to_batches():
            patch.put(part)
        for part in self._codes.keys(wanted).to_batches():
            patch.drop(part)
        return HoursMade(patch.close()[0], lacks_commits=False)

    def _read_known(self) -> pa.Table:
        """Of gold.group_hours those hours of the groups, with commits, that are wanted or shortly before new ones."""
        least = [int(hour) for hour in self._codes.hours(self._changed)]
        if self._given.from_hour is not None:
            least.append(self._given.from_hour - SILENCE_HOURS)
        if not least:
            return _table(_KNOWN, ())
        low = moments_of_hours(np.array([min(least)]))[0]
        batches = self._given.table.of_cluster(self._given.cluster).rows(_KNOWN)
        return _table(
            _KNOWN,
            (
                batch.filter(
                    pc.and_(
                        pc.and_(
                            pc.greater_equal(batch["hour"], low), pc.greater(batch["commits"], 0)
                        ),
                        self._codes.has_groups_of(batch),
                    )
                )
                for batch in batches
            ),
        )

    def _continued(self) -> pa.Table:
        """The hours of the new commits, see CONTINUED."""
        if self._given.from_hour is None:
            return _table(CONTINUED, ())
        recent = self._known_from(self._given.from_hour - SILENCE_HOURS)
        return _table(CONTINUED, continued(seconds_in_order(self._seconds, recent)))

    def _following(self, codes: Integers) -> Integers:
        """The group's next hour with commits: its first stretch begins in one of these hours."""
        known = np.unique(self._codes.codes(self._known))
        place = np.searchsorted(known, codes, "right")
        following = known[place[place < len(known)]]
        near = following - codes[place < len(known)] <= SILENCE_HOURS
        return following[near]

    def _made_again(self, codes: Integers) -> pa.Table:
        """What these hours have of commits, from all of their commits."""
        seconds = seconds_in(self._given.commits)
        seconds = seconds.filter(self._codes.has_groups_of(seconds))
        seconds = seconds.filter(pa.array(np.isin(self._codes.codes(seconds), codes)))
        before = self._known_from(int(self._codes.hours(codes).min()) - SILENCE_HOURS)
        before = before.filter(pa.array(~np.isin(self._codes.codes(before), codes)))
        return _table(HOURS, hours_of_seconds(seconds_in_order(seconds, before))).select(_KNOWN)

    def _known_from(self, hour: int) -> pa.Table:
        return self._known.filter(
            pa.array(self._codes.hours(self._codes.codes(self._known)) >= hour)
        )

    def _facts(self, wanted: Integers) -> Iterator[pa.Table]:
        """Of the wanted hours, and that they are wanted."""
        hours = self._codes.hours(wanted)
        make = FactsOf(self._given.log_end_ms, int(hours.min()), int(hours.max()))
        for output, table in self._given.sources.items():
            for batch in table.of_cluster(self._given.cluster).rows(LOOKED_AT[output]):
                yield make.facts(output, batch.filter(self._codes.has_groups_of(batch)))
        keys = self._codes.keys(wanted)
        yield facts_with(len(keys), **{name: keys[name] for name in KEY}, is_wanted=True)


def _table(columns: Iterable[str], batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Of columns of FACTS or HOURS."""
    types: Mapping[str, Any] = {**FACTS, **HOURS}
    return pa.Table.from_batches(
        [*batches], schema_of_columns({name: types[name] for name in columns})
    )
