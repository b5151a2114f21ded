"""Sources as far as they can be judged without Spark."""

from pathlib import Path

import pytest

from rebalance_audit.errors import BadRequest, LakeNotWritable
from rebalance_audit.lake.runs.request import GOLD_ONLY, RunRequest, check_request
from rebalance_audit.lake.sources.delta_source import DeltaSource
from rebalance_audit.lake.sources.segments_source import SegmentsSource
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.wire.segments.folder import SourceNotReadable
from tests.wire.golden import capture


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("", "is not a source"),
        ("segments", "is not a source"),
        ("segments:", "is not a source"),
        ("/var/log", "is not a source: write segments:/var/log."),
        (
            "/nowhere",
            "is not a source: write segments:DIR, segments:URL, delta:PATH or kafka:HOST:PORT.",
        ),
        ("s3:bucket", "is not a known kind of source"),
        ("kafka:host", "expects HOST:PORT"),
        ("kafka:host:9092,:9092", "expects HOST:PORT"),
        ("kafka:user:secret@host:9092", "^kafka: expects HOST:PORT or .IPV6.:PORT, several"),
    ],
)
def test_specs_that_name_no_source(spec: str, sentence: str) -> None:
    """A wrong word is refused in one sentence that says what to write instead."""
    with pytest.raises(BadRequest, match=sentence):
        parse_source(spec)


def test_specs_that_name_a_source() -> None:
    """The kind leads, everything behind the first colon is the place; folders are taken from here."""
    segments = parse_source("segments:logs")
    assert isinstance(segments, SegmentsSource)
    assert segments.location == str(Path.cwd() / "logs")
    delta = parse_source("delta:s3a://bucket/copy")
    assert isinstance(delta, DeltaSource)
    assert delta.location == "s3a://bucket/copy"
    assert delta.spec == "delta:s3a://bucket/copy"


def test_sources_that_cannot_be_read(tmp_path: Path) -> None:
    """No such folder, no segments in it, another topic's partition, no Delta table: refused before Spark starts."""
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / f"{0:020d}.log").write_bytes(b"")
    cases = {
        "segments:nowhere": "does not exist",
        f"segments:{tmp_path}": "holds no segments of __consumer_offsets.*found topics orders",
        f"segments:{tmp_path / 'orders-0'}": "is a partition folder of topic orders",
        f"delta:{tmp_path / 'nowhere'}": "does not exist",
        f"delta:{tmp_path}": "is not a Delta table",
    }
    for spec, sentence in cases.items():
        with pytest.raises(SourceNotReadable, match=sentence):
            parse_source(spec).check()


def test_requests_that_make_no_sense(tmp_path: Path) -> None:
    """Layers that cannot be written alone, an empty window, an empty cluster."""
    source = parse_source(f"segments:{capture('offsets').segments}")
    lake = str(tmp_path / "lake")
    check_request(RunRequest(source, lake, "c", layers=GOLD_ONLY, from_ms=1, to_ms=2))
    for request, sentence in (
        (RunRequest(source, lake, "c", layers={"silver"}), "layers silver"),
        (RunRequest(source, lake, "c", from_ms=2, to_ms=2), "window is empty"),
        (RunRequest(source, lake, ""), "cluster is empty"),
    ):
        with pytest.raises(BadRequest, match=sentence):
            check_request(request)
    assert not (tmp_path / "lake").exists()


def test_lakes_that_cannot_be_written(tmp_path: Path) -> None:
    """A lake below a file, or that is one: refused before anything is made."""
    file = tmp_path / "file"
    file.write_text("")
    source = parse_source(f"segments:{capture('offsets').segments}")
    for lake in (file, file / "lake"):
        with pytest.raises(LakeNotWritable, match=f"{file} is a file"):
            check_request(RunRequest(source, str(lake), "c"))
