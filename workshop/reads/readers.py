"""Clients that write down what they read: one process is one member of a group.

Arguments are NAME=VALUE: servers, topic, group, name (client.id), protocol, reset (auto.offset.reset), commit_ms,
session_ms, habit, log. Habits: plain (commits what it read when partitions are revoked and when it closes), careless
(does not), seek_to_end and seek_back (on assignment; otherwise plain). SIGTERM closes the client.

The log has one line for each event: epoch milliseconds, event, fields, separated by tabs. It is not buffered, so a
process that is killed leaves everything up to then.

| event | fields |
|---|---|
| assigned, revoked, lost | partitions, separated by commas |
| read | partition, offset, number of the record |
| committed | partition, offset, after the broker acknowledged it |
| refused | error of a commit |
| stopping, closed | none |
"""

import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tests.support.broker_folder import JARS, java

STEP_BACK: Final = 25
"""By how many records seek_back steps back."""
CLIENTS: Final = ("java", "librdkafka", "aiokafka")


class ReaderLog:
    """The log of one client."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("a", buffering=1)  # noqa: SIM115 - open as long as the process runs

    def write(self, event: str, *fields: object) -> None:
        """Add an event of now."""
        line = "\t".join(map(str, (time.time_ns() // 1_000_000, event, *fields)))
        self._file.write(line + "\n")


def options_of(arguments: Iterable[str]) -> dict[str, str]:
    """The arguments by name."""
    return dict(each.split("=", 1) for each in arguments)


def compiled(folder: Path) -> Path:
    """Compile the Java client into a folder."""
    source = Path(__file__).with_name("NumberedReader.java")
    subprocess.run(["javac", "-cp", f"{JARS}/*", "-d", folder, source], check=True)
    return folder


def command_of(client: str, folder: Path, options: dict[str, str]) -> Sequence[str]:
    """The command that starts a member; `folder` is the broker's, with what `compiled` left in it."""
    arguments = [f"{name}={value}" for name, value in options.items()]
    if client != "java":
        return [sys.executable, "-m", f"workshop.reads.{client}_reader", *arguments]
    command = java(folder, "NumberedReader", *arguments)
    at = command.index("-cp")
    command[at + 1] = f"{folder}:{command[at + 1]}"
    return ["-Xmx64m" if each.startswith("-Xmx") else each for each in command]
