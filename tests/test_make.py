"""The first minute of a new user: what `make` says when something is missing, and what it does the second time."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rebalance_audit.resources import checkout_root

SUITES_WITH_MARKS = ("lake", "spark", "broker", "cluster", "swarm")
TOOLS = ("bash", "env", "make", "sed", "awk", "rm", "mkdir", "touch", "cat", "mv")
JAVA_17 = """echo 'openjdk version "17.0.9" 2023-10-17' >&2"""
PYTHON_39 = """case "$2" in *sys.exit*) exit 1 ;; *) echo Python 3.9.18 ;; esac"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of what `make` reads, beside a folder `bin` that is the whole PATH."""
    root = checkout_root()
    for name in ("Makefile", "requirements.txt", "pyproject.toml"):
        shutil.copy(root / name, tmp_path)
    shutil.copytree(root / "scripts", tmp_path / "scripts")
    shutil.copytree(root / "conf", tmp_path / "conf")
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, tool
        (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def program(folder: Path, name: str, script: str) -> None:
    """Put a program of our own on the PATH."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{script}\n")
    path.chmod(0o755)


def make(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run make with nothing but the project's own PATH."""
    kept = {"HOME": os.environ.get("HOME", "/"), "PATH": str(project / "bin")}
    return subprocess.run(
        ["make", "--no-print-directory", *arguments],
        cwd=project,
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("target", ["demo", "test"])
@pytest.mark.parametrize(
    ("java", "sentence"),
    [
        (
            None,
            "Java 17 or newer is needed, found none (java on PATH); install it or set JAVA_HOME",
        ),
        (
            """echo 'openjdk version "11.0.2" 2019' >&2""",
            "Java 17 or newer is needed, found Java 11.0.2 ",
        ),
        (
            """echo 'java version "1.8.0_392"' >&2""",
            "Java 17 or newer is needed, found Java 1.8.0_392 ",
        ),
        ("echo 'no Java runtime present' >&2; exit 1", "Java 17 or newer is needed, found none "),
    ],
    ids=["no Java", "Java 11", "Java 8", "a placeholder"],
)
def test_missing_or_old_java_is_one_sentence(
    java: str | None, sentence: str, target: str, project: Path
) -> None:
    """Without Java 17 `make demo` and `make test` say so and stop before anything is installed."""
    if java is not None:
        program(project / "bin", "java", java)
    made = make(project, target)
    assert made.returncode != 0
    assert made.stderr.splitlines()[0].startswith(sentence)
    assert not (project / ".venv").exists()


@pytest.mark.parametrize(
    ("node", "found"),
    [(None, "none"), ("echo v16.20.2", "v16.20.2"), ("exit 127", "none")],
    ids=["no Node", "Node 16", "a placeholder"],
)
@pytest.mark.parametrize("target", ["test-spec", "spec"])
def test_missing_or_old_node_is_one_sentence(
    node: str | None, found: str, target: str, project: Path
) -> None:
    """Only the specifications need Node; without it their targets say so and stop before anything is installed."""
    if node is not None:
        program(project / "bin", "node", node)
    made = make(project, target)
    assert made.returncode != 0
    assert made.stderr.splitlines()[0] == (
        "Node.js 18 or newer with npm is needed for the specifications, "
        f"found {found} on PATH; install it"
    )
    assert not (project / ".venv").exists()


def test_java_home_goes_before_the_path(project: Path) -> None:
    """Spark takes the Java of JAVA_HOME, so that is the one that must be new enough."""
    program(project / "bin", "java", JAVA_17)
    old = project / "jdk8"
    program(old / "bin", "java", """echo 'openjdk version "1.8.0_1"' >&2""")
    made = make(project, "java", JAVA_HOME=str(old))
    assert made.returncode != 0
    assert f"found Java 1.8.0_1 (JAVA_HOME={old})" in made.stderr
    assert make(project, "java").returncode == 0


@pytest.mark.parametrize("target", ["demo", "test", "setup"])
@pytest.mark.parametrize(
    ("python", "found"),
    [(None, "none"), (PYTHON_39, "Python 3.9.18"), ("exit 127", "none")],
    ids=["no Python", "Python 3.9", "a placeholder"],
)
def test_missing_or_old_python_is_one_sentence(
    python: str | None, found: str, target: str, project: Path
) -> None:
    """Without Python 3.11 every way in says so and stops before anything is installed."""
    program(project / "bin", "java", JAVA_17)
    if python is not None:
        program(project / "bin", "python3", python)
    made = make(project, target)
    assert made.returncode != 0
    assert made.stderr.splitlines()[0] == (
        f"Python 3.11 or newer is needed, found {found}; "
        "install it or name it: make PYTHON=/path/to/python3"
    )
    assert not (project / ".venv").exists()


@pytest.mark.parametrize(
    ("changed", "installs"),
    [(None, False), ("requirements.txt", True), ("pyproject.toml", True)],
)
def test_what_is_installed_is_installed_once(
    changed: str | None, installs: bool, project: Path
) -> None:
    """The second `make` starts at once; a changed lock or project installs again."""
    stamp = project / ".venv" / ".installed"
    stamp.parent.mkdir()
    for name in ("requirements.txt", "pyproject.toml"):
        os.utime(project / name, (1_000, 1_000))
    stamp.touch()
    os.utime(stamp, (2_000, 2_000))
    if changed is not None:
        os.utime(project / changed, (3_000, 3_000))
    made = make(project, "--dry-run", "setup")
    assert ("scripts/install" in made.stdout) is installs


@pytest.mark.parametrize("mark", ["spark", "quality", "cluster", "broker", "swarm"])
def test_every_file_with_a_mark_is_read_by_a_suite(mark: str, project: Path) -> None:
    """`make test-spark` and its like read some folders: nothing that has their mark lies elsewhere."""
    made = make(project, "--dry-run", *(f"test-{suite}" for suite in SUITES_WITH_MARKS))
    read = {
        Path(word)
        for line in made.stdout.splitlines()
        if "-m pytest" in line
        for word in line.split()
        if word.startswith("tests/")
    }
    root = checkout_root()
    files = [
        file.relative_to(root)
        for file in root.glob("tests/**/*.py")
        if re.search(rf"pytest\.mark\.{mark}\b", file.read_text())
    ]
    assert files
    assert [file for file in files if not read & {file, *file.parents}] == []


def test_every_suite_is_run_or_by_hand() -> None:
    """Both together leave out only what takes more than the project installs, or repeats a suite in another way."""
    makefile = (checkout_root() / "Makefile").read_text(encoding="utf-8")
    run = " ".join(re.findall(r"^(?:MORE_)?SUITES := (.*)$", makefile, re.MULTILINE))
    suites = {
        name
        for targets in re.findall(r"^(test-[a-z -]+):", makefile, re.MULTILINE)
        for name in targets.split()
    }
    assert suites - set(run.split()) == {
        "test-all",
        "test-endurance",
        "test-writers",
        "test-release",
        "test-deploy",
        "test-platforms",
        "test-superset",
    }


def test_help_comes_first(project: Path) -> None:
    """`make` alone lists the targets and does nothing else."""
    made = make(project)
    assert made.returncode == 0
    listed = [line.split()[0] for line in made.stdout.splitlines()]
    assert listed[0] == "help"
    assert {"setup", "demo", "test", "lint", "types", "contracts", "lock", "dist"} <= set(listed)


def test_the_lock_of_the_specifications_has_hashes_and_no_address() -> None:
    """Packages come from whatever registry npm is configured with."""
    lock = (checkout_root() / "spec" / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock
    assert lock.count('"integrity": "sha512-') > 50


def test_the_lock_has_a_hash_for_everything_and_no_address() -> None:
    """Every line of the lock is a package with its exact version, or a hash of it."""
    lines = (checkout_root() / "requirements.txt").read_text(encoding="utf-8").splitlines()
    packages = [line for line in lines if not line.startswith("    --hash=sha256:")]
    assert all("==" in line and "://" not in line and " @ " not in line for line in packages)
    hashed = [index for index, line in enumerate(lines) if line in packages]
    assert all(lines[index + 1].startswith("    --hash=sha256:") for index in hashed)
    assert len(packages) > 50


def test_what_debian_has_is_left_out_where_it_cannot_be_had(project: Path) -> None:
    """No browser, no promtool, no apt: a line for each, and the other suites are not lost with them."""
    (project / ".venv").mkdir()
    (project / ".venv" / ".installed").touch()
    done = make(project, "test-page", "test-alerts")
    assert done.returncode == 0, done.stderr
    assert "The page was not tried in a browser" in done.stdout
    assert "Alert rules were not checked" in done.stdout
