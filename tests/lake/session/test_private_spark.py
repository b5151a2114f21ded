"""The private parts of Spark: in one module, and refused in a sentence where there are none."""

import re
from pathlib import Path

import pytest

from rebalance_audit.cli import exit_codes
from rebalance_audit.resources import checkout_root
from tests.cli.call import call

PRIVATE = re.compile(
    r"\._(jvm|jsc|jdf|gateway|jsparkSession|stackTrace)\b|_accumulatorServer|sessionState\(|DeltaLog\b"
)


def test_private_parts_are_used_in_one_module() -> None:
    """Whoever moves to another Spark finds there what has to be looked at."""
    source = checkout_root() / "src"
    using = [path.stem for path in source.rglob("*.py") if PRIVATE.search(path.read_text())]
    assert using == ["private_spark"]


@pytest.mark.parametrize("command", ["run", "check", "maintain"])
def test_spark_connect_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str
) -> None:
    """Before anything is started, with what to do."""
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost:15002")
    ended = call(command, "--lake", tmp_path)
    assert ended.code == exit_codes.BAD_ARGUMENTS, ended.err
    assert "SPARK_REMOTE asks for Spark Connect" in " ".join(ended.err.split())
