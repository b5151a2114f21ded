"""Takes the offset commits out of a stretch of the log and leaves, for each group, what they were in a few numbers.

99 of 100 records are offset commits, so they are not decoded: their keys are compared as bytes. A group's summaries end
where one of its other records follows, for only those can change who owns a partition.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.audit.commits.summary import NO_POSITION, Numbers, position_in
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_PREFIXES, TYPE_BYTES, group_bytes
from rebalance_audit.wire.segments.columns import ColumnChunk

Summaries: TypeAlias = Mapping[bytes, Numbers]
"""Key of the commit records, as it is in the log -> what they were, see CommitSummary."""

_PREFIXES: Final = frozenset(OFFSET_COMMIT_PREFIXES)


class CommitsApart(NamedTuple):
    """A stretch of the log without its offset commits, and what these were."""

    chunk: ColumnChunk
    """All other records; the counts of excluded records are those of the original."""
    commits: list[tuple[int, bytes, Summaries]]
    """(index into `chunk`, group id, summaries): the group's commits before that record; in order of the index."""


def set_apart(chunk: ColumnChunk) -> CommitsApart:
    """Split a stretch of the log. Tombstones and commits without a time are left out: they show no active member."""
    offsets: list[int] = []
    times: list[int] = []
    keys: list[bytes | None] = []
    values: list[bytes | None] = []
    runs = []
    found: list[tuple[int, bytes, Summaries]] = []
    open_of: dict[bytes, list[bytes]] = {}
    seen: dict[bytes, list[int]] = {}
    begin = 0
    for number, run in enumerate(chunk.runs):
        part = slice(begin, begin + run.record_count)
        begin += run.record_count
        mark = len(offsets)
        rows = zip(
            chunk.log_offsets[part],
            chunk.record_timestamps_ms[part],
            chunk.keys[part],
            chunk.values[part],
            strict=True,
        )
        for offset, at_ms, key, value in rows:
            if key is not None and not run.is_control:
                known = seen.get(key)
                if known is not None and value is not None and at_ms >= 0:
                    pause_ms = at_ms - known[1]
                    if pause_ms > known[5]:  # noqa: PLR1730 - a call for each commit costs more
                        known[5] = pause_ms
                    position = position_in(value)
                    if position == known[9] != NO_POSITION:
                        known[10] += 1
                    known[1], known[3], known[6], known[7] = at_ms, offset, pause_ms, number
                    known[4] += 1
                    known[9] = position
                    continue
                if key[:TYPE_BYTES] in _PREFIXES:
                    group = group_bytes(key)
                    if value is not None and at_ms >= 0 and group is not None:
                        position = position_in(value)
                        seen[key] = [
                            *(at_ms, at_ms, offset, offset, 1, 0, 0, number),
                            *(position, position, 0),
                        ]
                        open_of.setdefault(group, []).append(key)
                    continue
                group = group_bytes(key)
                if group in open_of:
                    found.append((len(offsets), group, _taken(seen, open_of.pop(group), chunk)))
            offsets.append(offset)
            times.append(at_ms)
            keys.append(key)
            values.append(value)
        if len(offsets) > mark:
            runs.append(run._replace(record_count=len(offsets) - mark))
    for group, of_group in open_of.items():
        found.append((len(offsets), group, _taken(seen, of_group, chunk)))
    others = chunk._replace(
        log_offsets=offsets, record_timestamps_ms=times, keys=keys, values=values, runs=runs
    )
    return CommitsApart(others, found)


def _taken(seen: dict[bytes, list[int]], keys: list[bytes], chunk: ColumnChunk) -> Summaries:
    summaries: dict[bytes, Numbers] = {}
    for key in keys:
        counted = seen.pop(key)
        first_ms, last_ms, first, last, commits, longest_ms, pause_ms, number = counted[:8]
        run = chunk.runs[number]
        pause = None if commits == 1 else pause_ms
        of_last = run.leader_epoch, run.is_transactional
        times = first_ms, last_ms, first, last, commits, longest_ms, pause
        summaries[key] = (*times, *of_last, counted[8], counted[9], counted[10])
    return summaries
