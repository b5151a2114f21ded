"""A moment after the end of the log gets a sentence, not an all-clear."""

from pathlib import Path

import pytest

from tests.cli.call import call, segments

LOG = segments("compacted")
AFTER = "2030-01-01"


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", LOG, "churn", "--at", AFTER),
        ("state", LOG, "--at", AFTER),
        ("inspect", LOG, "--from", AFTER),
        ("inspect", LOG, "--json", "--from", AFTER),
        ("report", LOG, "--from", AFTER, "--out"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_what_happened_after_the_end_of_the_log_is_refused(
    arguments: tuple[str | Path, ...], tmp_path: Path
) -> None:
    """With the moment at which the log ends."""
    page = tmp_path / "page.html"
    outcome = call(*arguments, *([page] if arguments[-1] == "--out" else []))
    assert outcome.code == 2
    assert f"before {AFTER} 00:00:00.000 UTC" in f"{outcome.out} {outcome.err}"
    assert not page.exists()


def test_the_end_of_the_log_stands_in_every_text() -> None:
    """A reader sees how far the answer goes."""
    for arguments in (
        ("explain", LOG, "churn"),
        ("inspect", LOG),
        ("inspect", LOG, "--group", "churn"),
    ):
        assert "Log ends at 2026-11-21 " in call(*arguments).out
