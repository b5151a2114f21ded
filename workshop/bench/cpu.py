"""Processor time as Linux counts it: of this process and all under it, or of threads of one."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support.processes import below

TICKS: Final = os.sysconf("SC_CLK_TCK")
PROC: Final = Path("/proc")


def tree_ticks() -> dict[int, int]:
    """Ticks of this process and of all under it, by pid, each with those that it has waited for."""
    ticks = {}
    for pid in (os.getpid(), *below(os.getpid())):
        try:
            ticks[pid] = sum(map(int, _fields(PROC / str(pid) / "stat")[11:15]))
        except OSError:
            continue  # it has just ended
    return ticks


def cpu_s_since(began: Mapping[int, int]) -> float:
    """Seconds since `tree_ticks` were taken.

    A process of then that is gone counts nothing: a worker of Spark's, which its daemon ends after an idle minute
    without waiting for it.
    """
    now = tree_ticks()
    return sum(ticks - began.get(pid, 0) for pid, ticks in now.items()) / TICKS


def threads_cpu_s(pid: int, name: str) -> float:
    """Seconds of the threads of a process whose names begin so; Linux keeps 15 characters of a name."""
    ticks = 0
    for folder in (PROC / str(pid) / "task").iterdir():
        if (folder / "comm").read_text().startswith(name):
            ticks += sum(map(int, _fields(folder / "stat")[11:13]))
    return ticks / TICKS


def _fields(stat: Path) -> list[str]:
    """What follows the name, which may hold blanks: state, parent, ..."""
    return stat.read_text().rpartition(")")[2].split()
