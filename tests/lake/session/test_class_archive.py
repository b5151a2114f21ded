from pathlib import Path

import pytest

from rebalance_audit.lake.session.class_archive import class_archive, sharing


@pytest.fixture
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of what can be made again."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "my caches"))
    return tmp_path / "my caches"


def test_java_is_told_of_an_archive_that_is_there(caches: Path) -> None:
    """And of none before: it would warn. The path may have blanks."""
    archive = class_archive()
    assert archive.is_relative_to(caches)
    assert sharing(archive) == ""
    archive.parent.mkdir(parents=True)
    archive.touch()
    assert sharing(archive).startswith(f'"-XX:SharedArchiveFile={archive}" -Xlog')


@pytest.mark.parametrize("variable", ["JAVA_HOME", "SPARK_HOME"])
def test_each_java_and_each_spark_has_its_own(
    caches: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """Java does not take what was made for another one, so two would write over each other's."""
    found = set()
    for place in ("/opt/one", "/opt/other"):
        monkeypatch.setenv(variable, place)
        found.add(class_archive())
    assert len(found) == 2
    assert {archive.parent for archive in found} == {caches / "rebalance-audit"}


def test_a_user_without_a_home_has_no_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in containers that run under any number: no archive, and no error."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", _no_such_user)
    assert sharing(class_archive()) == ""


def _no_such_user(_number: int) -> None:
    raise KeyError
