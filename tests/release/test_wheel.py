"""The wheel alone, in an environment far from the checkout: what the pages promise of the default install."""

import json
import os
import re
import signal
import subprocess
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

OF_EXTRAS = (
    *("pyspark", "pandas", "great_expectations", "matplotlib"),
    *("numba", "deltalake", "mcp", "uvicorn"),
)
MEGABYTES_MOST = 370


@pytest.fixture(scope="session")
def demo(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `demo` left."""
    out = tmp_path_factory.mktemp("demo") / "out"
    done = run(environment, "demo", "--out", out)
    assert done.returncode == 0, done.stderr
    assert "10 groups, 168 epochs" in done.stdout
    return out


def command(environment: Path, *arguments: str | Path) -> list[str]:
    """The console script with these arguments."""
    return [str(environment / "bin" / "rebalance-audit"), *map(str, arguments)]


def surroundings() -> dict[str, str]:
    """Neither Java nor anything of the checkout."""
    kept = {name: os.environ[name] for name in ("HOME", "PATH", "TMPDIR") if name in os.environ}
    return {**kept, "JAVA_HOME": "/nonexistent", "COLUMNS": "100"}


def run(
    environment: Path, *arguments: str | Path, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """One command, from a folder that is not the checkout."""
    return subprocess.run(
        command(environment, *arguments),
        cwd=environment.parent,
        env=surroundings(),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
    )


def fetched(address: str) -> str:
    """What a server of ours on this machine answers."""
    host, _, path = address.removeprefix("http://").partition("/")
    connection = HTTPConnection(host, timeout=30)
    connection.request("GET", f"/{path}")
    with closing(connection):
        return connection.getresponse().read().decode()


def test_it_has_nothing_of_extras(environment: Path) -> None:
    """They bring Spark, lakes, agents, Numba, data frames and figures; what is left is small."""
    code = f"from importlib.util import find_spec; print([n for n in {OF_EXTRAS} if find_spec(n)])"
    done = subprocess.run(
        [environment / "bin" / "python", "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"
    files = (each.lstat() for each in environment.rglob("*") if each.suffix != ".pyc")
    assert sum(each.st_size for each in files) < MEGABYTES_MOST << 20


def test_the_demo_writes_text_and_page(demo: Path) -> None:
    """Neither Spark nor Java."""
    assert {path.name for path in demo.iterdir()} == {"log", "report.txt", "report.html"}
    assert "<html" in (demo / "report.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("inspect", "LOG"), "10 groups, 168 epochs"),
        (("inspect", "LOG", "--json", "--brief"), '"groups"'),
        (("explain", "LOG", "group-7-consumer", "--epoch", "12"), "member joined"),
        (("state", "LOG", "--group", "group-7-consumer"), '"group-7-consumer"'),
        (("decode", "LOG", "--group", "group-7-consumer"), '"groupId":"group-7-consumer"'),
        (("metrics", "LOG"), "rebalance_audit_groups{"),
        (("report", "LOG", "--out", "OUT/page.html"), "10 groups"),
        (("export", "LOG", "--sqlite", "OUT/audit.sqlite"), "audit.sqlite"),
        (
            (
                "notify",
                "LOG",
                "--url",
                "http://127.0.0.1:9",
                "--sent",
                "OUT/sent.json",
                "--dry-run",
            ),
            "",
        ),
        (("--version",), "rebalance-audit"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_commands_need_no_extra(
    arguments: tuple[str, ...], expected: str, environment: Path, demo: Path, tmp_path: Path
) -> None:
    """On a log, each prints or writes what it promises."""
    places = {"LOG": str(demo / "log"), "OUT": str(tmp_path)}
    done = run(
        environment, *(re.sub("LOG|OUT", lambda m: places[m[0]], word) for word in arguments)
    )
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("run", "--source", "segments:LOG", "--lake", "OUT/lake"), "spark"),
        (("check", "--lake", "OUT/lake"), "quality"),
        (("inspect", "--lake", "OUT/lake"), "lake"),
        (("report", "--lake", "OUT/lake", "--out", "OUT/page.html"), "lake"),
        (("state", "--lake", "OUT/lake"), "lake"),
        (("mcp", "LOG"), "agents"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_what_needs_an_extra_says_what_to_install(
    arguments: tuple[str, ...],
    extra: str,
    environment: Path,
    demo: Path,
    release: list[Path],
    tmp_path: Path,
) -> None:
    """The command line that adds the extra to this very installation."""
    places = {"LOG": str(demo / "log"), "OUT": str(tmp_path)}
    done = run(
        environment, *(re.sub("LOG|OUT", lambda m: places[m[0]], word) for word in arguments)
    )
    assert done.returncode == 2
    wheel = next(file for file in release if file.suffix == ".whl")
    assert f"pip install --python {environment} '{wheel}[{extra}]'" in done.stderr


def test_large_logs_are_read_without_numba(environment: Path) -> None:
    """Only `warmup` says what would be faster."""
    done = run(environment, "warmup")
    assert done.returncode == 0
    assert "[fast]'" in done.stdout


def test_watch_prints_and_serves_metrics(environment: Path, demo: Path, tmp_path: Path) -> None:
    """JSON lines on stdout, metrics over HTTP, exit 0 on SIGTERM."""
    options = ("--json", "--since", "2026-11-21T00:00Z", "--metrics-port", "0")
    lines = tmp_path / "lines"
    with (
        lines.open("w") as out,
        subprocess.Popen(
            command(environment, "watch", f"segments:{demo / 'log'}", *options),
            cwd=environment.parent,
            env=surroundings(),
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        assert process.stderr is not None
        served = (re.search(r"http://\S+", line) for line in process.stderr)
        address = next(found[0] for found in served if found)
        text = ""
        for _ in range(200):
            text = fetched(address)
            if "rebalance_audit_group_state{" in text:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert "rebalance_audit_group_state{" in text
    assert process.returncode == 0
    first = json.loads(lines.read_text().splitlines()[0])
    assert first["rebalance"]["group_id"].startswith("group-")
