"""Logs that are held against the specification: captures of real brokers, and simulations."""

import base64
import gzip
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import orjson

from rebalance_audit.replay.changes import Position
from rebalance_audit.sim.options import Overrides, draw_options
from rebalance_audit.sim.scenario import Simulation
from rebalance_audit.wire.records import Record, decode_record
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.spec.engine import CLASSIC, CONSUMER, Judge
from tests.spec.metadata_log import topic_history
from tests.spec.observed import Logged, LogJudge, Verdict
from tests.spec.observed_classic import LOGS, ClassicLogJudge
from tests.support.log_entries import PositionedRecord, decoded, log_entries, position_of

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "captures"
"""Captures of real brokers, each a folder."""
RUNS: Final = "consumerRuns"
UNNAMED_RELEASE: Final = "4.3"
"""That of a capture without meta.json."""
DEFAULT_ASSIGNOR: Final = "uniform"
"""The broker's own, which no capture changes."""


class Judges(NamedTuple):
    """One evaluator for each protocol."""

    consumer: Judge
    classic: Judge


@contextmanager
def judges(consumer: Path = CONSUMER, classic: Path = CLASSIC) -> Iterator[Judges]:
    """Evaluators that judge logs by these specifications."""
    with Judge(RUNS, consumer) as first, Judge(LOGS, classic) as second:
        yield Judges(first, second)


def captures() -> Sequence[Path]:
    """All captures: the golden ones, or those of the folder that the variable CAPTURES names."""
    folder = Path(os.environ.get("CAPTURES") or GOLDEN)
    return sorted(each for each in folder.iterdir() if (each / "segments").exists())


def judge_capture(by: Judges, folder: Path) -> Verdict:
    """What the specifications say to a capture; a compacted log is judged as it was written."""
    stream = folder / "stream.jsonl.gz"
    log = _stream(stream) if stream.exists() else _read(folder / "segments")
    releases = _releases(folder / "meta.json")
    return _judge_log(by, folder / "segments", releases, DEFAULT_ASSIGNOR, list(log))


def judge_seed(by: Judges, seed: int, minutes: int) -> Verdict:
    """What the specifications say to a simulation, as the log is at the end of its phase of faults."""
    options = draw_options(seed, Overrides(minutes=minutes))
    options.faults.cleanings = 0.0
    options.cluster.log.stamps_append_time = False
    simulation = Simulation(seed, options, with_broker_log=False, with_checks=False)
    simulation.run_faults()
    with tempfile.TemporaryDirectory() as name:
        segments = Path(name)
        simulation.write(segments)
        releases = [options.coordinator.dialect.value]
        if options.upgrade is not None:
            releases.append(options.upgrade.dialect.value)
        default_assignor = options.coordinator.server_assignors[0]
        return _judge_log(by, segments, releases, default_assignor, list(_read(segments)))


def _releases(meta: Path) -> list[str]:
    if not meta.exists():
        return [UNNAMED_RELEASE]
    recorded = orjson.loads(meta.read_bytes())
    versions = recorded.get("versions") or [recorded["broker_version"]]
    return [version.rpartition(".")[0] for version in versions]


def _judge_log(
    by: Judges,
    segments: Path,
    releases: list[str],
    default_assignor: str,
    entries: Sequence[Logged],
) -> Verdict:
    """Judge the groups of both protocols, partition by partition."""
    verdict = Verdict()
    history = topic_history(open_log_folder(segments))
    for partition in sorted({position.log_partition for _, position in entries}):
        own = [entry for entry in entries if entry[1].log_partition == partition]
        LogJudge(by.consumer, history, releases, default_assignor, verdict).follow(own)
        ClassicLogJudge(by.classic, verdict).follow(own)
    return verdict


def _read(segments: Path) -> Iterator[Logged]:
    for entry in log_entries(open_log_folder(segments), None):
        if isinstance(entry, PositionedRecord):
            yield decoded(entry), position_of(entry)


def _stream(path: Path) -> Iterator[Logged]:
    with gzip.open(path) as lines:
        for line in lines:
            row = orjson.loads(line)
            value = row["value"]
            record = decode_record(
                base64.b64decode(row["key"]), None if value is None else base64.b64decode(value)
            )
            if isinstance(record, Record):
                yield record, Position(row["partition"], row["offset"], row["timestamp"], 0)
