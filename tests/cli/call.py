"""Runs the command line: in this process for its answers, in another for what only a process has."""

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
    """What a call left."""

    code: int
    out: str
    err: str


def call(*arguments: str | Path) -> Outcome:
    """One command line in this process, its output as a pipe would get it."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in "12")
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
    # Given whole: readline, which pytest loads, sets COLUMNS behind the back of os.environ.
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
