"""The views of `schemas/views`, on DuckDB over what the audit of a real log found."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rebalance_audit.audit.rows import Row
from rebalance_audit.figures.ranking import STANDSTILLS
from rebalance_audit.figures.rows import DEAD_OR_AWAY, waits_of
from rebalance_audit.local.audit import Audit
from rebalance_audit.readers.gold_sql import gold_sql, sql_over
from rebalance_audit.readers.lake_reader import open_lake
from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.schemas import GOLD_TABLES
from rebalance_audit.tables.views import figures, views
from tests.cli.audited import audited_once
from tests.cli.call import segments
from tests.support.lake_without_spark import arrow_table, empty_gold, write_lake

HOUR_MS = 3_600_000


@pytest.fixture(scope="module")
def audit() -> Audit:
    """Groups of the consumer protocol, one of them stuck at the end of the log."""
    return audited_once(segments("consumer-protocol"))


@pytest.fixture(scope="module")
def sql(audit: Audit) -> Iterator[duckdb.DuckDBPyConnection]:
    """The audit's tables with the views."""
    with gold_sql(audit) as connection:
        yield connection


def rows_of(sql: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """Rows by column name."""
    found: list[dict[str, Any]] = sql.sql(query).to_arrow_table().to_pylist()
    return found


@pytest.mark.parametrize("view", views(), ids=lambda view: view.name)
def test_a_view_is_a_question_over_gold_tables(view: Any) -> None:
    """Its first comment is the question that charts are titled with; it reads nothing but gold."""
    assert view.question.endswith("?")
    assert view.description
    assert view.tables
    assert view.tables.issubset(GOLD_TABLES)


def test_groups_now_has_each_group_once_as_replay_leaves_it(
    audit: Audit, sql: duckdb.DuckDBPyConnection
) -> None:
    """State, epoch and members are those of `state` at the end of the log."""
    found = {row["group_id"]: row for row in rows_of(sql, "from views.groups_now")}
    for group in audit.state().groups:
        row = found.pop(group["group_id"])
        assert (row["group_state"], row["epoch"], row["members"]) == (
            group["state"],
            group["epoch"],
            len(group["members"]),
        )
        of_group = [each for each in audit.rebalances if each["group_id"] == row["group_id"]]
        assert row["rebalances"] == len(of_group)
        is_open = any(each["outcome"] == "open" for each in of_group)
        assert (row["rebalancing_since"] is not None) == is_open
    assert found == {}


def test_every_rebalance_is_listed_with_its_reason_and_counted_in_an_hour(
    audit: Audit, sql: duckdb.DuckDBPyConnection
) -> None:
    """Joins lose and double no rebalance; the sums of hours are those of the list."""
    listed = rows_of(sql, "from views.rebalance_list")
    hours = rows_of(sql, "from views.causes_by_hour")
    assert len(listed) == len(audit.rebalances) == sum(row["rebalances"] for row in hours)
    assert all(row["why"] for row in listed)
    lost_ms = sum(row["duration_estimate_ms"] or 0 for row in listed)
    assert lost_ms == sum(row["not_stable_estimate_ms"] for row in hours) > 0


def test_what_had_no_owner_is_summed_by_topic(audit: Audit, sql: duckdb.DuckDBPyConnection) -> None:
    """All gaps of `gold.ownership`, under the topic's name."""
    found = rows_of(sql, "from views.unowned_by_topic")
    gaps = [row["unowned_before_ms"] for row in audit.ownership if row["unowned_before_ms"]]
    assert sum(row["unowned_partition_ms"] for row in found) == sum(gaps)
    assert sum(row["gaps"] for row in found) == len(gaps) > 0
    assert "payments" in {row["topic"] for row in found}


def test_a_gap_without_next_owner_counts_until_the_rebalance_ended() -> None:
    """The last member of a group went silent: its partitions had no owner until it was removed, and none afterwards.

    A partition without subscribers is no gap: the rebalance counts no time for it.
    """
    at = 1_795_253_366_221
    group = {"group_id": "sink", "incarnation": 0, "log_partition": 0, "completeness": "complete"}
    rebalance = {
        **group,
        "protocol": "consumer",
        "rebalance_seq": 1,
        "started_at": at,
        "ended_at": at + 43_500,
        "unowned_partition_ms": 2 * 43_500,
        "outcome": "emptied",
        "epochs": 1,
    }
    owned = {
        **group,
        "topic": "orders",
        "topic_id": "t",
        "from_offset": 1,
        "from_at": at - 9_000,
        "from_epoch": 3,
        "to_offset": 9,
        "to_at": at,
        "member_id": "m",
        "how_ended": "revoked",
    }
    tables = {
        "gold.epochs": [{**group, "protocol": "consumer", "epoch": 3}],
        "gold.rebalances": [rebalance],
        "gold.ownership": [{**owned, "topic_partition": number} for number in (0, 1)],
    }
    assert gaps_of(tables) == [("orders", 2, 2 * 43_500)]
    tables["gold.rebalances"] = [{**rebalance, "unowned_partition_ms": 0}]
    assert gaps_of(tables) == []


def gaps_of(tables: dict[str, list[dict[str, Any]]]) -> list[tuple[str, int, int]]:
    """Topic, gaps and their time in the view; columns that a row does not have are null."""
    relations = {name: arrow_table(name, rows, "blue") for name, rows in tables.items()}
    with sql_over(relations) as sql:
        found = rows_of(sql, "from views.unowned_by_topic")
    return [(row["topic"], row["gaps"], row["unowned_partition_ms"]) for row in found]


def test_classic_groups_have_no_gap_that_is_only_bounded() -> None:
    """Where partitions moved from one member to another, the records do not say for how long they had no owner."""
    audit = audited_once(segments("classic-cooperative"))
    assert any(row["unowned_before_ms"] for row in audit.ownership)
    with gold_sql(audit) as sql:
        assert rows_of(sql, "from views.unowned_by_topic") == []


def test_the_member_that_was_last_is_the_worst(sql: duckdb.DuckDBPyConnection) -> None:
    """In the group whose one client takes seconds to give up partitions, that client leads."""
    worst, *_ = rows_of(
        sql,
        "from views.worst_members where group_id = 'slow' order by longest_revoke_ms desc nulls last",
    )
    assert worst["client_id"] == "slow-0"
    assert worst["longest_revoke_ms"] > 2000
    assert worst["rebalances_held_up"] == 1
    assert worst["held_up_ms"] > 2000


def test_the_list_and_the_worst_members_name_whom_the_verdict_names(
    audit: Audit, sql: duckdb.DuckDBPyConnection
) -> None:
    """One figure, one value: the culprit of each rebalance, how many each held up, and for how long."""
    first = {
        (row["group_id"], row["incarnation"], row["rebalance_seq"]): row["slowest_member_id"]
        for row in rows_of(sql, "from views.rebalance_list")
    }
    times: Counter[tuple[str, str]] = Counter()
    waited: Counter[tuple[str, str]] = Counter()
    for row in audit.rebalances:
        held_up = [each for each in row["held_up_member_ids"] if each is not None]
        times.update((row["group_id"], each) for each in held_up)
        key = (row["group_id"], row["incarnation"], row["rebalance_seq"])
        assert first[key] == (held_up[0] if held_up else None)
    for row in audit.tables["rebalances"]:
        for member_id, _, ms in waits_of(row):
            waited[row["group_id"], member_id] += ms
    found = rows_of(sql, "from views.worst_members where rebalances_held_up > 0")
    assert sum(row["rebalances_held_up"] for row in found) == times.total() > 0
    by_member = {(row["group_id"], row["member"]): row["held_up_ms"] for row in found}
    assert by_member == waited


def test_who_never_gave_partitions_up_is_worse_than_all_who_did(
    sql: duckdb.DuckDBPyConnection,
) -> None:
    """It has no latency, since it never reached the epoch; the next one began when it was removed."""
    worst, *others = rows_of(
        sql, "from views.worst_members where group_id = 'stuck' order by longest_hold_ms desc"
    )
    (cost,) = rows_of(
        sql,
        """select floor(date_diff('millisecond', way.revoke_started_at, next.started_at) / 1000)::bigint as whole_s
        from gold.convergence as way join gold.epochs as next
            on next.group_id = way.group_id and next.epoch = way.epoch + 1
        where way.group_id = 'stuck' and way.revoke_started_at is not null and way.revoked_at is null""",
    )
    assert (worst["client_id"], worst["times_not_released"]) == ("stuck-0", 1)
    assert worst["longest_hold_ms"] == cost["whole_s"] * 1000 > 1000
    assert [row["times_not_released"] for row in others] == [0]
    assert others[0]["longest_hold_ms"] < worst["longest_hold_ms"]


def finding(finding_id: str, severity: str, to_at: int | None) -> Row:
    """A finding about group g."""
    return {
        "finding_id": finding_id,
        "kind": "stuck_group",
        "severity": severity,
        "group_id": "g",
        "from_at": 1000,
        "to_at": to_at,
    }


def hour(number: int, least: int, most: int | None) -> Row:
    """An hour of group g with bounds of the time in which it was not stable."""
    return {
        "group_id": "g",
        "hour": number * HOUR_MS,
        "rebalances": 1,
        "not_stable_min_ms": least,
        "not_stable_max_ms": most,
        "not_stable_estimate_ms": least,
    }


def test_findings_that_go_on_are_open_and_a_day_has_the_share_of_its_hours(tmp_path: Path) -> None:
    """Over a lake, whose runs make `gold.group_hours`. A bound that one hour lacks the day lacks as well."""
    tables = empty_gold()
    tables["findings"] = [finding("1", "warning", 2000), finding("2", "critical", None)]
    tables["group_hours"] = [
        hour(0, HOUR_MS // 2, HOUR_MS),
        hour(23, 0, HOUR_MS),
        hour(24, HOUR_MS, None),
    ]
    write_lake(tmp_path, tables, "blue")
    with gold_sql(open_lake(tmp_path)) as sql:
        findings = rows_of(sql, "from views.open_findings")
        days = rows_of(sql, "from views.stability_by_day order by day")
    assert [(row["finding_id"], row["gravity"]) for row in findings] == [("2", 1)]
    assert [
        (row["day"], row["share_stable_min"], row["share_stable_max"], row["rebalances"])
        for row in days
    ] == [
        (datetime(1970, 1, 1, tzinfo=UTC), 1 - 2 / 24, 1 - 0.5 / 24, 2),
        (datetime(1970, 1, 2, tzinfo=UTC), None, 1 - 1 / 24, 1),
    ]


def test_the_page_lists_every_view_with_its_question() -> None:
    """docs/bi.md, in the words of the views themselves."""
    page = (checkout_root() / "docs" / "bi.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `views\.(\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert sorted(listed) == [(view.name, view.question) for view in views()]


def test_a_view_has_the_queries_of_its_figures_in_place_of_their_names() -> None:
    """Catalogs know only gold; so a view of a catalog reads nothing else."""
    (view,) = (each for each in views() if each.name == "groups_now")
    assert "figures." not in view.sql
    assert "gold.rebalances" in view.tables


def test_figures_in_sql_have_the_constants_of_python() -> None:
    """Which kinds are standstills, which members may have been away: one list each."""
    text = {figure.name: figure.sql for figure in figures()}
    assert set(re.findall(r"'(\w+)'", text["unowned"])) - {"classic", "consumer"} == DEAD_OR_AWAY
    kinds = re.search(r"kind in \((.*?)\)", text["findings"], re.DOTALL)
    assert kinds is not None
    assert set(re.findall(r"'(\w+)'", kinds[1])) == STANDSTILLS
