"""Samples of end offsets in a lake: the tables equal the audit in one process, however samples and records come."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.audit.lag.end_offsets import EndOffsets
from rebalance_audit.errors import BadRequest
from rebalance_audit.lake.runs.context import RunReport
from rebalance_audit.lake.runs.request import GOLD_ONLY, check_request
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.storage.table_place import LakeOptions, WriterKind
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.local.given_files import read_end_offsets
from rebalance_audit.wire.generated.messages import OffsetCommitKey, OffsetCommitValue
from tests.spark.in_process import in_order
from tests.spark.lakes import (
    FINDINGS,
    TABLES,
    difference,
    empty_lake,
    request_of,
    table,
)
from tests.spark.mixed_log import PARTS, write_log
from tests.spark.pieces import Pieces
from tests.support.log_entries import records_of

EVERY_MS = 5_000
SEED = 3
SMALL = [
    part for part in PARTS if (part.name, part.partition) in {("offsets", 1), ("migration", 0)}
]


class Sampled(NamedTuple):
    """A log, a file of samples, and the lake of one run that was given both."""

    log: Path
    samples: Path
    lake: Path


def write_samples(log: Path, file: Path) -> Path:
    """End offsets that grow evenly from the first commit of a partition to beyond the last one, every five seconds."""
    commits: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for record, position in records_of(log):
        if isinstance(record.key, OffsetCommitKey) and isinstance(record.value, OffsetCommitValue):
            at = commits.setdefault((record.key.topic, record.key.partition), [])
            at.append((position.record_timestamp_ms, record.value.offset))
    with file.open("w") as lines:
        for (topic, number), found in sorted(commits.items()):
            begin_ms, end_ms = min(found)[0], max(found)[0]
            most = max(offset for _, offset in found)
            for at_ms in range(begin_ms, end_ms + 600_000, EVERY_MS):
                share = (at_ms - begin_ms) / (end_ms - begin_ms + 1)
                row = {"topic": topic, "topic_partition": number, "sampled_at": at_ms}
                lines.write(json.dumps({**row, "end_offset": 10 + round(share * most)}) + "\n")
    return file


def part_of(samples: EndOffsets, numbers: Iterable[int]) -> EndOffsets:
    """Of every ten samples of a partition those with these numbers."""
    wanted = frozenset(numbers)
    return EndOffsets(
        {
            partition: [each for at, each in enumerate(of.samples) if at % 10 in wanted]
            for partition, of in samples.items()
        }
    )


def until(samples: EndOffsets, at_ms: int) -> EndOffsets:
    """The samples up to a moment (epoch ms)."""
    return EndOffsets(
        {
            partition: [each for each in of.samples if each.sampled_at_ms <= at_ms]
            for partition, of in samples.items()
        }
    )


@pytest.fixture(scope="module")
def sampled(
    spark: SparkSession, writer: WriterKind, tmp_path_factory: pytest.TempPathFactory
) -> Sampled:
    """One run over a small log with all samples."""
    folder = tmp_path_factory.mktemp("sampled")
    log = write_log(folder / "log", parts=SMALL)
    samples = write_samples(log, folder / "samples.jsonl")
    lake, options = folder / "lake", LakeOptions(writer=writer)
    given = read_end_offsets([samples])
    run_audit(spark, request_of(f"segments:{log}", lake, end_offsets=given, options=options))
    return Sampled(log, samples, lake)


def test_tables_equal_the_audit_in_one_process(sampled: Sampled) -> None:
    """Costs of rebalances, and findings about lag."""
    expected = audit_segments(
        sampled.log, end_offsets=[sampled.samples], finding_rules=FINDINGS
    ).tables
    for name in ("rebalances", "findings"):
        full_name = f"gold.{name}"
        assert table(sampled.lake, full_name) == in_order(full_name, expected[name]), name
    by = {row["records_delayed_by"] for row in table(sampled.lake, "gold.rebalances")}
    assert "end_offsets" in by


def test_progress_has_the_lag_at_each_sample(sampled: Sampled) -> None:
    """End offset less the committed one; some partitions with their owner."""
    ends = read_end_offsets([sampled.samples])
    exact = []
    for row in table(sampled.lake, "gold.progress"):
        samples = ends.of(row["topic"], row["topic_partition"])
        assert samples is not None
        if row["is_deleted"]:
            assert (row["lag_at"], row["lag_records_min"]) == (None, None)
            continue
        sample = samples.at(row["lag_at"])
        if sample is None or not row["last_commit_at"] <= row["lag_at"] == sample.sampled_at_ms:
            continue
        if row["beyond_end"]:
            assert row["beyond_end"] == row["committed_offset"] - sample.end_offset
            assert row["lag_records_min"] is None
            continue
        lag = max(0, sample.end_offset - row["committed_offset"])
        assert (row["lag_records_min"], row["lag_records_max"]) == (lag, lag)
        exact.append(row)
    assert len(exact) > 10
    assert any(row["client_id"] for row in exact)


def test_however_samples_and_records_come(
    spark: SparkSession, sampled: Sampled, tmp_path: Path
) -> None:
    """Samples before their records, after them, late between known ones, or twice: as if all had come at once."""
    lake = empty_lake(tmp_path / "lake", sampled.lake)
    samples = read_end_offsets([sampled.samples])
    pieces = Pieces(spark, sampled.lake, tmp_path, SEED)
    moments = sorted(row["started_at"] for row in table(sampled.lake, "gold.rebalances"))
    middle_ms = moments[len(moments) // 2]

    def audit(source: Source | str | None, given: EndOffsets | None = None) -> RunReport:
        return run_audit(spark, request_of(source, lake, end_offsets=given))

    audit(pieces.until(0.6))
    audit(pieces.until(0.8), part_of(until(samples, middle_ms), range(5)))
    audit(f"segments:{sampled.log}", until(samples, middle_ms))
    audit(None, samples)
    again = audit(None, samples)
    assert again.groups == 0
    for name in (*TABLES, "bronze.end_offsets"):
        assert not difference(name, lake, sampled.lake), name


def test_later_samples_leave_what_is_audited(
    spark: SparkSession, sampled: Sampled, tmp_path: Path
) -> None:
    """Groups with partitions that have new samples go on from their snapshots, none from its first record."""
    lake = Path(shutil.copytree(sampled.lake, tmp_path / "lake"))
    samples = read_end_offsets([sampled.samples])
    later = EndOffsets(
        {
            partition: [of.samples[-1]._replace(sampled_at_ms=of.samples[-1].sampled_at_ms + 1)]
            for partition, of in samples.items()
        }
    )
    report = run_audit(spark, request_of(None, lake, end_offsets=later))
    assert report.rebuilt == 0 < report.resumed
    assert not difference("gold.rebalances", lake, sampled.lake)


def test_gold_alone_keeps_no_samples(tmp_path: Path) -> None:
    """It has no bronze to keep them in."""
    request = request_of(None, tmp_path / "lake", layers=GOLD_ONLY, end_offsets=EndOffsets())
    with pytest.raises(BadRequest, match="kept in bronze"):
        check_request(request)
