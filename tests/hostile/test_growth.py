"""Work is linear in the bytes of the log: twice the input costs about twice the function calls, never four times."""

import cProfile
import pstats
from collections.abc import Callable
from functools import partial

import pytest

from rebalance_audit.audit.findings.spellings import Spellings, digest_of, plain_expression
from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.rows import CONVERGENCE, EPOCHS, Row
from rebalance_audit.replay.changes import Position
from rebalance_audit.wire.decoders import value_decoders
from rebalance_audit.wire.embedded import PayloadCache
from rebalance_audit.wire.generated import messages as m
from rebalance_audit.wire.records import Record, decode_record
from tests.hostile.tenant_log import TenantLog

AT_MOST = 2.5
"""Twice the input, and what grows with its logarithm."""


def joining(count: int, *, every_ms: int = 100) -> TenantLog:
    """Members join a consumer group one after the other, and none ever reaches its epoch."""
    log = TenantLog()
    for number in range(count):
        member_id, epoch = f"m{number}", number + 1
        log.add(
            m.ConsumerGroupMemberMetadataKey("g", member_id),
            m.ConsumerGroupMemberMetadataValue(
                None, None, f"c{number}", "/h", (f"t{number}",), None, 300_000, "uniform"
            ),
            after_ms=every_ms,
        )
        log.add(m.ConsumerGroupMetadataKey("g"), m.ConsumerGroupMetadataValue(epoch))
        log.add(
            m.ConsumerGroupTargetAssignmentMemberKey("g", member_id),
            m.ConsumerGroupTargetAssignmentMemberValue(()),
        )
        log.add(
            m.ConsumerGroupTargetAssignmentMetadataKey("g"),
            m.ConsumerGroupTargetAssignmentMetadataValue(epoch),
        )
        log.add(
            m.ConsumerGroupCurrentMemberAssignmentKey("g", member_id),
            m.ConsumerGroupCurrentMemberAssignmentValue(epoch, 0, (), (), 0),
        )
    return log


def expressions(count: int) -> TenantLog:
    """Members subscribe by an expression each."""
    log = TenantLog()
    log.add(m.ConsumerGroupMetadataKey("g"), m.ConsumerGroupMetadataValue(1))
    for number in range(count):
        expression = f"x{number}"
        log.add(
            m.ConsumerGroupMemberMetadataKey("g", f"m{number}"),
            m.ConsumerGroupMemberMetadataValue(
                None, None, "c", "/h", (), expression, 300_000, "uniform"
            ),
            after_ms=10,
        )
        log.add(
            m.ConsumerGroupRegularExpressionKey("g", expression),
            m.ConsumerGroupRegularExpressionValue(("t",), 1, log.now_ms),
        )
    return log


def generations(count: int) -> TenantLog:
    """A classic group whose only member has another partition in each generation, with far numbers."""
    log = TenantLog()
    for number in range(1, count + 1):
        log.generation("g", number, [("t", ((1 << 31) - number,))])
    return log


def audited(log: TenantLog) -> dict[str, list[Row]]:
    """All rows."""
    rows: dict[str, list[Row]] = {}
    audit = GroupAudit("g", 0, lambda table, row: rows.setdefault(table, []).append(row))
    for offset, at_ms, key, value in log.records:
        record = decode_record(key, value)
        assert isinstance(record, Record), record
        audit.feed(record, Position(0, offset, at_ms, 0))
    audit.finish()
    return rows


def calls_of(work: Callable[[], object]) -> int:
    """How many functions it calls, built-in ones included: work that does not depend on the machine."""
    profile = cProfile.Profile()
    profile.runcall(work)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (joining, 250),
        (lambda count: joining(count, every_ms=600_000), 250),
        (expressions, 250),
        (generations, 250),
    ],
    ids=["joins", "joins that are never reached for long", "expressions", "generations"],
)
def test_work_is_linear(make: Callable[[int], TenantLog], size: int) -> None:
    """Twice as many records, about twice the work."""
    audited(make(10))  # what is made once and for all
    less, more = (calls_of(partial(audited, make(count))) for count in (size, 2 * size))
    assert more <= AT_MOST * less


def test_rows_are_linear_in_changes() -> None:
    """Members of an epoch that have no record in it are counted, not listed; no member is lost."""
    rows = audited(joining(200))
    assert len(rows[EPOCHS]) == 200
    assert len(rows[CONVERGENCE]) <= 3 * 200
    listed = {epoch["epoch"]: 0 for epoch in rows[EPOCHS]}
    for row in rows[CONVERGENCE]:
        listed[row["epoch"]] += 1
    for epoch in rows[EPOCHS]:
        assert listed[epoch["epoch"]] + epoch["members_unchanged"] == epoch["members"]


@pytest.mark.parametrize(
    "expression", ["(" * 900 + "x|y" + ")" * 900, "^" * 3_000 + "x", "(^" * 900 + "x" + ")" * 900]
)
def test_nested_expressions_cost_their_length(expression: str) -> None:
    """As deep as RE2/J allows."""
    longer = expression.replace("x", "x" * len(expression))
    assert len(longer) < 2.01 * len(expression)
    less, more = (calls_of(partial(plain_expression, text)) for text in (expression, longer))
    assert more <= AT_MOST * less
    assert plain_expression(expression) in {"x|y", "x"}


def test_spellings_are_compared_by_what_has_an_effect() -> None:
    """Each with the others, without a look at the others."""
    spellings = Spellings(["(a|b)", "^(?:a|b)$", "a", "\\(a|b\\)"])
    assert spellings.alike(digest_of("a|b")) == {"(a|b)", "^(?:a|b)$"}
    spellings.update("(a|b)", is_present=False)
    assert spellings.alike(digest_of("a|b")) == {"^(?:a|b)$"}


def test_payloads_are_remembered_up_to_their_bytes() -> None:
    """Not up to their number: a client decides how long they are."""
    decoded: list[bytes] = []
    cache = PayloadCache(decoded.append, 1_000)
    for number in range(100):
        cache(bytes([number]) * 300)
        assert cache.size_bytes <= 1_000
    cache(bytes([99]) * 300)
    assert len(decoded) == 100, "the latest is remembered"
    cache(bytes([0]) * 300)
    assert len(decoded) == 101, "the first is not"
    cache(bytes(5_000))
    assert cache.size_bytes <= 1_000


def test_versions_that_do_not_exist_are_not_kept() -> None:
    """A log with a value of every version that two bytes can name leaves no more than a thousand entries."""
    key = bytes.fromhex("0003 0001 67")
    for version in range(1 << 16):
        decode_record(key, version.to_bytes(2))
    assert value_decoders.cache_info().currsize <= 1024
