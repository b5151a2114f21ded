"""Logs that are held against the specification: captures of real brokers, and simulations."""

import base64
import gzip
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import orjson

from rebalance_audit.replay.changes import Position
from rebalance_audit.sim.options import Overrides, draw_options
from rebalance_audit.sim.scenario import Simulation
from rebalance_audit.wire.records import Record, decode_record
from rebalance_audit.wire.segments.folder import PositionedRecord, open_log_folder
from tests.spec.engine import Judge
from tests.spec.metadata_log import topic_history
from tests.spec.observed import Logged, LogJudge, Verdict
from tests.support.log_entries import decoded, position_of

CAPTURES: Final = Path(__file__).parents[1] / "golden" / "captures"
RUNS: Final = "consumerRuns"


def judge_capture(judge: Judge, name: str) -> Verdict:
    """What the specification says to a capture; a compacted log is judged as it was written."""
    folder = CAPTURES / name
    meta = orjson.loads((folder / "meta.json").read_bytes())
    versions = meta.get("versions") or [meta["broker_version"]]
    releases = [version.rpartition(".")[0] for version in versions]
    stream = folder / "stream.jsonl.gz"
    return judge_log(
        judge, folder / "segments", releases, _stream(stream) if stream.exists() else None
    )


def judge_seed(judge: Judge, seed: int, minutes: int) -> Verdict:
    """What the specification says to a simulation, as the log is at the end of its phase of faults."""
    options = draw_options(seed, Overrides(minutes=minutes))
    options.faults.cleanings = 0.0
    options.cluster.log.stamps_append_time = False
    simulation = Simulation(seed, options, with_broker_log=False, with_checks=False)
    simulation.run_faults()
    with tempfile.TemporaryDirectory() as name:
        simulation.write(Path(name))
        return judge_log(judge, Path(name), [options.coordinator.dialect.value], None)


def judge_log(
    judge: Judge, segments: Path, releases: list[str], log: Iterable[Logged] | None
) -> Verdict:
    """Judge the consumer groups of a folder, partition by partition, or those of a log that is given."""
    verdict = Verdict()
    folder = open_log_folder(segments)
    history = topic_history(folder)
    entries = list(_read(segments) if log is None else log)
    for partition in sorted({position.log_partition for _, position in entries}):
        own = [entry for entry in entries if entry[1].log_partition == partition]
        LogJudge(judge, history, releases, verdict).follow(own)
    return verdict


def _read(segments: Path) -> Iterator[Logged]:
    for entry in open_log_folder(segments).read(None):
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
