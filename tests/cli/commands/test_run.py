import os
import re
from pathlib import Path

import pytest

from rebalance_audit.cli import exit_codes
from rebalance_audit.cli.spark import run_request_of
from rebalance_audit.config import load_config
from tests.cli.call import call, process, segments

LOG = f"segments:{segments('failover')}"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--source", LOG], 2, "Error: No lake: give --lake DIR."),
        (["--lake", "LAKE", "--layers", "gold"], 2, "Gold alone is made straight from a source"),
        (["--source", "segments:", "--lake", "LAKE"], 2, "'segments:' is not a source"),
        (["--source", "file:x", "--lake", "LAKE"], 2, "'file:x' is not a known kind of source"),
        (["--source", "kafka:here", "--lake", "LAKE"], 2, "kafka: expects HOST:PORT"),
        (["--source", LOG, "--lake", "LAKE", "--from", "now"], 2, "'now' is not a time."),
        (
            ["--source", LOG, "--lake", "LAKE", "--from", "2026-11-22", "--to", "2026-11-21"],
            2,
            "Error: The window is empty: its end is not after its start.",
        ),
        (
            ["--source", LOG, "--lake", "LAKE", "--stop-after", "5"],
            2,
            "--stop-after needs --every.",
        ),
        (["--source", LOG, "--lake", "LAKE", "--every", "5", "--full"], 2, "without --every"),
        (["--source", LOG, "--lake", "LAKE", "--layers", "tin"], 2, "'tin' is not one of"),
        (["--source", "segments:/nowhere", "--lake", "LAKE"], 3, "Error: /nowhere does not exist."),
        (["--source", "delta:/nowhere", "--lake", "LAKE"], 3, "Error: /nowhere does not exist."),
        (["--source", LOG, "--lake", "FILE"], 3, "FILE is a file."),
        (["--source", LOG, "--lake", "FILE/deeper"], 3, "FILE is a file."),
    ],
)
def test_what_is_wrong_is_said_before_spark_starts(
    arguments: list[str], code: int, sentence: str, tmp_path: Path
) -> None:
    """One sentence and the exit code for the kind of mistake; nothing is written."""
    file = tmp_path / "file"
    file.touch()
    places = {"LAKE": str(tmp_path / "lake"), "FILE": str(file)}

    def placed(text: str) -> str:
        for name, path in places.items():
            text = text.replace(name, path)
        return text

    outcome = call("run", *map(placed, arguments))
    assert (outcome.code, outcome.out) == (code, "")
    assert placed(sentence) in outcome.err
    assert list(tmp_path.iterdir()) == [file]


def test_the_run_log_of_a_lake_holds_no_secrets(tmp_path: Path) -> None:
    """The configuration is written into the lake, the keys of a storage are not."""
    settings = {
        "source.spec": LOG,
        "lake.path": str(tmp_path),
        "spark.settings": {
            "spark.hadoop.fs.azure.account.key.name.dfs.core.windows.net": "pssst",
            "spark.driver.memory": "4g",
        },
    }
    recorded = run_request_of(load_config(flags=settings)).config
    assert recorded is not None
    assert "pssst" not in recorded
    assert '.dfs.core.windows.net" = "(hidden)"' in recorded
    assert '"spark.driver.memory" = "4g"' in recorded


@pytest.mark.parametrize(
    ("command", "java", "found"),
    [
        (["demo", "--spark", "--out"], None, r"found none \(JAVA_HOME=\S+\)"),
        (["run", "--source", LOG, "--lake"], "11.0.2", r"found Java 11 \(JAVA_HOME=\S+\)"),
    ],
)
def test_a_missing_or_old_java_is_one_sentence(
    command: list[str], java: str | None, found: str, tmp_path: Path
) -> None:
    """Reported before the demo unpacks anything and without a traceback of Spark's."""
    program = tmp_path / "home" / "bin" / "java"
    program.parent.mkdir(parents=True)
    if java is not None:
        program.write_text(f"#!/bin/sh\necho 'openjdk version \"{java}\"' >&2\n")
        program.chmod(0o755)
    out = tmp_path / "out"
    done = process(*command, out, env={**os.environ, "JAVA_HOME": str(tmp_path / "home")})
    assert done.returncode == exit_codes.BAD_ARGUMENTS
    assert re.search(f"Error: Spark needs Java 17 or newer, {found}; install it", done.stderr)
    assert "Traceback" not in done.stderr
    assert not out.exists()


def test_without_the_packages_of_spark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users who installed only the package learn what is missing and what works without it."""
    monkeypatch.setattr("rebalance_audit.extras.find_spec", lambda _name: None)
    outcome = call("run", "--source", LOG, "--lake", "lake")
    assert outcome.code == exit_codes.BAD_ARGUMENTS
    assert (
        "[spark]'`. inspect, explain, state and decode work on segments without it." in outcome.err
    )
