"""docs/python.md is run, line by line, on a real log and on the lake that an earlier release made of it."""

import doctest
import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from rebalance_audit.resources import checkout_root
from tests.cli.call import segments

ROOT = checkout_root()
PAGE = ROOT / "docs" / "python.md"
FENCE = re.compile(r"^```.*$", re.MULTILINE)


def test_the_examples_print_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every example, in order, as one session."""
    log = segments("consumer-static")
    (tmp_path / "copy-of-log").symlink_to(log)
    (tmp_path / "server.log.gz").symlink_to(log.parent / "server.log.gz")
    with ZipFile(ROOT / "tests" / "golden" / "lakes" / "0.1.0.zip") as packed:
        packed.extractall(tmp_path)
    monkeypatch.chdir(tmp_path)
    text = FENCE.sub("", PAGE.read_text(encoding="utf-8"))
    page = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert len(page.examples) > 20
    printed: list[str] = []
    outcome = doctest.DocTestRunner(verbose=False).run(page, out=printed.append)
    assert outcome.failed == 0, "".join(printed)
