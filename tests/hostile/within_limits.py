"""Runs a command in a process of its own that may take 10 s of processor time and 1 GiB, and no more."""

import os
import resource
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.cli.call import PROGRAM

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
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
            resource.setrlimit(resource.RLIMIT_DATA, (_HEADROOM_BYTES, _HEADROOM_BYTES))
            os.execv(command[0], command)  # noqa: S606 - the command line is the test's own
        _, status, usage = os.wait4(child, 0)
        out.seek(0)
        err.seek(0)
        ended = Ended(
            os.waitstatus_to_exitcode(status),
            out.read().decode(),
            err.read().decode(),
            usage.ru_maxrss << 10,
        )
    assert ended.exit_code >= 0, f"more than {CPU_SECONDS} s: {command}"
    assert ended.peak_bytes <= PEAK_BYTES, f"{ended.peak_bytes >> 20} MiB: {command}"
    return ended
