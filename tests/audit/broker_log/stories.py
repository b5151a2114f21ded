"""Stories of a test: records in the shorthand of `tests.dsl`, and a broker's lines beside them."""

from collections.abc import Iterable

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.fact import BrokerFact
from rebalance_audit.audit.broker_log.message import read_message
from rebalance_audit.audit.broker_log.read import CoordinatorLine
from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from tests.dsl import TOPIC_NAMES, Log

Line = tuple[int, str] | tuple[int, str, str]
"""Time in ms, message, and the broker if it is not broker 1."""


def facts(*lines: Line) -> list[BrokerFact]:
    """The facts of these lines about the groups of partition 0."""
    found: list[BrokerFact] = []
    for number, (at_ms, message, *broker) in enumerate(lines, 1):
        who, parsed = broker[0] if broker else "1", read_message(message)
        line = CoordinatorLine("server.log", number, at_ms, who, 0, parsed, may_be_text=False)
        read = list(line.facts())
        assert read, message
        found += read
    return found


def audit(records: Log, lines: Iterable[Line] = ()) -> dict[str, list[Row]]:
    """The tables of a log with these lines as evidence."""
    log = BrokerLog.of(facts(*lines))
    return audit_log(records, AuditOptions(topic_name=TOPIC_NAMES.get, broker_facts=log.facts_of))


def causes(tables: dict[str, list[Row]], epoch: int) -> list[str]:
    """`cause certainty member` of an epoch's causes in order; the member if there is one."""
    rows = [row for row in tables["rebalance_causes"] if row["epoch"] == epoch]
    return [
        " ".join(filter(None, (row["cause"], row["certainty"], row["member_id"])))
        for row in sorted(rows, key=lambda row: row["cause_seq"])
    ]


def prepared(at_ms: int, old_generation: int, reason: str) -> Line:
    """A join phase begins."""
    return at_ms, (
        f"Preparing to rebalance group g in state PreparingRebalance with old generation "
        f"{old_generation} (reason: {reason})."
    )


def stabilized(at_ms: int, generation: int, members: int) -> Line:
    """A join phase is over."""
    return at_ms, f"Stabilized group g generation {generation} with {members} members."
