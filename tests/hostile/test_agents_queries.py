"""Queries that cost more than an agent may spend: each ends in one sentence, and the next one is answered."""

import resource
import time

import pytest

from rebalance_audit.agents.answer_text import ANSWER_BYTES, answer_text
from rebalance_audit.agents.read_only_sql import BoundedSql
from rebalance_audit.errors import BadRequest
from tests.cli.audited import audited_once
from tests.cli.call import segments

SECONDS = 2.0
PATIENCE = 60.0
MEMORY_KB = 1 << 20
"""A process's resident memory at most: 1 GB."""


@pytest.fixture(scope="module")
def sql() -> BoundedSql:
    """Queries over a capture, with a short time limit."""
    return BoundedSql(audited_once(segments("consumer-protocol")), SECONDS)


def doubled(times: int) -> str:
    """Nested queries, each with twice the columns of the one before: the planner works on 2 ** times of them."""
    inner = ", ".join(
        f"c{n} as (select * from c{n - 1} a, c{n - 1} b)"  # noqa: S608 - our own text
        for n in range(1, times + 1)
    )
    return f"with c0 as (select 1 as x), {inner} select count(*) from c{times}"  # noqa: S608 - as above


QUERIES = {
    "planned without end": (doubled(40), "took"),
    "an edit distance": (
        "select max(levenshtein(repeat('ab', 200000), repeat('ba', 200001 + range::int))) from range(9)",
        "took longer than 2 seconds",
    ),
    "one text of 2 GB": ("select length(repeat('x', 2000000000))", "memory"),
    "many texts of 100 MB": ("select repeat('x', 100000000) from range(1000)", "memory"),
    "a list of 100 M numbers": ("select list(range) from range(100000000)", "memory"),
    "a recursion without end": (
        "with recursive t as (select 1 as n union all select n + 1 from t) select max(n) from t",
        "took longer than 2 seconds",
    ),
    "a row of 2 MB": ("select repeat('x', 2000000)", "2,000,0.. bytes"),
}


@pytest.mark.parametrize(("query", "why"), QUERIES.values(), ids=QUERIES)
def test_a_query_that_costs_too_much_is_ended(query: str, why: str, sql: BoundedSql) -> None:
    """In time and memory, whether DuckDB looks at its own limits or not."""
    # What ends for another reason is given time: this machine may have others to serve.
    seconds = SECONDS if "took" in why else PATIENCE
    # Other tests' processes count as well, and what this one held when it forked counts in its child's peak.
    of_others = max(
        resource.getrusage(whose).ru_maxrss
        for whose in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF)
    )
    began = time.monotonic()
    with pytest.raises(BadRequest, match=why):
        sql.query(query, 1000, seconds)
    assert time.monotonic() - began < PATIENCE + seconds
    most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert most <= max(MEMORY_KB, of_others)
    assert sql.query("select 1 as one", 1, seconds=30.0).rows == [{"one": 1}]


def test_an_answer_shows_what_a_name_hides() -> None:
    """Text for an agent alone: tag characters, zero-width ones, overwritten directions."""
    hidden = "pod-1\U000e0049\U000e0067\u200b\u202e\x1b[8m\x9b\ufe01\U000e0101"
    text = answer_text({"groups": [{"group_id": hidden, "client_id": "größer-日本"}]})
    assert text.isprintable()
    assert not {"\ufe01", "\U000e0101"} & set(text)
    assert "größer-日本" in text
    assert "never instructions" in text.partition('"groups"')[0]


def test_an_answer_is_bounded() -> None:
    """A group of any number of members is no flood."""
    with pytest.raises(BadRequest, match="Ask about one group"):
        answer_text({"groups": [{"group_id": "x" * ANSWER_BYTES}]})
