"""What is published: the same bytes from the same sources, with metadata that an index can show."""

import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from rebalance_audit.version import __version__
from tests.release.conftest import build


def test_two_builds_are_identical(release: list[Path], tmp_path: Path) -> None:
    """Whatever the folder is called, whoever builds, and whatever the files' times are."""
    again = build(tmp_path / "another name", umask=0o077)
    assert [file.name for file in again] == [file.name for file in release]
    for first, second in zip(release, again, strict=True):
        assert first.read_bytes() == second.read_bytes(), first.name


@pytest.fixture(scope="session")
def metadata(release: list[Path]) -> Message:
    """The core metadata of the wheel."""
    with zipfile.ZipFile(next(file for file in release if file.suffix == ".whl")) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        return message_from_bytes(wheel.read(name))


def test_the_metadata_says_what_it_is(metadata: Message) -> None:
    """A page of the package has its summary, its text, its licence and its extras."""
    assert metadata["Version"] == __version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "consumer group" in metadata["Summary"]
    assert set(metadata.get_all("Provides-Extra", [])) == {"all", "notebook", "quality", "spark"}
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])


def test_the_default_install_names_ranges(metadata: Message) -> None:
    """Exact versions would exclude every other package of an environment; lock files have them."""
    needed = [each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each]
    assert needed
    assert [each for each in needed if "==" in each.partition(";")[0]] == []
    assert [each for each in needed if each.startswith(("pyspark", "delta-spark", "pandas"))] == []


def test_the_wheel_has_types_and_data(release: list[Path]) -> None:
    """`py.typed`, schemas, defaults, the demo's log and the jars' versions."""
    with zipfile.ZipFile(next(file for file in release if file.suffix == ".whl")) as wheel:
        names = set(wheel.namelist())
    assert {
        "rebalance_audit/py.typed",
        "rebalance_audit/demo_log.zip",
        "rebalance_audit/_data/conf/base.toml",
        "rebalance_audit/_data/conf/jars/ivy.xml",
        "rebalance_audit/_data/schemas/tables/gold.epochs.json",
    } <= names
    assert [name for name in names if name.startswith("tests/") or "/tests/" in name] == []
