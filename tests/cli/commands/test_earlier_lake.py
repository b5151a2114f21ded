"""A lake that the first release of the tables wrote, read without Spark (tests/golden/PROVENANCE.md)."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from rebalance_audit.cli import exit_codes
from tests.cli.call import CAPTURES, call


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """The lake, unpacked."""
    with ZipFile(CAPTURES.parent / "lakes" / "0.1.0.zip") as packed:
        packed.extractall(tmp_path)
    return tmp_path / "lake"


@pytest.mark.parametrize("command", [["inspect"], ["explain", "fleet"], ["report", "--out", "p"]])
def test_a_table_that_came_later_is_named_with_what_to_do(command: list[str], lake: Path) -> None:
    """One sentence: what lacks, why, and that a run adds it."""
    outcome = call(*command, "--lake", lake, "--cluster", "golden")
    assert outcome.code == exit_codes.NOT_READABLE
    assert "has no table gold.findings: an earlier release wrote this lake." in outcome.err
    assert "One `rebalance-audit run` over the same source" in outcome.err


def test_what_the_lake_has_is_shown(lake: Path) -> None:
    """The state of its groups needs no table that came later."""
    outcome = call("state", "--lake", lake, "--cluster", "golden")
    assert outcome.code == exit_codes.DONE
    assert '"group_id": "fleet"' in outcome.out
