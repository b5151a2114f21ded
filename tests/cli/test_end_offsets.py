"""--end-offsets: every command that shows tables of segments bounds the cost of rebalances by samples."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.call import call, segments

SAMPLE = {"topic": "orders", "topic_partition": 0, "end_offset": 1_000}
CAPTURE = segments("consumer-protocol")
COMMANDS = (("report", "--out"), ("export", "--parquet"), ("metrics", "--out"))


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    """End offsets before and after the log, of the partitions of one topic."""
    path = tmp_path / "samples.jsonl"
    rows = (
        {**SAMPLE, "topic_partition": number, "sampled_at": at_ms}
        for number in range(20)
        for at_ms in (1_000_000_000_000, 4_000_000_000_000)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_samples_reach_the_tables(samples: Path, tmp_path: Path) -> None:
    """Without them the delayed records are estimated by the rate of commits."""
    found = []
    for number, given in enumerate(((), ("--end-offsets", samples))):
        out = tmp_path / f"tables-{number}"
        assert call("export", CAPTURE, "--parquet", out, *given).code == 0
        (file,) = out.rglob("*rebalances.parquet")
        found.append({*pq.read_table(file)["records_delayed_by"].to_pylist()})
    assert found[0] == {None, "commit_rate"}
    assert "end_offsets" in found[1]


@pytest.mark.parametrize(("command", "target"), COMMANDS)
def test_what_is_refused(command: str, target: str, tmp_path: Path) -> None:
    """A lake is not audited now, and what holds no samples is named."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text("{}\n")
    wanted = (target, tmp_path / "out", "--end-offsets", bad)
    of_lake = call(command, "--lake", tmp_path, *wanted)
    assert (of_lake.code, "goes with SEGMENTS" in of_lake.err) == (2, True)
    of_segments = call(command, CAPTURE, *wanted)
    assert of_segments.code == 3
    assert "bad.jsonl, line 1: not a sample" in of_segments.err
