"""When the compiled walk is used: where compiling it pays, and wherever it has been compiled before."""

import os
import subprocess
import sys
from pathlib import Path

ASK = """
from rebalance_audit.segments.available import should_use_compiled_walk
print(*(should_use_compiled_walk(size << 20) for size in (1, 20, {large})))
"""


def asked(caches: Path, large: int = 99) -> subprocess.CompletedProcess[str]:
    """A process of its own answers for logs of 1 MiB, 20 MiB, and so many more."""
    return subprocess.run(
        [sys.executable, "-c", ASK.format(large=large)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(caches)},
        check=True,
        capture_output=True,
        text=True,
    )


def test_compiled_where_it_pays_and_then_for_every_command(tmp_path: Path) -> None:
    """A short log is never worth the start of the compiler's runtime."""
    assert asked(tmp_path).stdout.split() == ["False", "False", "False"]
    first = asked(tmp_path, large=100)
    assert first.stdout.split() == ["False", "False", "True"]
    assert first.stderr.startswith("compiling the reader of large logs, once on this machine")
    then = asked(tmp_path, large=100)
    assert then.stdout.split() == ["False", "True", "True"]
    assert then.stderr == ""
