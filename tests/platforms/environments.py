"""Makes the environments of the smoke suite, in build/platforms: packages by uv, jars by `rebalance-audit jars`."""

import os
import subprocess
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Final

from rebalance_audit.resources import checkout_root
from rebalance_audit.spark_release import spark_releases
from tests.platforms.platforms import SparkEnvironment

ROOT: Final = checkout_root()
FOLDER: Final = ROOT / "build" / "platforms"
UV: Final = ROOT / ".venv" / "bin" / "uv"
MADE: Final = ".made"
"""A file in a finished environment, with a digest of what it was made of."""


class EnvironmentNotMade(Exception):  # noqa: N818 - named for what the reader of the result reads
    """A package or a jar could not be had; the message ends with the words of uv or Ivy."""


def python_of(environment: SparkEnvironment) -> Path:
    """Its interpreter."""
    return FOLDER / environment.name / "bin" / "python"


def jars_of(environment: SparkEnvironment) -> Path:
    """Its jars of Delta Lake and the Kafka source."""
    return FOLDER / environment.name / "jars"


def make(environment: SparkEnvironment) -> None:
    """Make it unless it is there. Raises EnvironmentNotMade."""
    folder = FOLDER / environment.name
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted_of = (environment, project, (ROOT / "conf/jars/ivy.xml").read_text())
    digest = sha256(repr(wanted_of).encode()).hexdigest()
    made = folder / MADE
    if made.is_file() and made.read_text() == digest:
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    python = str(python_of(environment))
    wanted = FOLDER / f"{environment.name}.in"
    wanted.write_text(f"{environment.requirement}\n")
    packages = FOLDER / f"{environment.name}.txt"
    _done(UV, "venv", "--quiet", "--clear", "--python", environment.python, folder)
    _done(
        *(UV, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", python),
        *("--resolution", environment.resolution, "--extra", "quality"),
        *(ROOT / "pyproject.toml", wanted, "-o", packages),
    )
    _done(UV, "pip", "install", "--quiet", "--python", python, "-r", packages)
    _done(UV, "pip", "install", "--quiet", "--python", python, "--no-deps", "-e", ROOT)
    # The first is that of the Scala release for which the wheel of pyspark is built.
    release = next(each for each in spark_releases() if each.spark == environment.spark)
    _done(
        *(ROOT / ".venv/bin/rebalance-audit", "jars", "--configuration", release.configuration),
        *("--out", jars_of(environment)),
    )
    made.write_text(digest)


def _done(*command: str | Path) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env={**os.environ, "VIRTUAL_ENV": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        words = " ".join(done.stderr.split())[-300:]
        raise EnvironmentNotMade(f"{Path(command[0]).name} {command[1]}: {words}")
