"""`scripts/fetch-jars` with a Java that does as it is told instead of Ivy."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_audit.resources import checkout_root

JAVA = """#!/usr/bin/env bash
echo "$*" >>"$FETCHED/attempts"
mkdir "$FETCHED/at-work" || touch "$FETCHED/two-at-once"
sleep "$TAKES"
rmdir "$FETCHED/at-work"
if (($(wc -l <"$FETCHED/attempts") <= FAILURES)); then
  echo "invalid sha1"
  exit 1
fi
for last in "$@"; do :; done
touch "${last%/*}/kafka-1.0.jar"
"""


@pytest.fixture
def fetched(tmp_path: Path) -> Path:
    """A folder for what is fetched, with a Java beside it."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(JAVA)
    java.chmod(0o755)
    return tmp_path


def fetch(
    fetched: Path, name: str = "jars", failures: int = 0, takes_s: float = 0
) -> subprocess.Popen[str]:
    """Begin to fetch."""
    return subprocess.Popen(
        [checkout_root() / "scripts" / "fetch-jars", sys.executable, "spark", fetched / name],
        cwd=checkout_root(),
        env={
            **os.environ,
            "JAVA_HOME": str(fetched / "java"),
            "IVY_HOME": str(fetched / "ivy"),
            "FETCHED": str(fetched),
            "FETCH_PAUSES": "0 0",
            "FAILURES": str(failures),
            "TAKES": str(takes_s),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def names(folder: Path) -> set[str]:
    """Files of a folder."""
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_a_fetch_that_fails_is_tried_again(failures: int, fetched: Path) -> None:
    """Twice at most, the last time with a cache of its own; what was there before is replaced as a whole."""
    (fetched / "jars").mkdir()
    (fetched / "jars" / "kafka-0.9.jar").touch()
    running = fetch(fetched, failures=failures)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 0, told
    assert names(fetched / "jars") == {".fetched", "kafka-1.0.jar"}
    attempts = (fetched / "attempts").read_text().splitlines()
    assert len(attempts) == failures + 1
    assert [" -cache " in attempt for attempt in attempts] == [False, False, True][: failures + 1]


def test_after_three_failures_it_says_why_and_leaves_what_was_there(fetched: Path) -> None:
    """Ivy's own words, and exit 1."""
    (fetched / "jars").mkdir()
    (fetched / "jars" / "kafka-0.9.jar").touch()
    running = fetch(fetched, failures=9)
    _, told = running.communicate(timeout=60)
    assert running.returncode == 1
    assert told.splitlines()[-2:] == [
        "invalid sha1",
        "the jars of conf/jars/ivy.xml could not be fetched, see above",
    ]
    assert names(fetched / "jars") == {"kafka-0.9.jar"}
    assert len((fetched / "attempts").read_text().splitlines()) == 3


def test_two_fetches_take_turns(fetched: Path) -> None:
    """One Ivy at a time is in a cache; both get their jars."""
    both = [fetch(fetched, name, takes_s=0.3) for name in ("one", "two")]
    for running in both:
        _, told = running.communicate(timeout=60)
        assert running.returncode == 0, told
    assert not (fetched / "two-at-once").exists()
    assert names(fetched / "one") == names(fetched / "two") == {".fetched", "kafka-1.0.jar"}
