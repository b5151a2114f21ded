"""Fetching jars, with a scripted Java in place of Ivy."""

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from rebalance_audit.cli import exit_codes, spark_jars
from rebalance_audit.errors import JarsNotFetched
from rebalance_audit.resources import checkout_root
from tests.cli.call import call, process

JAVA = """#!/usr/bin/env bash
if [[ $1 == -version ]]; then echo 'openjdk version "17.0.9"' >&2; exit; fi
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
def fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what is fetched, with a Java beside it."""
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(JAVA)
    java.chmod(0o755)
    variables = {"JAVA_HOME": "java", "IVY_HOME": "ivy", "FETCHED": "", "XDG_CACHE_HOME": "cache"}
    for name, path in variables.items():
        monkeypatch.setenv(name, str(tmp_path / path))
    monkeypatch.setenv("TAKES", "0")
    monkeypatch.setenv("FAILURES", "0")
    return tmp_path


fetch = partial(spark_jars.fetch_jars, "spark", pauses_s=(0, 0))


def names(folder: Path) -> set[str]:
    """Files of a folder."""
    return {path.name for path in folder.iterdir()}


def old_jars(fetched: Path) -> Path:
    """A folder with a jar of an earlier release."""
    folder = fetched / "jars"
    folder.mkdir()
    (folder / "kafka-0.9.jar").touch()
    return folder


@pytest.mark.parametrize("failures", [0, 1, 2])
def test_a_failed_fetch_is_repeated(
    failures: int, fetched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice at most, the last time with a cache of its own; what was there before is replaced as a whole."""
    monkeypatch.setenv("FAILURES", str(failures))
    folder = old_jars(fetched)
    fetch(folder)
    assert names(folder) == {".fetched", "kafka-1.0.jar"}
    attempts = (fetched / "attempts").read_text().splitlines()
    assert [" -cache " in attempt for attempt in attempts] == [False, False, True][: failures + 1]


def test_after_three_failures_ivy_says_why(fetched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was there before stays."""
    monkeypatch.setenv("FAILURES", "9")
    folder = old_jars(fetched)
    with pytest.raises(JarsNotFetched, match=r"could not be fetched\. Ivy: invalid sha1$"):
        fetch(folder)
    assert names(folder) == {"kafka-0.9.jar"}
    assert len((fetched / "attempts").read_text().splitlines()) == 3


def test_two_fetches_take_turns(fetched: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One Ivy at a time is in a cache; both processes get their jars."""
    monkeypatch.setenv("TAKES", "0.3")

    def jars(name: str) -> int:
        return process("jars", "--out", fetched / name).returncode

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(jars, ["one", "two"])) == [0, 0]
    assert not (fetched / "two-at-once").exists()
    assert names(fetched / "one") == names(fetched / "two") == {".fetched", "kafka-1.0.jar"}


def test_an_installed_package_keeps_its_jars_in_the_cache(
    fetched: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a checkout, `jars` fills the folder where Spark's commands look; a release has its own."""

    def no_checkout() -> Path:
        raise FileNotFoundError

    monkeypatch.chdir(fetched)
    assert spark_jars.jars_folder(Path("jars/spark")) == checkout_root() / "jars" / "spark"
    monkeypatch.setattr(spark_jars, "checkout_root", no_checkout)
    done = call("jars", "--json")
    assert done.code == exit_codes.DONE, done.err
    folder = spark_jars.jars_folder(Path("jars/spark"))
    assert folder.parent == fetched / "cache" / "rebalance-audit"
    assert names(folder) == {".fetched", "kafka-1.0.jar"}
    assert str(folder) in done.out
    monkeypatch.setattr(spark_jars, "read_text", lambda _path: "the versions of another release")
    assert spark_jars.jars_folder(Path("jars/spark")) != folder


def test_the_ivy_of_pyspark_is_found(fetched: Path) -> None:
    """It is what Spark itself uses for spark.jars.packages."""
    fetch(fetched / "jars")
    (attempt,) = (fetched / "attempts").read_text().splitlines()
    jar = Path(attempt.split()[2])
    assert jar.is_file()
    assert jar.is_relative_to(Path(sys.prefix))
