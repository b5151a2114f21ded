"""Holds the compiled walk to the readers of `wire.segments`: the same records, commits, damage and counts."""

import functools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from rebalance_audit.audit.commits.collect import CommitsApart, set_apart
from rebalance_audit.audit.commits.summary import CommitSummary, summary_from
from rebalance_audit.local.single_pass_log import stretch_survey
from rebalance_audit.local.survey import NOTHING, Survey, survey_of
from rebalance_audit.scan.scan_buffers import ScanBuffers, Walked
from rebalance_audit.scan.segment_scan import scan
from rebalance_audit.wire.key_bytes import group_bytes
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.topic_names import TopicNames
from tests.scan.same_columns import assert_same_columns
from tests.scan.same_lines import assert_same_lines

Found: TypeAlias = CommitsApart | BadBytes | TailNote
PARTITION = 3


@functools.cache
def room() -> ScanBuffers:
    """One for all tests of a process."""
    return ScanBuffers()


def assert_same(path: Path, end_offset: int | None = None) -> int:
    """Both ways through a segment tell the same; returns how many records the compiled walk took itself."""
    assert_same_columns(path, end_offset)
    assert_same_lines(path, end_offset)
    chunks = list(read_columns(path, end_offset=end_offset))
    scanned = list(scan(room(), path, end_offset=end_offset))
    surveys = [survey_of(PARTITION, [])]
    surveys += [
        stretch_survey(PARTITION, each)
        if isinstance(each, Walked)
        else survey_of(PARTITION, [each])
        for each in scanned
    ]
    assert told(apart(scanned)) == told(apart(chunks))
    assert counts(surveys) == counts([survey_of(PARTITION, chunks)])
    return sum(each.records for each in scanned if isinstance(each, Walked))


def apart(
    found: Iterable[Walked | ColumnChunk | BadBytes | TailNote],
) -> Iterator[Found]:
    """The pieces as the audit takes them."""
    for each in found:
        if isinstance(each, Walked):
            yield each.apart
        else:
            yield set_apart(each) if isinstance(each, ColumnChunk) else each


def told(pieces: Iterable[Found]) -> list[object]:
    """Records, damage, and before each record what its group committed until then; wherever the log was cut."""
    order: list[object] = []
    since: dict[bytes, dict[bytes, CommitSummary]] = {}
    for piece in pieces:
        if not isinstance(piece, CommitsApart):
            order.append(piece)
            continue
        waiting = iter([*piece.commits, None])
        commits = next(waiting)
        for at, row in enumerate([*rows_of(piece.chunk), None]):
            while commits is not None and commits[0] == at:
                _, group, summaries = commits
                known = since.setdefault(group, {})
                for key, numbers in summaries.items():
                    known[key] = known[key].then(numbers) if key in known else summary_from(numbers)
                commits = next(waiting)
            if row is not None and not row[-2]:  # a control record is no record of a group
                key_of_row = row[2]
                assert key_of_row is None or isinstance(key_of_row, bytes)
                committed = since.pop(group_bytes(key_of_row) or b"", None)
                order += [row] if committed is None else [list(committed.items()), row]
    order.append(since)
    return order


def rows_of(chunk: ColumnChunk) -> Iterator[tuple[object, ...]]:
    """Records with the fields of their run; before the last one whether it is a control record."""
    fields = [run[1:] for run in chunk.runs for _ in range(run.record_count)]
    for *row, of_run in zip(
        chunk.log_offsets,
        chunk.record_timestamps_ms,
        chunk.keys,
        chunk.values,
        fields,
        strict=True,
    ):
        yield (*row, *of_run)


def counts(surveys: Iterable[Survey]) -> tuple[object, ...]:
    """What the log holds in all, and the names that it tells."""
    total, names = NOTHING, TopicNames()
    for survey in surveys:
        names.merge(survey.topics)
        total = total.joined(survey)
    told_names = {topic.topic_id: (topic.name, topic.source) for topic in names.values()}
    return (*total, told_names)
