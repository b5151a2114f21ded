"""A reader of segments in Rust as a peer of the compiled walk: the crate `krabka-log`, built by cargo."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from rebalance_audit.resources import checkout_root
from workshop.bench.bench_log import BenchLog
from workshop.bench.wishes import RUST

SOURCE: Final = checkout_root() / "workshop" / "bench" / "segment_walk"
BUILT: Final = checkout_root() / "build" / "segment-walk"


def build_rust_walk() -> Path | None:
    """The program; None, and a line on stderr, where cargo is missing or cannot build it."""
    if shutil.which("cargo") is None:
        sys.stderr.write(f"{RUST}: left out, since cargo is not installed\n")
        return None
    command = ["cargo", "build", "--release", "--locked", "--quiet"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(BUILT)}
    if subprocess.run(command, cwd=SOURCE, env=environment, check=False).returncode != 0:
        sys.stderr.write(f"{RUST}: left out, since cargo cannot build {SOURCE.name}\n")
        return None
    return BUILT / "release" / "segment-walk"


def rust_walk(program: Path, log: BenchLog, scratch: Path) -> tuple[float, float]:
    """Seconds and processor seconds to read every record of a copy of the log, once it is open (and has indexes)."""
    [partition] = {segment.parent for segment in log.segments}
    shutil.copytree(partition, scratch)
    try:
        found = subprocess.run([program, scratch], check=True, capture_output=True, text=True)
    finally:
        shutil.rmtree(scratch)
    records, seconds, cpu_s = found.stdout.split()
    assert int(records) == log.records, found.stdout
    return float(seconds), float(cpu_s)
