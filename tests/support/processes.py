"""Processes that a process has started, by Linux's /proc."""

import os
import signal
from pathlib import Path


def below(pid: int) -> list[int]:
    """Processes that a process has started, and those that these have."""
    try:
        children = [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:  # it has ended meanwhile
        return []
    return [found for child in children for found in (child, *below(child))]


def javas_below(pid: int) -> list[int]:
    """Those of them that are Spark's Java, not one that is asked for its release.

    Nor a copy of it that becomes another program in a moment: it starts `chmod` for each file that it writes.
    """
    found = [each for each in below(pid) if "SparkSubmit" in command_line(each)]
    copies = {copy for java in found for copy in below(java)}
    return [java for java in found if java not in copies]


def command_line(pid: int) -> str:
    """What it was started with; nothing for one that has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    except OSError:
        return ""


def kill(pid: int) -> None:
    """`kill -9`, of one that may have ended meanwhile too."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
