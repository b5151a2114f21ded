"""Logs of both protocols, real ones and simulated ones, are behaviours of the specifications."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.spec.logs import Judges, captures, judge_capture, judge_seed, judges

pytestmark = pytest.mark.spec

IS_FULL: Final = bool(os.environ.get("SPEC_FULL"))
BUSY: Final = ("consumer", "classic", "broker")
"""Captures with names like these have many writes."""


@pytest.fixture(scope="module")
def by() -> Iterator[Judges]:
    """Evaluators that judge logs."""
    with judges() as found:
        yield found


@pytest.mark.parametrize("capture", captures(), ids=lambda each: each.name)
def test_a_capture_is_a_behaviour_of_the_specification(capture: Path, by: Judges) -> None:
    """Every write of a consumer group is a step that the specification allows, every generation the end of a run."""
    verdict = judge_capture(by, capture)
    assert verdict.refused == []
    if capture.name.startswith(BUSY):
        assert verdict.accepted.total() > 20


@pytest.mark.parametrize("seed", [2, 14][: 1 + IS_FULL])
def test_a_simulation_is_a_behaviour_of_the_specification(seed: int, by: Judges) -> None:
    """The broker's own assignors included: their targets must be legal."""
    verdict = judge_seed(by, seed, 1)
    assert verdict.refused == []
    assert verdict.accepted.total() > 10
