"""What a query of an agent can reach, and what it costs at most."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from deltalake import write_deltalake

from rebalance_audit.agents import query_answer
from rebalance_audit.agents.read_only_sql import (
    QUERY_CHARACTERS,
    BoundedSql,
    write_tables,
)
from rebalance_audit.errors import BadRequest, LakeNotReadable
from rebalance_audit.readers.lake_reader import open_lake
from tests.cli.audited import audited_once
from tests.cli.call import segments
from tests.support.lake_without_spark import arrow_table, empty_gold, write_lake

CAPTURE = segments("consumer-protocol")
BEGAN = "2026-11-21T09:24:14.264Z"
"""The first rebalance."""
Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """A question as a process answers it, but in this one."""
    folder = tmp_path_factory.mktemp("tables")
    write_tables(audited_once(CAPTURE), folder)

    def asked(query: str, rows_max: int = 10, **values: object) -> dict[str, Any]:
        return query_answer.answer_query(
            {
                "folder": str(folder),
                "sql": query,
                "values": values,
                "rows_max": rows_max,
                "bytes_max": 10_000,
                "memory_bytes": 800 << 20,
            }
        )

    return asked


@pytest.fixture(scope="module")
def sql() -> BoundedSql:
    """What queries are answered by, each in a process of its own."""
    return BoundedSql(audited_once(CAPTURE))


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("select 1; select 2", "single SELECT"),
        ("copy (select 1) to '/tmp/x.csv'", "single SELECT"),
        ("create table t as select 1", "single SELECT"),
        ("set lock_configuration = false", "single SELECT"),
        ("attach '/tmp/x.duckdb'", "single SELECT"),
        ("install httpfs", "single SELECT"),
        ("select * from read_csv('/etc/passwd')", "disabled"),
        ("select * from read_text('/etc/passwd')", "disabled"),
        ("select * from glob('/etc/*')", "disabled"),
        ("from '/etc/passwd'", "does not exist"),
        ("from asked", "does not exist"),
        ("select getenv('HOME')", "does not exist"),
        ("selekt", "syntax error"),
        ("select " + "(" * 5000 + "1" + ")" * 5000, "depth limit"),
    ],
)
def test_a_query_reads_the_tables_and_nothing_else(query: str, why: str, ask: Ask) -> None:
    """No file of the machine, no object of the program, no change."""
    assert why in ask(query)["message"]


def test_rows_of_a_query_are_json(ask: Ask) -> None:
    """Moments are ISO 8601, and it is said when rows were left out."""
    assert ask("select started_at, [started_at] as list from gold.rebalances order by 1", 1) == {
        "rows": [{"started_at": BEGAN, "list": [BEGAN]}],
        "is_whole": False,
    }
    assert ask("select 'nan'::double as n, $x as x", x="y")["rows"] == [{"n": None, "x": "y"}]


def test_an_answer_is_bounded_in_bytes(ask: Ask) -> None:
    """Rows that fit are answered; a row that does not is an error that says so."""
    assert len(ask("select repeat('x', 4000) from range(10)")["rows"]) == 2
    assert ask("select repeat('x', 4000) from range(10)")["is_whole"] is False
    assert "10,000" in ask("select repeat('x', 20000)")["message"]
    assert len(ask("select sum(x) over (), " + "x" * 10_000)["message"]) <= 2000


def test_a_query_without_an_end_is_ended() -> None:
    """An agent may write a product of everything with everything; the next query is answered."""
    sql = BoundedSql(audited_once(CAPTURE), seconds=0.5)
    with pytest.raises(BadRequest, match=r"took longer than 0\.5 seconds"):
        sql.query(
            "select count(*) from range(10000000) a, range(10000000) b where a.range + b.range = 7",
            10,
        )
    assert sql.query("select 1 as one", 10, seconds=30.0).rows == [{"one": 1}]


def test_queries_at_the_same_time_get_their_own_rows(sql: BoundedSql) -> None:
    """A client need not wait for one answer before it asks the next."""
    numbers = range(6)
    with ThreadPoolExecutor(len(numbers)) as pool:
        answers = pool.map(
            lambda n: sql.query("select $n as n, range from range(50)", 100, n=n).rows, numbers
        )
    assert [{row["n"] for row in rows} for rows in answers] == [{n} for n in numbers]


def test_a_long_query_is_not_even_read(sql: BoundedSql) -> None:
    """The parser's cost is bounded by the text's length."""
    with pytest.raises(BadRequest, match="more than 100,000 characters"):
        sql.query("select 1 -- " + "x" * QUERY_CHARACTERS, 1)


@pytest.mark.parametrize(
    "query",
    [
        "select cluster from gold.epochs union all select cluster from _gold_epochs_rows",
        "select cluster from gold.findings union all from (select cluster from gold.group_states)",
    ],
)
def test_a_server_of_one_cluster_has_no_rows_of_another(tmp_path: Path, query: str) -> None:
    """Neither by the tables nor by what they are made of."""
    audit = audited_once(CAPTURE)
    write_lake(tmp_path, {**empty_gold(), **audit.tables}, "blue")
    for name in ("epochs", "group_states"):
        rows = arrow_table(f"gold.{name}", audit.tables[name][:1], "green")
        write_deltalake(str(tmp_path / "gold" / name), rows, mode="append")
    asked = {
        "sql": query,
        "values": {},
        "rows_max": 999,
        "bytes_max": 99_999,
        "memory_bytes": 1 << 30,
    }
    for cluster, found in (("blue", {"blue"}), (None, {"blue", "green"})):
        lake = {"lake": open_lake(tmp_path, cluster).path, "cluster": cluster}
        answered = query_answer.answer_query({**lake, **asked})["rows"]
        assert {row["cluster"] for row in answered} == found


def test_a_lake_that_is_gone_is_an_error_of_the_lake(tmp_path: Path) -> None:
    """With its own sentence, not one about the query."""
    write_lake(tmp_path, empty_gold(), "blue")
    sql = BoundedSql(open_lake(tmp_path))
    (tmp_path / "gold" / "epochs" / "_delta_log" / "00000000000000000000.json").unlink()
    with pytest.raises(LakeNotReadable, match="epochs"):
        sql.query("select 1", 1)
