"""Makes the environments of the smoke suite, in build/platforms: packages by uv, jars by `rebalance-audit jars`.

An environment is kept until what it is made of changes. The package itself is installed anew, as a wheel of this
checkout: a run of the suite tests one state of it, whatever is edited meanwhile.
"""

import os
import shutil
import subprocess
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Final

from rebalance_audit.resources import checkout_root
from rebalance_audit.spark_release import spark_releases
from workshop.platforms.platforms import SparkEnvironment

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


def build_wheel() -> Path:
    """The package as pip would install it. Raises EnvironmentNotMade."""
    folder = FOLDER / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    command = (UV, "build", "--quiet", "--wheel", "--no-build-isolation")
    _done(*command, "--python", ROOT / ".venv/bin/python", "--out-dir", folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make(environment: SparkEnvironment, wheel: Path) -> None:
    """Make it unless it is there, and install the wheel. Raises EnvironmentNotMade."""
    _make(environment)
    pip = (UV, "pip", "install", "--quiet", "--python", python_of(environment))
    _done(*pip, "--no-deps", "--reinstall", wheel)


def _make(environment: SparkEnvironment) -> None:
    folder = FOLDER / environment.name
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    made_of = [
        (ROOT / name).read_text()
        for name in ("conf/jars/ivy.xml", *environment.versions)
        if (ROOT / name).is_file()
    ]
    wanted_of = (environment, project, made_of)
    digest = sha256(repr(wanted_of).encode()).hexdigest()
    made = folder / MADE
    if made.is_file() and made.read_text() == digest:
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    python = str(python_of(environment))
    wanted = FOLDER / f"{environment.name}.in"
    wanted.write_text("\n".join(environment.requirements))
    packages = FOLDER / f"{environment.name}.txt"
    _done(UV, "venv", "--quiet", "--clear", "--python", environment.python, folder)
    _done(
        *(UV, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", python),
        *(*environment.versions, "--extra", "quality"),
        *(ROOT / "pyproject.toml", wanted, "-o", packages),
    )
    _done(UV, "pip", "install", "--quiet", "--python", python, "-r", packages)
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
