"""The first look of a program."""

import json
from typing import Any

from rebalance_audit.audit.rows import Row
from rebalance_audit.cli.tables_json import FINDINGS_MAX, GROUPS_MAX, brief
from tests.cli.audited import audited_once
from tests.cli.call import call, segments


def finding(number: int, severity: str, to_at: int | None) -> Row:
    """A finding of group g."""
    names = dict.fromkeys(("kind", "group_id", "detail"), "g")
    row: dict[str, Any] = {"finding_id": str(number), "severity": severity, "to_at": to_at}
    return {**names, **row, "from_at": number}


def test_a_row_per_group_has_the_sums_of_its_rebalances() -> None:
    """Those that lost most time first, under names that people know."""
    audit = audited_once(segments("consumer-protocol"))
    summary = brief(audit.tables, "blue")
    groups = summary["groups"]
    assert summary["groups_in_all"] == len(groups) == len(audit.group_ids)
    assert [row["not_stable_estimate_ms"] for row in groups] == sorted(
        (row["not_stable_estimate_ms"] for row in groups), reverse=True
    )
    slow = next(row for row in groups if row["group_id"] == "slow")
    assert (slow["group_state"], slow["members"]) == ("Stable", 3)
    assert slow["rebalances"] == len(audit.rebalances.where(["slow"]))


def test_findings_are_bounded_and_those_that_go_on_lead() -> None:
    """However many there are; the count says how many."""
    audit = audited_once(segments("classic-static"))
    findings = [finding(number, "info", number) for number in range(100)]
    findings += [finding(100, "critical", None), finding(101, "critical", 102)]
    summary = brief({**audit.tables, "findings": findings}, "blue")
    assert summary["findings_in_all"] == 102
    assert len(summary["findings"]) == FINDINGS_MAX < GROUPS_MAX
    assert [row["finding_id"] for row in summary["findings"]][:3] == ["100", "101", "99"]


def test_it_is_small_where_all_rows_are_not() -> None:
    """Eight groups in a few kilobytes, without a row of any epoch."""
    log = segments("consumer-protocol")
    outcome = call("inspect", log, "--json", "--brief")
    assert json.loads(outcome.out)["schema_version"] == 1
    assert len(outcome.out) < 8_000 < len(call("inspect", log, "--json").out) / 10
