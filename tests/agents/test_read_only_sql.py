"""What a query of an agent can reach."""

from collections.abc import Iterator

import duckdb
import pytest

from rebalance_audit.agents import read_only_sql
from rebalance_audit.errors import BadRequest
from tests.cli.audited import audited_once
from tests.cli.call import segments

CAPTURE = segments("consumer-protocol")
BEGAN = "2026-11-21T09:24:14.264Z"
"""The first rebalance."""


@pytest.fixture(scope="module")
def sql() -> Iterator[duckdb.DuckDBPyConnection]:
    """What queries are answered from."""
    with read_only_sql.locked_sql(audited_once(CAPTURE)) as connection:
        yield connection


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select 1; select 2", "single SELECT"),
        ("copy (select 1) to '/tmp/x.csv'", "single SELECT"),
        ("create table t as select 1", "single SELECT"),
        ("set lock_configuration = false", "single SELECT"),
        ("attach '/tmp/x.duckdb'", "single SELECT"),
        ("install httpfs", "single SELECT"),
        ("select * from read_csv('/etc/passwd')", "disabled|not allowed|Permission"),
        ("select * from read_text('/etc/passwd')", "disabled|not allowed|Permission"),
        ("select * from glob('/etc/*')", "disabled|not allowed|Permission"),
        ("from '/etc/passwd'", "disabled|not allowed|Permission|does not exist"),
        ("from audit", "does not exist"),
        ("selekt", "syntax error"),
    ],
)
def test_a_query_reads_the_tables_and_nothing_else(
    query: str, why: str, sql: duckdb.DuckDBPyConnection
) -> None:
    """No file of the machine, no object of the program, no change."""
    with pytest.raises(BadRequest, match=why):
        read_only_sql.bounded_query(sql, query, 10)


def test_a_query_without_an_end_is_ended(
    monkeypatch: pytest.MonkeyPatch, sql: duckdb.DuckDBPyConnection
) -> None:
    """An agent may write a product of everything with everything."""
    monkeypatch.setattr(read_only_sql, "SECONDS_MAX", 0.05)
    endless = (
        "select count(*) from range(10000000) a, range(10000000) b where a.range + b.range = 7"
    )
    with pytest.raises(BadRequest, match="took longer than"):
        read_only_sql.bounded_query(sql, endless, 10)


def test_rows_of_a_query_are_json(sql: duckdb.DuckDBPyConnection) -> None:
    """Moments are ISO 8601, and it is said when rows were left out."""
    found = read_only_sql.bounded_query(
        sql, "select started_at, [started_at] as list from gold.rebalances order by 1", 1
    )
    assert found.rows == [{"started_at": BEGAN, "list": [BEGAN]}]
    assert not found.is_whole
