"""The classic protocol: properties of its specification, and traces of it in the handlers."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.spec.classic_handler_mistakes import CLASSIC_HANDLER_MISTAKES
from tests.spec.classic_player import play_classic
from tests.spec.classic_spec_mistakes import (
    CLASSIC_SEEN_BY_CAPTURES,
    CLASSIC_SEEN_BY_PROPERTIES,
    CLASSIC_SEEN_SOON,
)
from tests.spec.consumer_player import DifferenceError
from tests.spec.engine import CLASSIC, ask, mistaken, traces
from tests.spec.handler_mistakes import Patch
from tests.spec.logs import GOLDEN, judge_capture, judges
from tests.spec.spec_mistakes import Mistake

pytestmark = pytest.mark.spec

RUNS: Final = "classicRuns"
IS_FULL: Final = bool(os.environ.get("SPEC_FULL"))
TRACES: Final = 600 if IS_FULL else 60
STEPS: Final = 50
CONTRADICTING: Final = GOLDEN / "classic-static"
"""The capture that contradicts each mistake of `CLASSIC_SEEN_BY_CAPTURES`."""


def test_properties_hold_in_random_runs() -> None:
    """Ownership, generations, leaders, records, static returns; and each state converges without further faults."""
    found = ask(
        "check", RUNS, CLASSIC, traces=TRACES // 5, steps=STEPS, properties="safe,converges"
    )
    assert found["broken"] is None, found


def test_each_mistake_in_the_specification_breaks_a_property() -> None:
    """The properties are not true of everything."""
    mistakes = [
        each for each in CLASSIC_SEEN_BY_PROPERTIES if IS_FULL or each.name in CLASSIC_SEEN_SOON
    ]
    found = mistaken(RUNS, CLASSIC, mistakes, traces=40, steps=STEPS, seed=1)
    assert {name for name, seen in found.items() if seen is None} == set()
    assert len(found) == len(mistakes)


@pytest.mark.parametrize(
    "mistake",
    CLASSIC_SEEN_BY_CAPTURES if IS_FULL else CLASSIC_SEEN_BY_CAPTURES[-1:],
    ids=lambda each: each.name,
)
def test_a_mistake_in_the_specification_contradicts_a_capture(
    mistake: Mistake, tmp_path: Path
) -> None:
    """What no property sees, a real log does."""
    text = CLASSIC.read_text()
    assert text.count(mistake.text) == 1
    wrong = tmp_path / "classic.qnt"
    wrong.write_text(text.replace(mistake.text, mistake.by))
    with judges(classic=wrong) as by:
        assert judge_capture(by, CONTRADICTING).refused


@pytest.fixture(scope="module")
def recorded() -> Sequence[Any]:
    """Random runs of the specification."""
    return list(traces(RUNS, CLASSIC, TRACES, 1, STEPS))


def test_the_handlers_do_what_the_specification_does(recorded: Sequence[Any]) -> None:
    """Step by step: every answer that becomes due, the live group, and what is recorded."""
    assert sum(map(play_classic, recorded)) == TRACES * STEPS


@pytest.mark.parametrize("mistake", CLASSIC_HANDLER_MISTAKES, ids=lambda each: each.__name__)
def test_a_mistake_in_the_handlers_is_seen(
    mistake: Patch, recorded: Sequence[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace separates it from the specification."""
    mistake(monkeypatch)
    with pytest.raises(DifferenceError):
        sum(map(play_classic, recorded))
