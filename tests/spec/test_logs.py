"""Logs of both protocols, real ones and simulated ones, are behaviours of the specifications."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.spec.logs import Judges, captures, judge_capture, judge_seed, judges

pytestmark = pytest.mark.spec

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


@pytest.mark.parametrize(
    ("seed", "minutes"),
    [
        pytest.param(2, 1, id="assignors of the broker, whose targets must be legal"),
        pytest.param(25, 1, id="expressions, first without topics, then for the same ones"),
        pytest.param(15, 2, id="a static leader that stays away"),
        pytest.param(35, 2, id="brokers that are upgraded"),
        pytest.param(30, 2, id="generations of an empty group that no record shows"),
        pytest.param(94, 1, id="static members that an admin removes and that come back"),
        pytest.param(120, 1, id="a first member with another assignor than the default"),
    ],
)
def test_a_simulation_is_a_behaviour_of_the_specification(
    seed: int, minutes: int, by: Judges
) -> None:
    """Clients, releases and faults drawn by the seed."""
    verdict = judge_seed(by, seed, minutes)
    assert verdict.refused == []
    assert verdict.accepted.total() > 10
