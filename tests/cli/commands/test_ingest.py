"""`ingest` on the command line, as far as it can be tested before Spark starts."""

import gc
from pathlib import Path

import pytest

from tests.cli.call import call
from tests.wire.golden import capture

LOG = f"segments:{capture('offsets').segments}"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--lake", "lake"], 2, "No source: give --source kafka:HOST:PORT"),
        (["--source", LOG], 2, "No lake: give --lake DIR."),
        (["--source", "kafka:here", "--lake", "lake"], 2, "kafka: expects HOST:PORT"),
        (["--source", "segments:/nowhere", "--lake", "lake"], 3, "/nowhere does not exist."),
        (["--source", LOG, "--lake", "lake", "--follow"], 2, "only a live cluster can"),
        (["--source", LOG, "--lake", "lake", "--stop-after", "5"], 2, "--stop-after needs --follow"),
        (["--source", "kafka:here:9092", "--lake", "lake", "--start", "soon"], 2, "'soon' is not a start position"),
        (["--source", "kafka:here:9092", "--lake", "lake", "--start", '{"0": -1}'], 2, "is not a start position"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_before_spark_starts(
    arguments: list[str], code: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence and the exit code for the kind of mistake; nothing is written."""
    monkeypatch.chdir(tmp_path)
    outcome = call("ingest", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert sentence in outcome.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_cluster_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reported in one sentence, with code 3, after the configured time."""
    monkeypatch.setenv("REBALANCE_AUDIT_SOURCE__KAFKA__TIMEOUT_MS", "1000")
    outcome = call("ingest", "--source", "kafka:127.0.0.1:1", "--lake", str(tmp_path / "lake"))
    assert (outcome.code, outcome.out) == (3, "")
    assert outcome.err.startswith(
        "Error: Kafka at 127.0.0.1:1 cannot be reached: check that host and port are right, "
    )
    assert outcome.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    gc.collect()  # kafka-python leaves the sockets of an attempt that failed
