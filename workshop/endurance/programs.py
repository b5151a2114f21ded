"""The program as processes, started again and again and killed with `kill -9` at moments drawn from a seed."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from rebalance_audit.cli.exit_codes import DONE, NOT_READABLE, UNEXPECTED
from tests.cli.call import PROGRAM
from tests.support.processes import below, javas_below, kill

KILLED_SHARE: Final = 0.6
"""So many of the processes are killed, if they live long enough."""
FIRST_GUESS_SECONDS: Final = 40.0
"""How long a process is taken to live before one has come to its end."""
POLL_SECONDS: Final = 0.1
ERROR_PREFIX: Final = "Error: "
"""How the last line begins of what did not come to its end: a sentence, no stack trace."""
WHOLE, DRIVER, JVM, WORKERS = "whole", "driver", "jvm", "workers"
KINDS: Final = (WHOLE, WHOLE, DRIVER, JVM, WORKERS, WORKERS)
"""What of a process is killed: all of it, Python's or Java's half of the driver, the Python workers."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One process and its end."""

    name: str
    seconds: float
    killed: str | None
    code: int
    last_line: str
    excused: bool = False
    """The broker was away for a part of its life."""

    @property
    def is_foul(self) -> bool:
        """Whether it ended otherwise than it may: neither done, nor with a sentence on what it was deprived of."""
        if self.killed in {WHOLE, DRIVER}:
            return False
        codes = {DONE}
        if self.excused:
            codes.add(NOT_READABLE)
        if self.killed:
            codes.add(UNEXPECTED)
        return self.code not in codes or (
            self.code != DONE and not self.last_line.startswith(ERROR_PREFIX)
        )


@dataclass
class Repeated:
    """A command that is run over and over."""

    command: str
    arguments: Callable[[Random], Sequence[str]]
    """The rest of the command line, drawn anew for every process."""
    random: Random
    folder: Path
    """Where each process's output goes."""
    outages: Callable[[], int]
    """Grows when the broker goes away, and when it is there again: odd while it is away."""
    over: threading.Event
    ends: list[Ended] = field(default_factory=list)
    _expected_seconds: float = FIRST_GUESS_SECONDS

    def go_on(self) -> None:
        """One process after the other, until it is over."""
        while not self.over.is_set():
            is_killed = self.random.random() < KILLED_SHARE
            after_seconds = self.random.uniform(0, 1.1) * self._expected_seconds
            kind = self.random.choice(KINDS)
            arguments = self.arguments(self.random)
            name = f"{len(self.ends):03}"
            ended = self._one(name, arguments, (after_seconds, kind) if is_killed else None)
            self.ends.append(ended)
            if not ended.killed and ended.code == DONE:
                self._expected_seconds = ended.seconds

    def once(self, name: str) -> Ended:
        """One process that is left alone."""
        return self._one(name, self.arguments(self.random), None)

    def _one(self, name: str, arguments: Sequence[str], kill: tuple[float, str] | None) -> Ended:
        output_path = self.folder / f"{self.command}-{name}.txt"
        outages = self.outages()
        began = time.monotonic()
        killed = None
        with output_path.open("wb") as output:
            process = subprocess.Popen(
                [*PROGRAM, self.command, *arguments],
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            try:
                while process.poll() is None:
                    if kill and not killed and time.monotonic() - began >= kill[0]:
                        killed = _kill(process.pid, kill[1])
                    time.sleep(POLL_SECONDS)
            finally:
                _end(process)
        lines = output_path.read_text(errors="replace").strip().splitlines()
        return Ended(
            output_path.stem,
            time.monotonic() - began,
            killed,
            process.returncode,
            lines[-1] if lines else "",
            excused=bool(outages % 2) or self.outages() != outages,
        )


def _kill(pid: int, kind: str) -> str | None:
    """Kill a part of a process; what was killed, None where there is no such part now."""
    if kind == WHOLE:
        os.killpg(pid, signal.SIGKILL)
        return kind
    if kind == DRIVER:
        os.kill(pid, signal.SIGKILL)
        return kind
    javas = javas_below(pid)
    victims = javas if kind == JVM else [each for java in javas for each in below(java)]
    for victim in victims:
        kill(victim)
    return kind if victims else None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Leave nothing running, should the loop itself be cut short."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
