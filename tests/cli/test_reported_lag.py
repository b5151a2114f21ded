"""Lag as people saw it go wrong (tests/golden/reported): logs of group `g` beside samples of end offsets."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.call import call

REPORTED = Path(__file__).parents[1] / "golden" / "reported"


def audited(case: str) -> dict[str, list[dict[str, Any]]]:
    """What `inspect --json` prints."""
    folder = REPORTED / case
    samples = folder / "samples.jsonl"
    outcome = call("inspect", folder / "segments", "--end-offsets", samples, "--json")
    assert outcome.code == 0, outcome.err
    found: dict[str, list[dict[str, Any]]] = json.loads(outcome.out)
    return found


@pytest.mark.parametrize(
    ("case", "findings"),
    [
        # retention deleted all that waited
        ("lag-all-expired", []),
        # MirrorMaker committed an offset of another cluster: kafka-consumer-groups shows a lag of -4871
        (
            "lag-beyond-end",
            [
                (
                    "The committed offset of 1 partition lay beyond the end by up to 4,871 offsets for at least 39 min "
                    "55 s."
                )
            ],
        ),
        ("starts-at-latest", []),
        ("offsets-deleted-and-abandoned", []),
    ],
)
def test_findings(case: str, findings: list[str]) -> None:
    """What waits, and what cannot."""
    assert [row["detail"] for row in audited(case)["findings"]] == findings


def test_who_begins_at_the_end_has_not_caught_up() -> None:
    """As many records as waited may have been skipped."""
    folder = REPORTED / "starts-at-latest"
    arguments = "g", "--epoch", "4", "--end-offsets", folder / "samples.jsonl"
    text = " ".join(call("explain", folder / "segments", *arguments).out.split())
    assert "As many as 89,670 records may have been skipped" in text
    assert "Caught up" not in text
    assert audited("starts-at-latest")["rebalances"][2]["records_skipped_max"] == 89_670


def test_a_state_names_topics_as_later_records_do() -> None:
    """The first commit for the new topic, which has its id and its name, comes after the moment."""
    folder = REPORTED / "offsets-deleted-and-abandoned" / "segments"
    outcome = call("state", folder, "--at", "2026-11-21T09:09:10Z")
    (group,) = json.loads(outcome.out)["groups"]
    assert [member["assignment"] for member in group["members"]] == [{"bar": [0]}]
    assert call("state", folder, "--at", "1795252150").out == outcome.out
