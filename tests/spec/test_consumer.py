"""The consumer protocol: properties of its specification, traces of it in the handlers, real logs as its behaviours."""

import os
from collections.abc import Sequence
from typing import Any, Final

import pytest

from tests.spec.consumer_player import DifferenceError, play
from tests.spec.engine import CONSUMER, ask, mistaken, traces
from tests.spec.handler_mistakes import HANDLER_MISTAKES, RARELY_SEEN, Patch
from tests.spec.logs import GOLDEN, RUNS, judge_capture, judges
from tests.spec.spec_mistakes import (
    SEEN_BY_CAPTURES,
    SEEN_BY_PROPERTIES,
    SEEN_BY_STATIC_RETURNS,
    SEEN_SOON,
)

pytestmark = pytest.mark.spec

IS_FULL: Final = bool(os.environ.get("SPEC_FULL"))
"""Everything, or a part that takes a minute."""
TRACES: Final = 600 if IS_FULL else 220
PART: Final = 99 if IS_FULL else 3
STEPS: Final = 50
CONTRADICTING: Final = GOLDEN / "consumer-static"
"""The capture that contradicts each mistake of `SEEN_BY_CAPTURES`."""


@pytest.fixture(scope="module")
def recorded() -> Sequence[Any]:
    """Random runs of the specification, from all releases."""
    return list(traces(RUNS, CONSUMER, TRACES, 1, STEPS))


def test_properties_hold_in_random_runs() -> None:
    """Ownership, epochs, stability, static returns; and from each state the group converges without further faults."""
    found = ask("check", RUNS, CONSUMER, traces=PART * 3, steps=STEPS, properties="safe,converges")
    assert found["broken"] is None, found


def test_each_mistake_in_the_specification_breaks_a_property() -> None:
    """The properties are not true of everything."""
    mistakes = [each for each in SEEN_BY_PROPERTIES if IS_FULL or each.name in SEEN_SOON]
    count = 400 if IS_FULL else 20
    found = mistaken(RUNS, CONSUMER, mistakes, traces=count, steps=STEPS, seed=1)
    if IS_FULL:
        found |= mistaken(
            "consumerStatic", CONSUMER, SEEN_BY_STATIC_RETURNS, traces=80, steps=STEPS
        )
    assert {name for name, seen in found.items() if seen is None} == set()
    assert len(found) == (len(mistakes) + len(SEEN_BY_STATIC_RETURNS) if IS_FULL else 2)


def test_the_handlers_do_what_the_specification_does(recorded: Sequence[Any]) -> None:
    """Step by step: answers, epochs, members, targets and timers."""
    assert sum(map(play, recorded)) > len(recorded) * STEPS * 0.9
    assert {trace["states"][0]["release"] for trace in recorded} >= {
        "3.9",
        "4.0",
        "4.1",
        "4.3",
        "4.4",
    }


@pytest.mark.parametrize("mistake", HANDLER_MISTAKES, ids=lambda each: each.__name__)
def test_a_mistake_in_the_handlers_is_seen(
    mistake: Patch, recorded: Sequence[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A trace separates it from the specification."""
    mistake(monkeypatch)
    with pytest.raises(DifferenceError):
        sum(map(play, recorded))


@pytest.mark.parametrize(
    ("mistake", "seed"), RARELY_SEEN, ids=lambda each: getattr(each, "__name__", str(each))
)
def test_a_mistake_that_few_traces_see(
    mistake: Patch, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes several revocations in a row; this trace has them."""
    (trace,) = traces(RUNS, CONSUMER, 1, seed, STEPS)
    play(trace)
    mistake(monkeypatch)
    with pytest.raises(DifferenceError):
        play(trace)


@pytest.mark.parametrize("mistake", SEEN_BY_CAPTURES[: PART - 2], ids=lambda each: each.name)
def test_a_mistake_in_the_specification_contradicts_a_capture(mistake: Any, tmp_path: Any) -> None:
    """What no property sees, a real log does."""
    text = CONSUMER.read_text()
    assert text.count(mistake.text) == 1
    wrong = tmp_path / "consumer.qnt"
    wrong.write_text(text.replace(mistake.text, mistake.by))
    with judges(consumer=wrong) as by:
        assert judge_capture(by, CONTRADICTING).refused
