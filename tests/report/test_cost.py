"""What a rebalance cost, in a sentence."""

from typing import Any

import pytest

from rebalance_audit.audit.lag.rebalance_cost import COST_COLUMNS
from rebalance_audit.report.epoch_sentences import cost_in_total, cost_of

BOUNDED = {
    "partitions_stopped": 4,
    "longest_stop_ms": 43_000,
    "records_delayed_min": 38_000,
    "records_delayed_max": 44_000,
    "records_delayed_estimate": 41_000,
    "records_delayed_by": "end_offsets",
    "records_lagged_min": 0,
    "records_read_again_min": 0,
    "records_read_again_max": 1_200,
    "records_read_again_estimate": 1_200,
}
ESTIMATED = {
    "longest_stop_ms": 43_000,
    "records_delayed_estimate": 41_000,
    "records_delayed_by": "commit_rate",
    "records_read_again_min": 0,
    "records_read_again_estimate": 900,
}


def _row(**known: Any) -> dict[str, Any]:
    return {**dict.fromkeys(COST_COLUMNS), **known}


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (
            BOUNDED,
            "Cost: about 41,000 records (38,000 – 44,000) up to 43.0 s late, at most 1,200 read twice.",
        ),
        (
            {
                **BOUNDED,
                "records_read_again_estimate": 900,
                "catch_up_max_ms": 3_000,
                "records_skipped_max": 0,
            },
            (
                "Cost: about 41,000 records (38,000 – 44,000) up to 43.0 s late, at most 1,200 read twice, "
                "likely 900. Caught up within 3.0 s."
            ),
        ),
        (
            # Who begins at the end has committed the end, and has not read what waited.
            {
                **BOUNDED,
                "records_read_again_max": 0,
                "catch_up_max_ms": 3_000,
                "records_skipped_max": 41_000,
                "records_skipped_why": "not_excluded",
            },
            (
                "Cost: about 41,000 records (38,000 – 44,000) up to 43.0 s late. As many as 41,000 records may have "
                "been skipped: the log shows the first offset that was committed after, not where reading began. "
                "The end was committed within 3.0 s."
            ),
        ),
        (
            ESTIMATED,
            "Cost: an estimated 41,000 records up to 43.0 s late (by the rate of commits before).",
        ),
        (
            {**BOUNDED, "records_delayed_max": None, "records_read_again_max": None},
            "Cost: about 41,000 records (38,000 or more) up to 43.0 s late.",
        ),
        (
            {**BOUNDED, "records_lagged_min": 30_000, "records_read_again_max": 0},
            "Cost: about 41,000 records (38,000 – 44,000) up to 43.0 s late (at least 30,000 of them waited before).",
        ),
        (
            {**ESTIMATED, "records_read_again_min": 50, "records_delayed_estimate": 0},
            "Cost: at least 50 read twice.",
        ),
        (
            {"records_skipped_why": "retention", "records_skipped_min": 700},
            "Cost: at least 700 deleted by retention before they were committed.",
        ),
        (
            {"records_skipped_why": "offsets_reset", "records_skipped_max": 230},
            "Cost: at most 230 skipped (the committed offset was moved while the group was empty).",
        ),
        ({"records_skipped_why": "not_excluded", "records_skipped_max": 230}, None),
        ({}, None),
    ],
)
def test_sentence(row: dict[str, Any], sentence: str | None) -> None:
    """What cannot be excluded is no cost, and nothing is said where nothing is known."""
    assert cost_of(_row(**row)) == sentence


def test_total() -> None:
    """It says what the sum rests on."""
    assert list(cost_in_total([_row()])) == []
    assert list(cost_in_total([_row(**BOUNDED), _row(**ESTIMATED)])) == [
        "Its rebalances delayed about 82,000 records, by up to 43.0 s, estimated by the rate of commits."
    ]
