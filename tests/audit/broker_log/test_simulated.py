"""Simulated clusters, whose truth is known: a whole log proves nearly everything, half a log proves nothing wrong."""

import random
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.message import read_message
from rebalance_audit.audit.broker_log.passages import MARK
from rebalance_audit.audit.broker_log.read import LogReader
from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.coordinator.handling import Dialect
from rebalance_audit.replay.changes import Position
from rebalance_audit.sim.brokers.server_log import SERVER_LOG
from rebalance_audit.sim.options import Overrides
from rebalance_audit.sim.scenario import Simulation, simulate
from rebalance_audit.time_zones import zone_of
from rebalance_audit.wire.records import Record
from tests.support.log_entries import records_of

pytestmark = pytest.mark.swarm

Key = tuple[str, int, int]
DIALECTS = {dialect: number for number, dialect in enumerate(Dialect, 40)}


@cache
def cluster(dialect: Dialect) -> tuple[Simulation, list[tuple[Record, Position]], list[BrokerFact]]:
    """A short run of one release with its records and its brokers' lines."""
    run = simulate(DIALECTS[dialect], Overrides(minutes=3, groups=4, dialect=dialect))
    with TemporaryDirectory() as name:
        folder = Path(name)
        run.write(folder)
        records = list(records_of(folder))
        facts = list(LogReader(zone_of("UTC")).facts([folder / SERVER_LOG]))
    return run, records, facts


def primary(records: list[tuple[Record, Position]], facts: list[BrokerFact]) -> dict[Key, Row]:
    """The primary cause of every epoch."""
    audit = LogAudit(AuditOptions(broker_facts=BrokerLog.of(facts).facts_of))
    for record, position in records:
        audit.feed(record, position)
    return {
        (row["group_id"], row["incarnation"], row["epoch"]): row
        for row in audit.tables()["rebalance_causes"]
        if not row["cause_seq"]
    }


def truth(run: Simulation) -> dict[Key, set[str]]:
    """What really happened; nothing of runs whose history was compacted, since lives cannot be counted there."""
    found: defaultdict[Key, set[str]] = defaultdict(set)
    if not run.options.faults.cleanings:
        for epoch in run.truth.epochs():
            key = (epoch.group_id, epoch.incarnation, epoch.epoch)
            found[key] |= {reason.cause.value for reason in epoch.reasons}
    return found


def outcome(found: dict[Key, Row], real: dict[Key, set[str]]) -> Counter[str]:
    """Epochs by what the audit says of them."""
    return Counter(
        ("proven" if found[key]["certainty"] == "proven" else "open")
        + (" right" if found[key]["cause"] in causes else " wrong")
        for key, causes in real.items()
        if key in found
    )


@pytest.mark.parametrize("dialect", Dialect, ids=lambda dialect: dialect.value)
def test_a_whole_log_proves_nearly_every_cause(dialect: Dialect) -> None:
    """In the words of every release: nothing proven is wrong; a few lines follow another group's reason."""
    run, records, facts = cluster(dialect)
    counts = outcome(primary(records, facts), truth(run))
    assert counts["proven wrong"] == 0
    assert counts["proven right"] >= 0.95 * counts.total()


@pytest.mark.parametrize("dialect", Dialect, ids=lambda dialect: dialect.value)
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_lost_lines_prove_nothing_wrong(dialect: Dialect, share: float) -> None:
    """Whichever lines are missing, whole stretches or single ones, what is left is never misread."""
    run, records, facts = cluster(dialect)
    chance = random.Random(round(share * 10))
    some = [fact for fact in facts if chance.random() < share]
    begin = chance.randrange(len(facts))
    stretch = facts[begin : begin + round(share * len(facts))]
    for left in (some, stretch):
        assert outcome(primary(records, left), truth(run))["proven wrong"] == 0


@pytest.mark.parametrize("dialect", Dialect, ids=lambda dialect: dialect.value)
def test_the_lines_of_one_broker_prove_nothing_wrong(dialect: Dialect) -> None:
    """The logs of the other brokers were not at hand."""
    run, records, facts = cluster(dialect)
    one_broker = [fact for fact in facts if fact.broker == facts[0].broker]
    assert outcome(primary(records, one_broker), truth(run))["proven wrong"] == 0


def has(releases: str, release: str) -> bool:
    """Whether `3.7-`, `2.8-3.9` or `4.0` is a range with the release in it."""
    first, dash, last = releases.partition("-")
    last = last if dash else first
    return _number(first) <= _number(release) <= _number(last or "99.0")


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


@pytest.mark.parametrize("dialect", Dialect, ids=lambda dialect: dialect.value)
def test_the_log_is_written_in_kafkas_words(dialect: Dialect) -> None:
    """Every line of a simulated broker is in a wording of its release, but for those that the audit has no use for."""
    run, _, _ = cluster(dialect)
    with TemporaryDirectory() as name:
        run.write(Path(name))
        lines = (Path(name) / SERVER_LOG).read_text(encoding="utf-8").splitlines()
    assert len(lines) > 100
    for text in lines:
        mark = MARK.search(text)
        assert mark is not None, text
        message = read_message(text[mark.end() :])
        assert message is not None, text
        if not (dialect is Dialect.R3_7 and message.kind is FactKind.MEMBER_LEFT_BY_REQUEST):
            # 3.7 does not serve LeaveGroup to members of the consumer protocol, the simulator does.
            assert has(message.releases, dialect.value), (text, message.releases)
