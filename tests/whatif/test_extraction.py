"""Scripts from real logs: who ran when, how processes ended, what the group was like."""

import pytest

from rebalance_audit.local.audit import audit_segments
from rebalance_audit.whatif.extraction import refusal_of, script_of
from rebalance_audit.whatif.group_rows import group_rows
from rebalance_audit.whatif.script import (
    ProcessEnd,
    ProcessLife,
    Script,
    SlowRevocation,
    TopicExpansion,
)
from tests.cli.call import segments
from tests.whatif.paired import Paired, paired

T0_MS = 1_795_391_356_553
"""The first start in paired-churn-a; its script's moments are seconds after it."""


@pytest.fixture(scope="module")
def churn() -> Paired:
    """Closes, deaths, freezes, a rolling restart, growth, scaling out and in."""
    return paired("paired-churn-a")


def lives(script: Script, number: int) -> list[ProcessLife]:
    """The processes of member `number`."""
    suffix = f"-{number}"
    return next(each.lives for each in script.instances if each.name.endswith(suffix))


@pytest.mark.parametrize(
    ("group", "protocol", "static", "session_ms", "heartbeat_ms"),
    [
        ("same-eager", "classic", False, 6_000, 1_000),
        ("same-coop", "classic", False, 6_000, 1_000),
        ("same-static", "classic", True, 30_000, 1_000),
        ("same-848", "consumer", False, 6_000, 1_000),
        ("same-848-static", "consumer", True, 30_000, 1_000),
    ],
)
def test_settings_are_what_the_clients_had(
    churn: Paired, group: str, protocol: str, static: bool, session_ms: int, heartbeat_ms: int
) -> None:
    """Also those that no record has: sessions of the consumer protocol, heartbeats of either."""
    settings = churn.script(group).settings
    assert (settings.protocol, settings.is_static) == (protocol, static)
    assert (settings.session_timeout_ms, settings.heartbeat_interval_ms) == (
        session_ms,
        heartbeat_ms,
    )
    assert settings.rebalance_timeout_ms == 18_000


@pytest.mark.parametrize("group", ["same-eager", "same-coop", "same-static", "same-848"])
def test_a_clean_restart_is_found_to_the_second(churn: Paired, group: str) -> None:
    """Member 2 closed 48.7 s in and was started again at 52.6 s."""
    first, second, *_ = lives(churn.script(group), 2)
    assert first.end is not None
    assert abs(first.end.middle - T0_MS - 48_700) < 1_000
    assert abs(second.start.middle - T0_MS - 52_600) < 1_500
    assert max(first.ends, key=lambda end: first.ends[end]) is ProcessEnd.CLOSED


def test_a_death_lies_one_session_before_it_was_noticed(churn: Paired) -> None:
    """Member 0 was killed 116.3 s in; the group noticed six seconds later."""
    for group in ("same-eager", "same-848"):
        killed = lives(churn.script(group), 0)[2]
        assert killed.end is not None
        assert killed.end.low - 1_000 <= T0_MS + 116_300 <= killed.end.high + 1_000
        assert killed.ends.get(ProcessEnd.KILLED, 0.0) > 0.9


def test_a_freeze_is_no_death_where_the_member_id_came_back(churn: Paired) -> None:
    """Member 3 of the consumer group stood still from 58.6 s on for longer than its session."""
    frozen = lives(churn.script("same-848"), 3)[0]
    assert frozen.ends == {ProcessEnd.FROZEN: 1.0}


def test_one_instance_has_all_processes_of_its_client(churn: Paired) -> None:
    """Five names; a process that joined while its dead predecessor was still a member is of the same instance."""
    for group in ("same-eager", "same-static", "same-848", "same-848-static"):
        script = churn.script(group)
        assert len(script.instances) == 5
        assert [len(lives(script, number)) for number in (1, 4)] == [2, 1]


def test_what_else_happened_is_in_the_script(churn: Paired) -> None:
    """Topic `events` grew 161.5 s in; member 2 took seconds to revoke at first."""
    script = churn.script("same-848")
    [growth] = [each for each in script.events if isinstance(each, TopicExpansion)]
    assert (growth.topic, growth.partitions) == ("events", 12)
    assert script.topics == {"events": 9, "orders": 12}
    slow = [each for each in script.events if isinstance(each, SlowRevocation)]
    assert "same-848-2" in {each.instance for each in slow}


def test_the_log_counts_as_the_broker_and_the_clients_did(churn: Paired) -> None:
    """Rebalances exactly, moves but for those that two generations undo at once."""
    for group, seen in churn.seen.items():
        logged = churn.script(group).logged
        assert logged.rebalances in {seen.rebalances, seen.rebalances - 1}
        assert abs(logged.partitions_moved - seen.partitions_moved) <= 4
        assert logged.unowned_high_ms is None or logged.unowned_high_ms >= 0


@pytest.mark.parametrize(
    ("capture", "group", "words"),
    [
        ("compacted", "churn", "The log was compacted: it holds 1 of the epochs up to 8"),
        ("offsets", "manual", "its application assigns partitions itself"),
        ("share-streams", "sharers", "It is a share group"),
        ("share-streams", "word-count", "It is a streams group"),
        ("share-streams", "word-count-classic", "Kafka Streams applications"),
    ],
)
def test_groups_that_cannot_be_asked_get_one_sentence(capture: str, group: str, words: str) -> None:
    """It says why."""
    audit = audit_segments(segments(capture), (group,))
    sentence = refusal_of(group_rows(audit.tables, group), None, None)
    assert sentence is not None
    assert words in sentence
    assert sentence.count(". ") == 0


def test_workers_of_connect_are_refused() -> None:
    """By the protocol type that they record."""
    rows = group_rows(audit_segments(segments("oddities")).tables, "missing")
    epoch = {
        "protocol": "classic",
        "protocol_type": "connect",
        "assignor": "sessioned",
        "completeness": "complete",
        "incarnation": 0,
        "epoch": 1,
        "started_at": 1,
        "target_installed_at": 1,
    }
    sentence = refusal_of(rows._replace(epochs=[epoch]), None, None)
    assert sentence is not None
    assert "Kafka Connect workers" in sentence


def test_every_group_of_every_log_has_a_script_or_a_refusal() -> None:
    """Whatever real brokers and clients left."""
    made = 0
    for capture in (
        "broker-3.3",
        "classic-static",
        "consumer-static",
        "failover",
        "migration",
        "oddities",
    ):
        audit = audit_segments(segments(capture))
        for group_id in sorted(audit.group_ids):
            rows = group_rows(audit.tables, group_id, audit.facts.last_ms)
            if refusal_of(rows, None, None) is None:
                script = script_of(rows)
                made += 1
                assert all(instance.lives for instance in script.instances)
                assert sum(script.topics.values()) >= 0
    assert made > 20
