"""Scripts as files: what is written is read back, and what is wrong in one is named."""

import contextlib
from dataclasses import replace

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.errors import BadRequest
from rebalance_audit.whatif.script import (
    CoordinatorMove,
    GroupFacts,
    Logged,
    LoggedDelay,
    ProcessEnd,
    SlowRevocation,
    Spread,
    SubscriptionChange,
    TopicDeletion,
    TopicExpansion,
)
from rebalance_audit.whatif.script_file import script_from, script_text
from tests.whatif.scripts import T0, at, instance, script

WHOLE = replace(
    script(
        instance("pod-ü\n0", (100, ProcessEnd.KILLED, 130.5)),
        instance("pod-1", (50, ProcessEnd.CLOSED, None)),
        events=(
            TopicExpansion(Spread(T0, T0 + 5, T0 + 1), "orders", 16),
            TopicDeletion(at(70), "orders"),
            CoordinatorMove(at(80), Spread(50, 10_000, 1_000)),
            SlowRevocation(at(90), at(95), None, Spread(2_000, 3_000)),
            SubscriptionChange(at(99), "pod-1", ("orders", "other")),
        ),
        logged=Logged(3, 12, None, None, None, LoggedDelay(41, 30, None)),
    ),
    rates={"orders": [1.5, None, 0.0]},
    facts=GroupFacts(("classic",), ("range",), 2, 1, (6_000,), (), (), ("a.*",), 1, 3, ()),
)


def test_a_script_is_read_as_it_was_written() -> None:
    """Moments to the millisecond, uncertain ones with their bounds, any name."""
    text = script_text(WHOLE)
    assert script_from(text.encode(), "file") == WHOLE
    assert script_text(script_from(text.encode(), "file")) == text


def test_people_can_read_and_edit_it() -> None:
    """A line for each process and event, times in ISO 8601."""
    lines = script_text(WHOLE).splitlines()
    assert '"from": "2023-11-14T22:13:20.000Z"' in "\n".join(lines)
    assert any("killed" in line and "22:15:00.000Z" in line for line in lines)
    edited = script_text(WHOLE).replace('"killed":1.0', '"closed":0.25,"killed":0.75')
    ends = script_from(edited.encode(), "file").instances[0].lives[0].ends
    assert ends == {ProcessEnd.CLOSED: 0.25, ProcessEnd.KILLED: 0.75}


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("{", "[{", "f.json is not JSON"),
        (
            '"format": "reb',
            '"format": "other',
            "f.json: its format is not 'rebalance-audit what-if script 1'.",
        ),
        ('  "to":', '  "until":', "f.json: to: 'to' is missing."),
        (
            '"killed":1.0',
            '"vanished":1.0',
            "f.json: instances[0].processes[0].ended['vanished']: 'vanished' is not a",
        ),
        ('"killed":1.0', '"killed":-1.0', "probabilities of how a process ended"),
        ("2023-11-14T22:15:00.000Z", "noon", "'noon' is not a time"),
        ("2023-11-14T22:15:00.000Z", "-5m", "f.json: instances[0].processes[0].end: bounds must"),
        (
            '"low":2000,"high":3000',
            '"low":3000,"high":2000',
            "f.json: events[3].revoke_ms: bounds must be in order",
        ),
        ('"instance":"pod-1"', '"instance":"pod-7"', "'pod-7', which is not there"),
        ('"event":"topic_growth"', '"event":"flood"', "there is no event 'flood'"),
        (
            "[1.5,null,0.0]",
            "[-1.5]",
            "f.json: records_per_second: it must lie between 0 and 1,000,000,000",
        ),
        ('"instances":2,', '"instances":"two",', "f.json: facts.instances: 'two' is not a number."),
        ('"protocol":"classic"', '"protocol":"share"', "protocol is 'share'"),
        ('"name":"pod-1"', '"name":"pod-ü\\n0"', "two instances have the same name"),
    ],
)
def test_what_is_wrong_is_named(before: str, after: str, message: str) -> None:
    """One sentence with the file."""
    text = script_text(WHOLE)
    assert before in text
    with pytest.raises(BadRequest, match=r"f\.json") as error:
        script_from(text.replace(before, after, 1).encode(), "f.json")
    assert message in str(error.value)


VALUES = st.none() | st.booleans() | st.integers(-(1 << 63), 1 << 63) | st.text() | st.just([1])


@given(VALUES)
def test_any_value_in_any_field_is_read_or_a_bad_request(value: object) -> None:
    """Nothing in a file leads to another kind of error."""
    whole = orjson.loads(script_text(WHOLE))
    for field in whole:
        with contextlib.suppress(BadRequest):
            script_from(orjson.dumps({**whole, field: value}), "f.json")
