"""Processor time as Linux counts it: of this process and all under it, or of threads of one."""

import os
from pathlib import Path
from typing import Final

TICKS: Final = os.sysconf("SC_CLK_TCK")
PROC: Final = Path("/proc")


def tree_cpu_s() -> float:
    """Seconds of this process and all under it, those that have ended and been waited for among them."""
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for folder in PROC.iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            fields = _fields(folder / "stat")
        except OSError:
            continue  # it has just ended
        parents[int(folder.name)] = int(fields[1])
        spent[int(folder.name)] = sum(map(int, fields[11:15]))
    return sum(ticks for pid, ticks in spent.items() if _is_under(pid, parents)) / TICKS


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


def _is_under(pid: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        if pid == os.getpid():
            return True
        pid = parents[pid]
    return False
