"""Runs a command in a process of its own that may take 10 s of processor time and 1 GiB, and no more."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.cli.call import PROGRAM
from tests.hostile import limiter

CPU_SECONDS = 10
PEAK_BYTES = 1 << 30
_HEADROOM_BYTES = 4 << 30
"""A runaway process is refused memory before it disturbs the machine."""


class Ended(NamedTuple):
    """How a command ended."""

    exit_code: int
    """Negative: the signal."""
    out: str
    err: str
    peak_bytes: int


def rebalance_audit(*arguments: str | Path) -> Ended:
    """Run the command line; beyond the limits the exit code is a signal's, or the test fails here."""
    command = [*PROGRAM, *map(str, arguments)]
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        tempfile.TemporaryFile() as answer,
    ):
        limits = map(str, (CPU_SECONDS, _HEADROOM_BYTES, answer.fileno()))
        subprocess.run(
            [sys.executable, limiter.__file__, *limits, *command],
            stdout=out,
            stderr=err,
            pass_fds=[answer.fileno()],
            check=True,
        )
        for stream in (out, err, answer):
            stream.seek(0)
        exit_code, peak_kib = map(int, answer.read().split())
        ended = Ended(exit_code, out.read().decode(), err.read().decode(), peak_kib << 10)
    assert ended.exit_code >= 0, f"more than {CPU_SECONDS} s: {command}"
    assert ended.peak_bytes <= PEAK_BYTES, f"{ended.peak_bytes >> 20} MiB: {command}"
    return ended
