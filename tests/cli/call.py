"""Runs the command line: in this process for its answers, in another one for what only a process has."""

import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from rebalance_audit.cli import main

CAPTURES = Path(__file__).parents[1] / "golden" / "captures"
PROGRAM = (sys.executable, "-m", "rebalance_audit.cli.main")


class Outcome(NamedTuple):
    """What a call returned and printed."""

    code: int
    out: str
    err: str


def call(*arguments: str | Path, encoding: str = "utf-8") -> Outcome:
    """One command line in this process, with its output as through a pipe."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in "12")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main.run([str(argument) for argument in arguments])
    return Outcome(code, *(_text(stream) for stream in (out, err)))


def lines(*arguments: str | Path) -> list[dict[str, Any]]:
    """The JSON lines of a call that must succeed."""
    outcome = call(*arguments)
    assert outcome.code == 0, outcome.err
    return [json.loads(line) for line in outcome.out.splitlines()]


def process(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """One command line in a process of its own."""
    command = [*PROGRAM, *map(str, arguments)]
    # Given in full: readline, which pytest loads, sets COLUMNS without os.environ noticing.
    options.setdefault("env", dict(os.environ))
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def segments(capture: str) -> Path:
    """The log of a golden capture."""
    return CAPTURES / capture / "segments"


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()
