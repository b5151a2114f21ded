"""The large logs that benchmarks read: simulated once, kept under `build/bench` by their size.

`python -m tests.perf.bench_log --records 4000000` makes one by hand.
"""

import argparse
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.coordinator.handling import Dialect
from rebalance_audit.resources import checkout_root
from rebalance_audit.sim.broker import LogOptions
from rebalance_audit.sim.options import FaultOptions, Overrides, SimulationOptions, draw_options
from rebalance_audit.sim.scenario import Simulation
from rebalance_audit.wire.batches import Batch
from rebalance_audit.wire.log_folder import open_log_folder
from rebalance_audit.wire.segments import read_batches

BENCH: Final = checkout_root() / "build" / "bench"
SEED: Final = 11
MINUTES: Final = 10
GROUPS: Final = 200
MEMBERS: Final = 5
FAULTS: Final = {"deploys": 0.1, "scale_changes": 0.1, "crashes": 0.05}
"""What gives the groups something to rebalance about; nothing is compacted away."""


class BenchLog(NamedTuple):
    """A log on disk."""

    folder: Path
    records: int
    """Of `__consumer_offsets`, control records included."""
    size_bytes: int
    segments: tuple[Path, ...]


def bench_log(records: int) -> BenchLog:
    """A log with so many bulk commits, and what 200 groups of both protocols write beside them, in one partition."""
    folder = BENCH / f"log-{records}"
    if not folder.exists():
        # Another process, so that what the simulation takes is free when the measuring begins.
        command = [sys.executable, "-m", "tests.perf.bench_log", "--records", str(records)]
        subprocess.run(command, check=True)
    segments = tuple(
        path for paths in open_log_folder(folder).partitions.values() for path in paths
    )
    return BenchLog(
        folder,
        sum(_record_count(path) for path in segments),
        sum(path.stat().st_size for path in segments),
        segments,
    )


def options(records: int) -> SimulationOptions:
    """The simulation."""
    overrides = Overrides(
        MINUTES, GROUPS, MEMBERS, Dialect.R4_3, partitions=1, commits_per_minute=records // MINUTES
    )
    drawn = draw_options(SEED, overrides)
    rates = dict.fromkeys(FaultOptions.__dataclass_fields__, 0.0) | FAULTS
    drawn.faults = FaultOptions(**rates)
    drawn.cluster = replace(drawn.cluster, log=LogOptions())
    return drawn


def main() -> None:
    """Make one log."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, required=True)
    records = parser.parse_args().records
    folder = BENCH / f"log-{records}"
    being_made = folder.with_suffix(".part")
    shutil.rmtree(being_made, ignore_errors=True)
    simulation = Simulation(SEED, options(records))
    simulation.run()
    simulation.write(being_made)
    being_made.rename(folder)


def _record_count(segment: Path) -> int:
    return sum(
        found.header.record_count or 0
        for found in read_batches(segment)
        if isinstance(found, Batch)
    )


if __name__ == "__main__":
    main()
