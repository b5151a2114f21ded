"""Stretches of time that the page, the picture and the trace draw alike."""

from collections import defaultdict
from typing import Any

import pytest

from rebalance_audit.report.timeline import held_stretches, revocations


@pytest.mark.parametrize(
    ("began_ms", "asked_ms", "revoked_ms", "drawn"),
    [
        (100, 110, 150, (110, 150)),
        (100, 110, None, (110, 200)),  # the epoch of 200 superseded it
        (200, 230, None, (230, 900)),  # the log ends before it is done
        (None, 110, None, (110, 200)),
        (100, None, None, None),  # it had nothing to give up
    ],
)
def test_a_revocation_ends_with_its_record_its_epoch_or_the_log(
    began_ms: int | None,
    asked_ms: int | None,
    revoked_ms: int | None,
    drawn: tuple[int, int] | None,
) -> None:
    """Epochs began at 100 and 200, and the log ends at 900 (ms)."""
    own: dict[str, list[dict[str, Any]]] = defaultdict(list)
    own["epochs"] = [{"started_at": 100}, {"started_at": None}, {"started_at": 200}]
    own["convergence"] = [
        {"started_at": began_ms, "revoke_started_at": asked_ms, "revoked_at": revoked_ms}
    ]
    found = [(from_ms, to_ms) for from_ms, to_ms, _ in revocations(own, 900)]
    assert found == ([] if drawn is None else [drawn])


@pytest.mark.parametrize(
    ("held", "ended_ms", "drawn"),
    [
        ((120, 180), 400, (120, 180)),
        ((120, None), 400, (120, 400)),
        ((120, None), None, (120, 900)),
        ((None, None), 400, None),
    ],
)
def test_a_member_holds_a_rebalance_up_no_longer_than_it_lasts(
    held: tuple[int | None, int | None], ended_ms: int | None, drawn: tuple[int, int] | None
) -> None:
    """The log ends at 900 (ms)."""
    row = {
        "ended_at": ended_ms,
        "held_up_member_ids": ["m-1"],
        "held_up_by": ["c-1"],
        "held_up_why": ["slow"],
        "held_up_ms": [None],
        "held_up_from": [held[0]],
        "held_up_to": [held[1]],
        "held_up_certainties": ["proven"],
    }
    found = [(from_ms, to_ms) for from_ms, to_ms, *_ in held_stretches([row], 900)]
    assert found == ([] if drawn is None else [drawn])
