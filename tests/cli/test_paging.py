"""Long texts on a terminal."""

import contextlib
import os
import pty
import subprocess
from pathlib import Path

from tests.cli.call import PROGRAM, call, segments


def test_a_long_text_goes_through_the_pager_and_a_short_one_does_not(tmp_path: Path) -> None:
    """As git's do: the pager gets all of it, with its colours."""
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/$ROWS\n")
    pager.chmod(0o755)
    for lines in ("10", "500"):
        surroundings = {"PAGER": str(pager), "ROWS": lines, "LINES": lines, "COLUMNS": "80"}
        main, terminal = pty.openpty()
        with subprocess.Popen(
            [*PROGRAM, "inspect", str(segments("broker-4.0"))],
            stdin=terminal,
            stdout=terminal,
            env={**os.environ, **surroundings, "TERM": "xterm"},
        ) as showing:
            os.close(terminal)
            read_all(main)
        assert showing.returncode == 0
    (paged,) = tmp_path.glob("[0-9]*")
    assert paged.name == "10"
    assert "\x1b[1m" in paged.read_text()


def test_states_are_tables_on_a_terminal_and_json_elsewhere() -> None:
    """Programs read JSON from a pipe; people see groups, and members of those that they name."""
    for arguments, expected in (
        ([], ["Groups", "churn", "--group G shows"]),
        (["--group", "churn"], ["Members of churn", "Committed offsets of churn"]),
        (["--json"], ['"groups": [']),
    ):
        main, terminal = pty.openpty()
        with subprocess.Popen(
            [*PROGRAM, "state", str(segments("compacted")), *arguments],
            stdin=terminal,
            stdout=terminal,
            env={**os.environ, "PAGER": "cat", "COLUMNS": "120", "TERM": "dumb"},
        ) as showing:
            os.close(terminal)
            shown = read_all(main)
        assert showing.returncode == 0
        for text in expected:
            assert text in shown
    assert call("state", segments("compacted")).out.startswith("{")


def read_all(main: int) -> str:
    """Until the terminal is closed: a full one would make its writer wait."""
    found = b""
    with contextlib.suppress(OSError):
        while read := os.read(main, 1 << 16):
            found += read
    os.close(main)
    return found.decode()
