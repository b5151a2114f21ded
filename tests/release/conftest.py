"""The release of this checkout, built and installed elsewhere."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_audit.resources import checkout_root

BUILT_FROM = (
    "src",
    "schemas",
    "conf",
    "jobs",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "pyproject.toml",
)


def build(folder: Path, umask: int = 0o022) -> list[Path]:
    """Wheel and sdist of a copy of the checkout in a folder of any name."""
    folder.mkdir(parents=True)
    for name in BUILT_FROM:
        source = checkout_root() / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, folder / name)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", "out"],
        cwd=folder,
        check=True,
        capture_output=True,
        umask=umask,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1790000000"},
    )
    return sorted((folder / "out").iterdir())


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Sdist and wheel."""
    return build(tmp_path_factory.mktemp("release") / "first")


@pytest.fixture(scope="session")
def environment(release: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel and what it needs, and no extra; far from the checkout."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    wheel = next(file for file in release if file.suffix == ".whl")
    subprocess.run(
        [checkout_root() / "scripts" / "install", folder, wheel],
        cwd=checkout_root(),
        check=True,
        env={
            **os.environ,
            "PYTHON": sys.executable,
            "UV": str(Path(sys.executable).with_name("uv")),
        },
    )
    return folder
