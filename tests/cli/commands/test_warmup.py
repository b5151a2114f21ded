import json
import shlex
import subprocess
from pathlib import Path

import pytest

from rebalance_audit.lake.session.class_archive import class_archive, sharing
from tests.cli.call import process, segments
from tests.tools.test_json_schemas import checked

LOADED = '"spark.driver.extraJavaOptions" = "-Xlog:class+load:file={file}"'
SOURCES = ("source: shared objects file (top)", "source: file:")
"""As Java logs a class from the archive, and one from a jar; lambdas, which it makes by itself, are neither."""


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `make test` has it made before; else made here."""
    found = class_archive()
    if not found.exists():
        summary = tmp_path_factory.mktemp("warmup") / "summary.json"
        made = process("warmup", "--summary", summary)
        assert made.returncode == 0, made.stderr
        told = json.loads(summary.read_bytes())
        checked("warmup", told)
        assert told["archive"] == str(found)
        assert told["size_bytes"] == found.stat().st_size
    assert [*found.parent.glob(".*")] == []
    return found


@pytest.mark.spark
def test_java_takes_its_classes_from_the_archive(archive: Path, tmp_path: Path) -> None:
    """Many more than from jars; some of those of Delta, which has a class loader of its own, Java does not keep."""
    assert archive.exists()
    config = tmp_path / "own.toml"
    config.write_text("[spark.settings]\n" + LOADED.format(file=tmp_path / "loaded.txt"))
    source = ("--source", f"segments:{segments('failover')}")
    done = process("run", *source, "--lake", tmp_path / "lake", "--config", config)
    assert done.returncode == 0, done.stderr
    loaded = (tmp_path / "loaded.txt").read_text().splitlines()
    for package, times in {"org.apache.spark.sql.": 10, "org.apache.spark.sql.delta.": 2}.items():
        of_package = [line for line in loaded if f" {package}" in line]
        shared, read = (sum(source in line for line in of_package) for source in SOURCES)
        assert shared > times * read, package


@pytest.mark.spark
def test_a_file_that_is_no_archive_does_no_harm(tmp_path: Path) -> None:
    """Java says nothing of it, not even on stdout, where the answers are."""
    for name, content in (("other", b"no archive"), ("empty", b"")):
        (tmp_path / name).write_bytes(content)
        done = java(sharing(tmp_path / name), "-version")
        assert (done.returncode, done.stdout) == (0, ""), name
        assert "warning" not in done.stderr.lower()


def java(options: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Java."""
    command = ["java", *shlex.split(options), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
