"""Answers: the control against the log, ranking, seeds, parts of long histories, and the words around the numbers."""

import itertools

import pytest

from rebalance_audit.errors import BadRequest
from rebalance_audit.whatif.answer import evaluate, parts_of
from rebalance_audit.whatif.answer_forms import answer_object, markdown
from rebalance_audit.whatif.script import AppInstance, Logged, ProcessEnd, ProcessLife, exactly
from rebalance_audit.whatif.script_run import ScriptRun
from rebalance_audit.whatif.variant import (
    Deploy,
    Variant,
    changed,
    deploys_of,
    describe_settings,
    difference,
    variants_of,
)
from tests.whatif.scripts import CLASSIC, CONSUMER, STATIC, T0, at, instance, script

DEPLOY = script(
    *(instance(f"pod-{n}", (100 + 60 * n, ProcessEnd.CLOSED, 108 + 60 * n)) for n in range(4)),
    logged=Logged(8, 48, 0, 100_000),
)
"""Four instances, restarted one after the other."""


def test_a_change_is_compared_with_the_control() -> None:
    """Static members: no rebalance, no moves, and each partition waits for its restart."""
    found = evaluate(DEPLOY, [Variant(is_static=True)], seeds=4)
    [prediction] = found.predictions
    assert found.refused is None
    assert found.control.rebalances == (8, 8, 8)
    assert prediction.outcomes.rebalances == (0, 0, 0)
    assert prediction.outcomes.partitions_moved.high == 0
    assert prediction.outcomes.unowned_ms.low >= 12 * 8_000


@pytest.mark.parametrize(
    ("logged", "words"),
    [
        (Logged(16, 48, None, None), "8 rebalances where the log has 16"),
        (Logged(8, 200, None, None), "moved partitions where the log has 200"),
    ],
)
def test_a_control_that_misses_the_log_gives_no_advice(logged: Logged, words: str) -> None:
    """One sentence says what it misses, and there is no prediction."""
    missed = script(*DEPLOY.instances, logged=logged)
    found = evaluate(missed, variants_of(missed), seeds=3, ranked=True)
    assert found.refused is not None
    assert words in found.refused
    assert found.predictions == []
    answer = answer_object(found)
    assert answer["refused"] == found.refused
    assert answer["predicted"] == []
    assert answer["control"]["rebalances"]["median"] == 8


def test_variants_are_ranked_by_what_is_lost() -> None:
    """The least time without owner first; none is the group's own settings."""
    changes = variants_of(DEPLOY)
    found = evaluate(DEPLOY, changes, seeds=3, ranked=True)
    lost = [each.outcomes.unowned_ms.median for each in found.predictions]
    assert len(found.predictions) == len(changes) >= 5
    assert lost == sorted(lost)
    assert all(each.settings != DEPLOY.settings for each in found.predictions)


def test_the_object_has_the_shape_that_programs_read() -> None:
    """Ranges of median, low and high; settings of each prediction; the same seeds give the same object."""
    found = answer_object(evaluate(DEPLOY, [Variant(protocol="consumer")], seeds=3))
    assert found["group_id"] == "checkout"
    assert found["as_logged"] == {
        "rebalances": 8,
        "partitions_moved": 48,
        "unowned_ms": {"low": 0, "high": 100_000},
        "records_delayed": None,
    }
    [predicted] = found["predicted"]
    for losses in (found["control"], predicted):
        for measure in ("rebalances", "partitions_moved", "unowned_ms"):
            assert losses[measure]["low"] <= losses[measure]["median"] <= losses[measure]["high"]
    assert predicted["settings"]["protocol"] == "consumer"
    assert predicted["because"]
    assert predicted["costs"]
    assert answer_object(evaluate(DEPLOY, [Variant(protocol="consumer")], seeds=3)) == found


def test_the_words_name_what_it_costs() -> None:
    """A longer session, waiting partitions, the refusal of killed processes; names are text in Markdown."""
    renamed = script(
        AppInstance("*pod*", ("orders",), DEPLOY.instances[0].lives),
        *DEPLOY.instances[1:],
        logged=DEPLOY.logged,
    )
    change = Variant(protocol="consumer", is_static=True, session_timeout_ms=94_000)
    text = markdown(evaluate(renamed, [change], seeds=3))
    assert "A crash is noticed 1 min 24 s later" in text
    assert "While an instance is down, its partitions are not read" in text
    assert "UNRELEASED" in text
    assert "KIP-848" in text


def test_the_words_say_what_stayed_the_same() -> None:
    """No member crashes: a longer session changes neither number of the control."""
    text = markdown(evaluate(DEPLOY, [Variant(session_timeout_ms=94_000)], seeds=3))
    assert "8 rebalances, as before, and 40 partitions moved, as before." in text


def test_a_long_history_is_played_in_parts() -> None:
    """Each run plays another stretch, and the losses are scaled to the whole."""
    lives, start = [], at(-3_600)
    for number in range(2_000):
        lives.append(ProcessLife(start, at(100 * number + 50), {ProcessEnd.CLOSED: 1.0}))
        start = at(100 * number + 55)
    busy = AppInstance("pod-0", ("orders",), [*lives, ProcessLife(start)])
    long = script(busy, *map(instance, "abcdefghijklmnopqrst"), seconds=200_000)
    parts = parts_of(long, 6, None)
    assert len(parts) == 3
    assert 0 < parts[0].share < 0.2
    assert all(before.to_ms <= after.from_ms for before, after in itertools.pairwise(parts))
    assert [part.share for part in parts_of(long, 6, 5)] == [1.0] * 5
    part = parts[0]._replace(from_ms=T0, to_ms=T0 + 1_000_000, share=0.005)
    stretch = script(busy, *map(instance, "abc"), seconds=1_000)
    assert part.scaled(ScriptRun(stretch, CLASSIC, 0).run()).rebalances == 20 * 200


def test_deploys_can_be_done_another_way() -> None:
    """All at once there are fewer rebalances than one after the other; each instance is down for as long as it was."""
    [wave] = deploys_of(DEPLOY)
    assert [each.name for each, _ in wave] == ["pod-0", "pod-1", "pod-2", "pod-3"]
    at_once = changed(DEPLOY, Variant(deploy=Deploy(None)))
    assert [each.lives[0].end for each in at_once.instances] == [at(100)] * 4
    assert [each.lives[1].start for each in at_once.instances] == [at(108)] * 4
    assert (
        ScriptRun(at_once, CLASSIC, 0).run().rebalances
        < ScriptRun(DEPLOY, CLASSIC, 0).run().rebalances
    )
    rolling = changed(DEPLOY, Variant(deploy=Deploy(20_000)))
    assert [each.lives[0].end for each in rolling.instances] == [at(100 + 20 * n) for n in range(4)]


def test_a_group_can_have_more_or_fewer_members() -> None:
    """Copies do what their models do, a little later; of fewer those stay that ran longest."""
    more = changed(DEPLOY, Variant(members=6))
    assert [each.name for each in more.instances[4:]] == ["pod-0 +1", "pod-1 +1"]
    assert more.instances[4].lives[0].end == exactly(at(100).low + 3_000)
    fewer = changed(DEPLOY, Variant(members=2))
    assert len(fewer.instances) == 2
    assert (
        ScriptRun(more, CLASSIC, 0).run().rebalances > ScriptRun(fewer, CLASSIC, 0).run().rebalances
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            Variant(protocol="consumer", assignor="sticky"),
            "no assignor 'sticky', only uniform, range",
        ),
        (Variant(assignor="uniform"), "The classic protocol has no assignor 'uniform'"),
        (Variant(heartbeat_interval_ms=10_000), "does not keep a session of 10.0 s alive"),
    ],
)
def test_a_change_that_kafka_refuses_is_refused(change: Variant, message: str) -> None:
    """Before anything is simulated."""
    with pytest.raises(BadRequest, match=r"assignor|session") as error:
        evaluate(DEPLOY, [change], seeds=1)
    assert message in str(error.value)


def test_changes_in_a_few_words() -> None:
    """What differs, and nothing else; a shorter session brings a shorter heartbeat interval if it must."""
    assert difference(CLASSIC, Variant(is_static=True, session_timeout_ms=60_000)) == (
        "static members, session 1 min"
    )
    assert difference(CLASSIC, Variant("consumer")) == "consumer protocol, uniform"
    assert difference(CONSUMER, Variant("classic")) == "classic protocol, range"
    assert difference(STATIC, Variant(is_static=False)) == "dynamic members"
    assert (
        difference(CLASSIC, Variant(session_timeout_ms=1_500)) == "session 1.5 s, heartbeat 500 ms"
    )
    assert difference(CLASSIC, Variant(members=9, deploy=Deploy(30_000))) == (
        "9 instances, deploys rolling, 30.0 s apart"
    )
    assert describe_settings(CLASSIC) == "classic, range, dynamic, session 10.0 s"
