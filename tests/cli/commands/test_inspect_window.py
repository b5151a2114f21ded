"""`inspect --from --to --limit`: text for people keeps to them as rows for programs do, and says what it leaves out."""

import json
import re

import pytest

from tests.cli.call import call, segments

LOG = segments("consumer-protocol")
DAY = "2026-11-21"
MIDDLE = ("--from", f"{DAY}T09:25:10Z", "--to", f"{DAY}T09:25:20Z")
LATER = ("--from", f"{DAY}T09:25:54Z")


def inspected(*arguments: str) -> str:
    """The text, its lines joined: where it breaks depends on the terminal."""
    outcome = call("inspect", LOG, *arguments)
    assert outcome.code == 0, outcome.err
    return " ".join(outcome.out.split())


@pytest.mark.parametrize(
    ("limits", "sentences"),
    [
        (
            MIDDLE,
            [
                "Only what began between 2026-11-21 09:25:10.000 UTC and 2026-11-21 09:25:20.000 UTC:",
                "UTC: 3 of 32 rebalances, 5 of 36 epochs, 1 of 3 findings.",
                "2 rebalances that began before went on then and are not shown: slow, stuck.",
                "4 groups with none of them are left out.",
                "4 groups, 5 epochs, 3 rebalances;",
            ],
        ),
        (MIDDLE[2:], ["Only what began before 2026-11-21 09:25:20.000 UTC: 22 of 32 rebalances"]),
        (MIDDLE[:2], ["Only what began at 2026-11-21 09:25:10.000 UTC or later: 13 of 32"]),
        (LATER, ["0 of 32 rebalances", "8 groups with none", "No rebalance began in that window."]),
        (
            (*LATER, "--group", "slow"),
            ["0 of 2 rebalances", "Last epoch 4;", "It had no rebalance in that window."],
        ),
        (("--limit", "3"), ["the 3 most unsettled of 8", "the 3 longest of 32"]),
        (("--limit", "0"), ["Rebalances: the 0 longest of 32"]),
        (
            ("--limit", "1", "--group", "slow", "--epochs"),
            ["Rebalances: the 1 latest of 2", "… and 2 earlier epochs", "Members: the 1 latest"],
        ),
    ],
)
def test_the_text_says_what_it_leaves_out(limits: tuple[str, ...], sentences: list[str]) -> None:
    """Counts of what is shown and of what there is; a group asked for by name is never left out."""
    text = inspected(*limits)
    assert [sentence for sentence in sentences if sentence not in text] == []


@pytest.mark.parametrize("limits", [MIDDLE, MIDDLE[:2], MIDDLE[2:], LATER])
def test_text_and_json_mean_the_same_stretch_of_time(limits: tuple[str, ...]) -> None:
    """The text counts the rebalances and findings that --json has."""
    rows = json.loads(call("inspect", LOG, "--json", *limits).out)
    text = inspected(*limits)
    for table in ("rebalances", "findings"):
        counted = re.search(rf"(\d+) of \d+ {table}", text)
        assert counted is not None
        assert int(counted[1]) == len(rows[table])


def test_the_member_that_held_a_rebalance_up_is_named_though_it_ended_later() -> None:
    """A rebalance keeps its epochs, also those past the end of the time asked for."""
    whole = inspected("--group", "slow")
    cut = inspected("--group", "slow", "--to", f"{DAY}T09:25:10Z")
    sentence = "took 10.6 s: slow-0 at 127.0.0.1 held it up for 10.0 s."
    assert sentence in whole
    assert sentence in cut


def test_nothing_is_said_about_limits_where_there_are_none() -> None:
    """The usual text has no sentence on what was left out."""
    assert "Only what began" not in inspected()
